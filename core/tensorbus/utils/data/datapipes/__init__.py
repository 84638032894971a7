"""Data pipes: datasets that are chained by methods, as ``source.map(f).shuffle().batch(4)``."""

from tensorbus.utils.data.datapipes import iter as iter
from tensorbus.utils.data.datapipes import map as map

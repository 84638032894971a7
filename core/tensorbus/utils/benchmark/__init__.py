"""How long statements take, measured well, and tables of that.

>>> import tensorbus as torch
>>> from tensorbus.utils import benchmark
>>> timer = benchmark.Timer("x + x", "x = torch.ones(64)", globals={"torch": torch})
>>> measured = timer.timeit(100)
>>> measured.number_per_run, measured.median > 0
(100, True)

See PyTorch's `torch.utils.benchmark <https://docs.pytorch.org/docs/stable/benchmark_utils.html>`_.
C++ statements, Callgrind and fuzzers are not here.
"""

from tensorbus.utils.benchmark.comparison import Colorize, Compare
from tensorbus.utils.benchmark.measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)
from tensorbus.utils.benchmark.timing import Language, Timer, set_torch_threads, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

"""Tools around tensors: data loading."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes

if TYPE_CHECKING:
    from tensorbus.utils import data as data

__getattr__ = _attributes(__name__)

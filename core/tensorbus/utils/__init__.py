"""Tools around tensors: data loading, checkpoints."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import listing as _listing

if TYPE_CHECKING:
    from tensorbus.utils import checkpoint as checkpoint
    from tensorbus.utils import data as data
    from tensorbus.utils.naming import set_module as set_module
    from tensorbus.utils.swapping import swap_tensors as swap_tensors

_LATER = {"set_module": "naming", "swap_tensors": "swapping"}

__getattr__ = _attributes(__name__, _LATER)
__dir__ = _listing(__name__, _LATER)

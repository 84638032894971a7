"""Tools around tensors: data loading, checkpoints."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import listing as _listing

if TYPE_CHECKING:
    from tensorbus.utils import checkpoint as checkpoint
    from tensorbus.utils import data as data

__getattr__ = _attributes(__name__)
__dir__ = _listing(__name__)

"""Collectives that gradients go through, by PyTorch's names: ``torch.distributed.nn``."""

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.autograd import Function
from tensorbus.distributed.nn.functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)
from tensorbus.distributed.process_group import group
from tensorbus.distributed.reduce_op import ReduceOp

__getattr__ = _attributes(__name__)

__all__ = [
    "Function",
    "ReduceOp",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "group",
    "reduce",
    "reduce_scatter",
    "scatter",
]

_show_pages(__name__, [(n, globals().get(n)) for n in __all__])

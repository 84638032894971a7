"""Collectives that gradients go through, by PyTorch's names: ``torch.distributed.nn``."""

from typing import Any

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


class RemoteModule:
    """A module that lives in another process. NotImplementedError: there are no remote calls."""

    def __init__(
        self,
        remote_device: str,
        module_cls: Any,
        args: Any = None,
        kwargs: Any = None,
    ) -> None:
        raise NotImplementedError(
            "torch.distributed.nn.RemoteModule: there are no remote procedure calls here; make the "
            "module on the rank that runs it, and send its inputs and outputs"
        )


__getattr__ = _attributes(__name__)

__all__ = [
    "Function",
    "ReduceOp",
    "RemoteModule",
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

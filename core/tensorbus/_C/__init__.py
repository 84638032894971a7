"""What programs use of PyTorch's module of this name: how overriding is turned off."""

from __future__ import annotations

import enum
import importlib
from typing import Any

from tensorbus._base.refused_names import refused
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.function_modes import DisableTorchFunction
from tensorbus.op_engine.override import DisableTorchFunctionSubclass
from tensorbus.op_engine.override import disabled_torch_function as _disabled_torch_function_impl

_TensorMeta = type(Tensor)

_ELSEWHERE = {
    "_LinAlgError": ("linalg", "LinAlgError"),
    "Future": ("futures", "Future"),
    "Generator": ("random", "Generator"),
    "Size": ("_base.size", "Size"),
    "device": ("_device.device", "device"),
    "dtype": ("_base.dtypes", "dtype"),
}


class DispatchKey(enum.Enum):
    """The autocast keys of PyTorch's dispatcher, which libraries name; nothing goes by them."""

    AutocastCPU = "AutocastCPU"
    AutocastCUDA = "AutocastCUDA"
    AutocastXPU = "AutocastXPU"


class AggregationType(enum.Enum):
    """How several numbers become one: PyTorch's names, which nothing here goes by."""

    SUM = 0
    AVG = 1


SUM, AVG = AggregationType.SUM, AggregationType.AVG


def compiled_with_cxx11_abi() -> bool:
    """Whether a C++ library was compiled with a certain ABI: False, for there is none.

    >>> import tensorbus as torch
    >>> torch.compiled_with_cxx11_abi()
    False
    """
    return False


class DispatchKeySet(frozenset[DispatchKey]):
    """A set of keys, made of one."""

    def __new__(cls, key: DispatchKey | frozenset[DispatchKey]) -> DispatchKeySet:
        return super().__new__(cls, {key} if isinstance(key, DispatchKey) else key)


class _ExcludeDispatchKeyGuard:
    """A block without some keys. Refused: ops here do not go by keys."""

    def __init__(self, keys: Any):
        raise NotImplementedError(
            "torch._C._ExcludeDispatchKeyGuard: ops do not go by PyTorch's dispatch keys here; use "
            "torch.autocast(..., enabled=False)"
        )


def _get_tracing_state() -> None:
    """What a tracer of TorchScript has gathered: None, since none traces."""


def _log_api_usage_once(event: str) -> None:
    """Nothing happens: no use is counted."""


def __getattr__(name: str) -> Any:
    if name == "_nn":
        return importlib.import_module(f"{__name__}.{name}")
    if (stand_in := refused("_C", name)) is not None:
        return stand_in
    if name not in _ELSEWHERE:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: torch._C is PyTorch's compiled "
            "library, of which tensorbus has only what programs ask",
            name=name,
        )
    room, found = _ELSEWHERE[name]
    return getattr(importlib.import_module(f"tensorbus.{room}"), found)


__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "_disabled_torch_function_impl"]

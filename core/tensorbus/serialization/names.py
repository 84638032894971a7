"""The names that PyTorch's files use, and what they mean here."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

import tensorbus
from tensorbus._base import dtypes
from tensorbus.op_engine.parameter import Parameter
from tensorbus.serialization import rebuild

_STORAGE_NAMES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
}


def storage_name(dtype: Any) -> str | None:
    """What PyTorch calls the storage of that dtype; None where its files have none."""
    return _STORAGE_NAMES.get(str(dtype).removeprefix("torch."))


def _build() -> tuple[dict[str, Any], dict[int, Any]]:
    names: dict[str, Any] = {}
    calls: dict[int, Any] = {}

    def add(name: str, obj: Any, call: Any = None) -> None:
        names[name] = obj
        if call is not None:
            calls[id(obj)] = call

    for dtype_name, legacy in _STORAGE_NAMES.items():
        dtype = dtypes.dtype_by_name(dtype_name)
        names[f"torch.{dtype_name}"] = dtype
        kind = rebuild.StorageType(legacy, dtype)
        names[f"torch.{legacy}"] = names[f"torch.cuda.{legacy}"] = kind
    for dtype in dtypes.STORED:
        names[str(dtype)] = dtype
    names["torch.storage.UntypedStorage"] = rebuild.StorageType("UntypedStorage", dtypes.uint8)
    names["torch.UntypedStorage"] = names["torch.storage.UntypedStorage"]

    for function in (
        rebuild._rebuild_tensor,
        rebuild._rebuild_meta_tensor_no_storage,
        rebuild._rebuild_tensor_v2,
        rebuild._rebuild_tensor_v3,
        rebuild._rebuild_parameter,
        rebuild._rebuild_parameter_with_state,
        rebuild._rebuild_sparse_tensor,
    ):
        add(f"torch._utils.{function.__name__}", function, function)
    add("torch._tensor._rebuild_from_type_v2", *[rebuild._rebuild_from_type_v2] * 2)
    add("torch.serialization._get_layout", *[rebuild._get_layout] * 2)
    add("torch.Size", tensorbus.Size, rebuild.make_size)
    add("torch.device", tensorbus.device, rebuild.make_device)
    add("torch.Tensor", tensorbus.Tensor)
    add("torch.nn.parameter.Parameter", Parameter, rebuild.make_parameter)
    # Before 0.4 tensors were instances of their type's class, and leaves were Variables.
    variable = rebuild.Legacy("Variable")
    add("torch.autograd.variable.Variable", variable, rebuild.make_variable)
    for dtype in dtypes.ALL:
        for home in ("torch", "torch.cuda"):
            name = f"{home}.{dtype.legacy}"
            add(name, rebuild.Legacy(name), rebuild.make_empty)
    add("collections.OrderedDict", OrderedDict, rebuild.make_ordered_dict)
    add("collections.Counter", Counter, rebuild.make_counter)
    add("_codecs.encode", rebuild.encode, rebuild.encode)
    add("builtins.set", set, rebuild.make_set)
    add("builtins.frozenset", frozenset, rebuild.make_frozenset)
    add("builtins.bytearray", bytearray, rebuild.make_bytearray)
    add("builtins.complex", complex, rebuild.make_complex)
    return names, calls


_tables: tuple[dict[str, Any], dict[int, Any]] | None = None


def known() -> tuple[dict[str, Any], dict[int, Any]]:
    """Name in a file -> our object, and id of an object that may be called -> how it is called."""
    global _tables
    if _tables is None:
        _tables = _build()
    return _tables

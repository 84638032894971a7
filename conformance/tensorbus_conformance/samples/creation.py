"""Tensors of data: numbers, nested sequences, arrays, other tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import needs_of_cpu
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.op import ANY, BOOL, COMPLEX, DEVICE, DTYPE, FLOATING, REAL, E, Op, S, T
from tensorbus_conformance.samples.factories import HERE, factory


def _data(data: Any, **_: Any) -> Any:
    return np.array(data)


def _host(values: Any, d: Dtype, device: Any) -> Any:
    """``from_numpy`` gives a CPU tensor; here it is sent to the device."""
    array = np.array(values).astype(formats.value_dtype(d))
    return tensorbus.from_numpy(array).to(device)


def _typed(d: Dtype) -> Op:
    """A constructor of the older style, which names its dtype."""
    constructor = getattr(tensorbus, d.legacy)

    def call(data: Any, device: Any) -> list[Any]:
        needs_of_cpu(d)
        made, sized = constructor(data), constructor(2, 3)
        if not isinstance(made, constructor) or tuple(sized.shape) != (2, 3):
            raise Mismatch(f"{d.legacy}(2, 3) has shape {tuple(sized.shape)}")
        return [made.to(device), sized.dtype is d]

    return factory(
        d.legacy,
        lambda data, device: [np.array(data), True],
        [S("data", [[1, 0], [1, 1]], DEVICE), S("empty", [], DEVICE)],
        dtypes=(d,),
        call=call,
        result="same",
    )


_NESTED = [
    S("vector", [0, 1, 1], **HERE),
    S("matrix", [[1, 0], [0, 1]], **HERE),
    S("tuples", ((1,), (0,)), **HERE),
    S("scalar", 1, **HERE),
    S("empty", [], **HERE),
    S("array", np.arange(3), **HERE),
]

OPS = [
    factory("tensor", _data, [*_NESTED, S("tensor", T(3), **HERE)],
        errors=[
            E("ragged", ValueError, r"expected sequence of length 2 at dim 1 \(got 1\)",
              [[1, 2], [3]]),
            E("depth", TypeError, "not a sequence", [[1, 2], 3]),
            E("text", TypeError, r"new\(\): invalid data type 'str'", "a"),
            E("texts", ValueError, "too many dimensions 'str'", ["a"]),
            E("object", RuntimeError, "Could not infer dtype of object", object()),
            E("none", RuntimeError, "Could not infer dtype of NoneType", None),
            E("beyond", ValueError, "Overflow when unpacking long long", 2**70),
            E("gradient", RuntimeError, "Only Tensors of floating point and complex dtype can "
              "require gradients", [1], requires_grad=True),
        ]),
    factory("tensor-fractions", _data,
        [S("thirds", [1 / 3, -2 / 3], **HERE), S("edges", [np.inf, -np.inf, np.nan], **HERE),
         S("beyond", [1e300, -1e300], **HERE), S("least", [1e-320, -0.0], **HERE)],
        dtypes=FLOATING, call=tensorbus.tensor),
    factory("tensor-complex", _data, [S("numbers", [1 + 2j, -0.5j, 3], **HERE)], dtypes=COMPLEX,
        call=tensorbus.tensor),
    factory("as_tensor", _data, [*_NESTED, S("tensor", T(3), **HERE)], fresh=False,
        errors=[E("text", TypeError, r"new\(\): invalid data type 'str'", "a")]),
    factory("from_numpy", lambda values, d, device: np.array(values),
        [S("matrix", [[1, 0], [1, 1]], DTYPE, DEVICE), S("scalar", 1, DTYPE, DEVICE),
         S("empty", [], DTYPE, DEVICE)],
        dtypes=tuple(d for d in ANY if d is not formats.BFLOAT16), call=_host),
    factory("from_numpy-refused", np.array, [], call=tensorbus.from_numpy, errors=[
        E("list", TypeError, r"expected np\.ndarray \(got list\)", [1]),
        E("reversed", ValueError, "At least one stride in the given numpy array is negative, and "
          "tensors with negative strides are not currently supported. .*", np.arange(3)[::-1]),
        E("byte-order", ValueError, "given numpy array has byte order different from the native "
          "byte order. Conversion between byte orders is currently not supported.",
          np.arange(3).astype(np.dtype(int).newbyteorder())),
        E("text", TypeError, r"can't convert np\.ndarray of type numpy\..*", np.array(["a"])),
    ]),
    *(_typed(d) for d in (*REAL, *BOOL, *COMPLEX)),
]  # fmt: skip

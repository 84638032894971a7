"""Tensors with another dtype or on another device: ``to`` and its short forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.bench import needs_of_cpu
from tensorbus_conformance.op import ANY, DEVICE, DTYPE, E, Op, S, T

_DTYPES = {
    "float": formats.FLOAT32, "double": formats.FLOAT64, "half": formats.FLOAT16,
    "bfloat16": formats.BFLOAT16, "int": formats.INT32, "long": formats.INT64,
    "short": formats.INT16, "char": formats.INT8, "byte": formats.UINT8, "bool": formats.BOOL,
    "cfloat": formats.COMPLEX64, "cdouble": formats.COMPLEX128,
}  # fmt: skip


def cast(x: np.ndarray, to: Any) -> np.ndarray:
    """Numbers as a dtype takes them: truncated, wrapped, the real part, or whether not zero."""
    if to is formats.BOOL:
        return np.asarray(x != 0)
    if to not in formats.COMPLEX and x.dtype.kind == "c":
        x = x.real
    if to in formats.INTS:
        return np.asarray(x.astype(np.int64).astype(formats.value_dtype(to)))
    return x  # rounding is left to the comparison, so that the reference has a slope


def _narrower(to: Any) -> list[Any]:
    """The floating dtypes whose numbers *to* holds, gradients among them."""
    return [d for d in formats.FLOATS if d.itemsize <= to.itemsize and to in formats.FLOATS]


def _caster(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(x, name)()


def _samples(to: Any) -> list[Any]:
    found = [
        S("plain", T(2, 3, of=(0, 100), grad=False)),
        S("scalar", T(grad=False, of=(0, 100))),
        S("empty", T(0, 2, grad=False)),
    ]
    if to.is_signed or to is formats.BOOL:
        found.append(S("negative", T(2, 4, of=(-100, 100), grad=False)))
    if to in formats.INTS or to is formats.BOOL:
        found.append(S("wraps", T(24, of="wide", grad=False)).only(formats.BOOL, *formats.INTS))
    else:
        wide = (formats.BOOL, *formats.FLOATS, *formats.COMPLEX)
        found.append(S("wide", T(24, of="wide", grad=False)).only(*wide))
    if narrower := _narrower(to):
        found.append(S("recorded", T(2, 3)).only(*narrower))
    return found


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    more = {"dtypes": ANY, "ulp": 0, "fresh": False, "keeps_order": True, **more}
    return Op(name, reference, samples, errors=errors, family="casting", **more)


def _same(x: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    return x


def _type(x: Any, to: Any) -> Any:
    """``type``, where a name is one of the tensor's own device."""
    if to == "torch.LongTensor":
        to = x.type().rpartition(".")[0] + ".LongTensor"
    return x.type(to)


def _by_the_cpu(x: Any, device: Any) -> Any:
    needs_of_cpu(x.dtype)
    return x.cpu().to(device)


def _plain(**more: Any) -> T:
    return T(2, 3, **more)


OPS = [
    *(
        _op(f"Tensor.{name}", lambda x, _d=d: cast(x, _d), _samples(d), result=d,
            call=_caster(name))
        for name, d in _DTYPES.items()
    ),
    # The forms of ``to``: a dtype, a device, another tensor, by position and by name.
    *(
        _op(f"to-{name}", lambda x, *_, _d=d, **__: cast(x, _d),
            [
                S("position", _plain(of=(0, 100), grad=False), d),
                S("name", _plain(of=(0, 100), grad=False), dtype=d),
                S("device-and-dtype", _plain(of=(0, 100), grad=False), DEVICE, d),
                S("tensor", _plain(of=(0, 100), grad=False), T(1, dtype=d, of=(0, 1))),
            ],
            result=d, call=lambda x, *args, **kwargs: x.to(*args, **kwargs), layouts=(),
            gradient=False)
        for name, d in (("int32", formats.INT32), ("float32", formats.FLOAT32))
    ),
    _op("Tensor.to", _same,
        [
            S("device", _plain(), DEVICE),
            S("device-name", _plain(), device=DEVICE),
            S("dtype", _plain(), DTYPE),
            S("copy", _plain(), DTYPE, copy=True),
            S("nothing", _plain()),
            S("non-blocking", _plain(), DEVICE, DTYPE, True),
        ],
        [
            E("number", TypeError, r"to\(\): argument 'device' must be torch.device, not float",
              _plain(), 1.5),
        ]),
    _op("to-copies", _same, [S("dtype", _plain(), DTYPE), S("device", _plain(), DEVICE)],
        fresh=True, call=lambda x, *args: x.to(*args, copy=True)),
    _op("Tensor.cpu", _same, [S("there-and-back", _plain(), DEVICE), S("scalar", T(), DEVICE)],
        call=_by_the_cpu),
    _op("Tensor.type_as", lambda x, y: cast(x, formats.FLOAT32),
        [S("plain", _plain(of=(0, 100), grad=False), T(1, dtype=formats.FLOAT32))],
        result=formats.FLOAT32),
    _op("Tensor.type", lambda x, to: cast(x, formats.INT64),
        [
            S("dtype", _plain(of=(0, 100), grad=False), formats.INT64),
            S("name", _plain(of=(0, 100), grad=False), "torch.LongTensor"),
        ],
        [E("name", ValueError, "invalid type: 'torch.NoTensor'", _plain(), "torch.NoTensor")],
        result=formats.INT64, call=_type),
    _op("type-name", lambda x: "LongTensor", [S("plain", _plain())], dtypes=(formats.INT64,),
        call=lambda x: x.type().rpartition(".")[2], gradient=False, layouts=()),
]  # fmt: skip

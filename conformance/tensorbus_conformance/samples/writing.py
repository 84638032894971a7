"""Methods that write into their tensor or change what it is, on a copy of the operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import ANY, E, I, Op, S, T
from tensorbus_conformance.samples.casting import cast


def _on_a_copy(name: str) -> Callable[..., Any]:
    def written(x: Any, *args: Any, **kwargs: Any) -> Any:
        made = x.clone()
        given = getattr(made, name)(*args, **kwargs)
        return made if given is made else given

    return written


def _into_window(name: str) -> Callable[..., Any]:
    """The method on a strided window of a larger tensor, and the whole of it after that."""

    def written(x: Any, *args: Any) -> Any:
        n = x.shape[0]
        base = x.new_zeros(2 * n + 1, *x.shape[1:])
        window = base[1::2]
        window.copy_(x)
        getattr(window, name)(*args)
        return base

    return written


def _spread(value: Any) -> Callable[..., np.ndarray]:
    def reference(x: np.ndarray, *args: Any) -> np.ndarray:
        out = np.zeros((2 * x.shape[0] + 1, *x.shape[1:]), x.dtype)
        out[1::2] = value(x, *args)
        return out

    return reference


def _full(x: np.ndarray, value: Any = 0) -> np.ndarray:
    return np.broadcast_to(np.asarray(value).astype(x.dtype), x.shape)


def _copied(x: np.ndarray, src: np.ndarray, non_blocking: bool = False) -> np.ndarray:
    return np.broadcast_to(src, x.shape)


def _diagonal_filled(x: np.ndarray, value: Any, wrap: bool = False) -> np.ndarray:
    out = np.array(x)
    np.fill_diagonal(out, value, wrap=wrap)
    return out


def _strided_in_place(x: Any) -> Any:
    import tensorbus

    return tensorbus.as_strided_(x.clone(), (2, 2), (1, 2))


def _op(name: str, reference: Any, samples: list[Any], errors: Any = (), **more: Any) -> Op:
    own = name.removeprefix("Tensor.")
    more = {"dtypes": ANY, "ulp": 0, "call": _on_a_copy(own), **more}
    return Op(name, reference, samples, errors=errors, family="writing", **more)


def _from_int32(to: Any) -> Op:
    return Op(
        f"copy_-to-{to.name}", lambda x, src: np.broadcast_to(cast(src, to), x.shape),
        [S("plain", T(2, 3, dtype=to), T(2, 3, of=(0, 100), grad=False)),
         S("broadcast", T(2, 3, dtype=to), T(3, of=(0, 100), grad=False))],
        dtypes=ANY, result=to, ulp=0, gradient=False, family="writing", call=_on_a_copy("copy_"),
    )  # fmt: skip


OPS = [
    _op(
        "Tensor.fill_",
        _full,
        [
            S("number", T(2, 3), 1),
            S("tensor", T(2, 3), T()),
            S("other-dtype", T(2, 3), I(3)),
            S("scalar", T(), 1),
            S("empty", T(0), 1),
        ],
        [
            E("matrix", RuntimeError,
              r"fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions\.",
              T(2), T(1)),
            E("byte", RuntimeError, "value cannot be converted to type uint8_t without overflow",
              T(2), 300, dtype=formats.UINT8),
            E("complex", RuntimeError, "value cannot be converted to type float without overflow",
              T(2), 1j),
        ],
    ),
    _op("fill_-in-window", _spread(_full), [S("number", T(3, 2), 1), S("tensor", T(3, 2), T())],
        call=_into_window("fill_")),
    _op("Tensor.zero_", _full, [S("plain", T(2, 3)), S("scalar", T()), S("empty", T(0))]),
    _op("zero_-in-window", _spread(_full), [S("plain", T(3))], call=_into_window("zero_")),
    _op(
        "Tensor.copy_",
        _copied,
        [
            S("plain", T(2, 3), T(2, 3)),
            S("broadcast", T(2, 3), T(3)),
            S("column", T(2, 3), T(2, 1)),
            S("scalar", T(2), T()),
            S("non-blocking", T(2), T(2), True),
            S("empty", T(0, 2), T(2)),
        ],
        [
            E("shape", RuntimeError,
              r"The size of tensor a \(3\) must match the size of tensor b \(2\) at non-singleton "
              r"dimension 1", T(2, 3), T(2)),
            E("rank", RuntimeError,
              r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]",
              T(3), T(2, 3)),
        ],
    ),
    _op("copy_-in-window", _spread(lambda x, y: y), [S("plain", T(3, 2), T(3, 2))],
        call=_into_window("copy_")),
    *(_from_int32(d) for d in (formats.UINT8, formats.INT64, formats.BOOL, formats.FLOAT32)),
    _op(
        "Tensor.fill_diagonal_",
        _diagonal_filled,
        [
            S("square", T(3, 3), 1),
            S("wide", T(2, 4), 1),
            S("tall", T(5, 2), 1),
            S("wrapped", T(7, 2), 1, True),
            S("cube", T(2, 2, 2), 0),
            S("empty", T(3, 0), 1, True),
        ],
        [
            E("rank", RuntimeError, "dimensions must larger than 1", T(3), 1),
            E("cube", RuntimeError, "all dimensions of input must be of equal length",
              T(2, 2, 3), 1),
        ],
    ),
    _op("Tensor.detach_", lambda x: x, [S("plain", T(2, 3))], gradient=False),
    _op("Tensor.resize_", lambda x, *shape: x.reshape(-1)[: int(np.prod(shape))].reshape(shape),
        [S("smaller", T(2, 3), 2, 2), S("same", T(2, 3), 3, 2), S("none", T(3), 0)],
        gradient=False, layouts=()),
    _op("resize_-grows", lambda x, n: x, [S("kept", T(3), 8)], gradient=False, layouts=(),
        call=lambda x, n: x.clone().resize_(n)[: x.shape[0]]),
    _op("Tensor.set_", lambda x: x, [S("plain", T(2, 3)), S("scalar", T())],
        call=lambda x: x.new_empty(0).set_(x), view=True, gradient=False),
    _op("set_-storage", lambda x: x.reshape(-1)[1:5].reshape(2, 2), [S("window", T(6))],
        call=lambda x: x.new_empty(0).set_(x.untyped_storage(), 1, (2, 2), (2, 1)),
        view=True, gradient=False, layouts=()),
    _op("Tensor.as_strided_", lambda x: x.reshape(-1)[1:5].reshape(2, 2), [S("window", T(2, 3))],
        call=lambda x: x.clone().as_strided_((2, 2), (2, 1), 1), layouts=()),
    _op("as_strided_", lambda x: x.reshape(-1)[:4].reshape(2, 2).T, [S("window", T(2, 3))],
        call=_strided_in_place, layouts=()),
]  # fmt: skip

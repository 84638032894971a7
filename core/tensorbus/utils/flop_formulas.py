"""What matrix products and convolutions take, under PyTorch's names of the ops.

A row does what several ops of PyTorch do, or a part of one: ``as_pytorch_call`` says which op with
which arguments PyTorch would have run.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tensorbus.op_engine.op_objects import namespace

_ATEN = namespace("aten")


def _mm(a: Any, b: Any, *args: Any, **kwargs: Any) -> int:
    return 2 * int(a[0]) * int(a[1]) * int(b[1])


def _addmm(bias: Any, a: Any, b: Any, **kwargs: Any) -> int:
    return _mm(a, b)


def _bmm(a: Any, b: Any, **kwargs: Any) -> int:
    return 2 * prod(a) * int(b[-1])


def _baddbmm(bias: Any, a: Any, b: Any, **kwargs: Any) -> int:
    return _bmm(a, b)


def _convolution(
    x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    *args: Any, out_shape: Any, **kwargs: Any,
) -> int:  # fmt: skip
    places = (x if transposed else out_shape)[2:]
    return 2 * int(x[0]) * prod(places) * prod(w)


def _convolution_backward(
    g: Any, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, output_mask: Any, **kwargs: Any,
) -> int:  # fmt: skip
    places = (x if transposed else g)[2:]
    return 2 * int(x[0]) * prod(places) * prod(w) * sum(output_mask[:2])


_NAMED: dict[str, Callable[..., int]] = {
    "mm": _mm,
    "addmm": _addmm,
    "bmm": _bmm,
    "baddbmm": _baddbmm,
    "convolution": _convolution,
    "convolution_backward": _convolution_backward,
}
FORMULAS = {getattr(_ATEN, name): formula for name, formula in _NAMED.items()}
"""By op, over shapes."""


def as_pytorch_call(name: str, args: Any, out: Any, backward: bool) -> tuple[Any, list[Any], Any]:
    """The op, the arguments and the result of PyTorch for a row called *name*, in shapes.

    None as the op for what is no product. *backward* says whether a backward pass runs, for there
    the rows of convolutions change their meanings.
    """
    if name == "matmul":
        return _product(tuple(args[0].shape), tuple(args[1].shape), tuple(out.shape))
    if name == "linear":
        return _linear(args, tuple(out.shape))
    kind = name.removeprefix("conv2d").removeprefix("conv3d")
    if name == "convolution" or kind in ("", "_input", "_weight"):
        return _of_convolution(kind, args, tuple(out.shape), backward)
    return None, [], None


def _product(a: Any, b: Any, out: Any) -> Any:
    a = (1, *a) if len(a) == 1 else a
    b = (*b, 1) if len(b) == 1 else b
    if len(b) == 2:
        return _ATEN.mm, [(prod(a[:-1]), a[-1]), b], out
    batch = prod(a[:-2]) if len(out) < 3 else prod(out[:-2])
    return _ATEN.bmm, [(batch, *a[-2:]), (batch, *b[-2:])], out


def _linear(args: Any, out: Any) -> Any:
    x, w, bias = args
    rows = (prod(x.shape[:-1]), x.shape[-1])
    turned = tuple(w.shape[::-1])
    if bias is None:
        return _ATEN.mm, [rows, turned], out
    return _ATEN.addmm, [tuple(bias.shape), rows, turned], out


def _of_convolution(kind: str, args: Any, out: Any, backward: bool) -> Any:
    first, second, bias = (tuple(args[0].shape), tuple(args[1].shape), None)
    *_, stride, padding, dilation, groups = args
    none = [0] * len(stride)
    if kind == "_weight":
        given = [first, second, out, None, stride, padding, dilation, False, none, groups]
        return _ATEN.convolution_backward, [*given, [False, True, False]], (None, out, None)
    if not backward or kind == "convolution":
        given = [first, second, bias, stride, padding, dilation, kind == "_input", none, groups]
        return _ATEN.convolution, given, out
    given = [first, out, second, None, stride, padding, dilation, kind == "", none, groups]
    return _ATEN.convolution_backward, [*given, [True, False, False]], (out, None, None)

"""Level 2: what autograd refuses of writes, with one text on every device."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.aliasing import on
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial


def cases() -> Iterator[Case]:
    for name, (program, text) in REFUSED.items():
        yield Case(
            f"L2/aliasing/float32/refuses-{name}",
            "aliasing",
            functools.partial(_refused, program, text),
            (formats.FLOAT32,),
        )


def _refused(program: Callable[[Any], Any], text: str, t: Trial) -> None:
    bench = Bench(t)
    x = bench.send(np.arange(1, 7).reshape(2, 3).astype(np.float32), formats.FLOAT32)
    raised = expect_raises(lambda: program(x), RuntimeError)
    if not re.match(text, str(raised)):
        raise Mismatch(f"the message is {str(raised)!r}, expected {text!r}")


def _leaf(x: Any) -> Any:
    return x.requires_grad_()


def _saved(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A product keeps its factors for backward; one of them is written to in between."""

    def program(x: Any) -> None:
        y = _leaf(x) * 2
        z = y * y
        write(y)
        z.sum().backward()

    return program


def _accumulated(x: Any) -> None:
    """A gradient that a product keeps grows in the next backward pass."""
    _leaf(x)
    (x * 2).sum().backward()
    kept = (_leaf(x.detach().clone()) * x.grad).sum()
    (x * 2).sum().backward()
    kept.backward()


def _saved_result(x: Any) -> None:
    y = _leaf(x).exp()
    y[0].mul_(2)
    y.sum().backward()
    z = x.exp()
    z.detach()[1] = 0
    z.sum().backward()


def _view_without_grad(x: Any) -> None:
    y = _leaf(x) * 1
    with tensorbus.no_grad():
        v = y[0]
    v.mul_(2)


OF_LEAF = r"a leaf Variable that requires grad is being used in an in-place operation"
OF_VIEW = r"a view of a leaf Variable that requires grad is being used in an in-place operation"
TWICE = (
    r"unsupported operation: more than one element of the written-to tensor refers to a single "
    r"memory location"
)
STALE = (
    r"one of the variables needed for gradient computation has been modified by an inplace "
    r"operation: \[torch\.(\w+\.)?FloatTensor \[2, 3\]\], which is output 0 of [\w:]+, is at "
    r"version 1; expected version 0 instead"
)
STALE_LEAF = STALE.replace(r", which is output 0 of [\w:]+,", "")

REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "leaf-add": (lambda x: _leaf(x).add_(1), OF_LEAF),
    "leaf-fill": (lambda x: _leaf(x).fill_(1), OF_LEAF),
    "leaf-zero": (lambda x: _leaf(x).zero_(), OF_LEAF),
    "leaf-copy": (lambda x: _leaf(x).copy_(on(x, [1.0, 2.0, 3.0])), OF_LEAF),
    "leaf-index-fill": (lambda x: _leaf(x).index_fill_(0, on(x, [0]), 1.0), OF_LEAF),
    "leaf-masked-fill": (lambda x: _leaf(x).masked_fill_(x.detach() > 2, 1.0), OF_LEAF),
    "leaf-scatter": (lambda x: _leaf(x).scatter_(0, on(x, [[0]]), 1.0), OF_LEAF),
    "leaf-transpose": (lambda x: _leaf(x).t_(), OF_LEAF),
    "leaf-setitem-index": (lambda x: _leaf(x).__setitem__(on(x, [0]), 1.0), OF_LEAF),
    "view-of-leaf-add": (lambda x: _leaf(x)[0].add_(1), OF_VIEW),
    "view-of-leaf-fill": (lambda x: _leaf(x).view(-1)[2:].fill_(1), OF_VIEW),
    "view-of-leaf-setitem": (lambda x: _leaf(x).__setitem__(0, 1.0), OF_VIEW),
    "leaf-setitem-all": (lambda x: _leaf(x).__setitem__(..., 1.0), OF_LEAF),
    "view-of-leaf-setitem-none": (lambda x: _leaf(x).__setitem__(None, 1.0), OF_VIEW),
    "expanded-add": (lambda x: x[:1].expand(2, 3).add_(1), TWICE),
    "expanded-copy": (lambda x: x[0].expand(2, 3).copy_(x), TWICE),
    "expanded-fill": (lambda x: x[0].expand(2, 3).mul_(2), TWICE),
    "expanded-setitem": (
        lambda x: x[0].expand(2, 3).__setitem__(slice(None), x), TWICE),
    "expanded-scatter": (
        lambda x: x[0].expand(2, 3).scatter_(0, on(x, [[0, 0, 0]]), 1.0), TWICE),
    "windows-of-nothing": (lambda x: x.as_strided((2, 3), (0, 1)).add_(1), TWICE),
    "saved-gradient": (_accumulated, STALE_LEAF),
    "saved-add": (_saved(lambda y: y.add_(1)), STALE),
    "saved-view": (_saved(lambda y: y[0].add_(1)), STALE),
    "saved-fill": (_saved(lambda y: y[1:].fill_(0)), STALE),
    "saved-detached": (_saved(lambda y: y.detach().zero_()), STALE),
    "saved-setitem": (_saved(lambda y: y.detach().__setitem__((0, 1), 3.0)), STALE),
    "saved-mask": (_saved(lambda y: y.detach().masked_fill_(y.detach() > 3, 0.0)), STALE),
    "saved-index": (_saved(lambda y: y.detach().index_fill_(0, on(y, [0]), 0.0)), STALE),
    "saved-out": (
        _saved(lambda y: tensorbus.mul(y.detach(), 1, out=y.detach())), STALE),
    "saved-result": (_saved_result, STALE),
    "view-without-grad": (
        _view_without_grad,
        r"A view was created in no_grad mode and is being modified inplace with grad mode enabled",
    ),
    "resize-of-leaf": (
        lambda x: _leaf(x).resize_(7), r"cannot resize variables that require grad"),
    "detach-view": (lambda x: x[0].detach_(), r"Can't detach views in-place"),
    "numpy-of-leaf": (
        lambda x: _leaf(x).numpy(), r"Can't call numpy\(\) on Tensor that requires grad"),
    "out-of-leaf": (
        lambda x: tensorbus.add(_leaf(x), 1, out=x.detach().clone()),
        r"add\(\): functions with out=\.\.\. arguments don't support automatic differentiation, "
        r"but one of the arguments requires grad",
    ),
}  # fmt: skip

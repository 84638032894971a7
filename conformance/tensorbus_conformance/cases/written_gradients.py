"""Level 3: users' lines that write in place into the gradients they are given.

A hook or a rule of a user may write into what arrives. That may change this pass, and nothing
that is kept for later ones: no constant, no seed of a backward pass, no value that a node saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus import nn
from tensorbus_conformance import formats
from tensorbus_conformance.bench import expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import op_gradients
from tensorbus_conformance.cases.op_values import needed
from tensorbus_conformance.compare import Mismatch, present, same
from tensorbus_conformance.op import Op, Sample
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial

DTYPE = formats.FLOAT32
_ULP = 64
"""Kernels that add in any order may differ so far between two passes; a write differs by more."""


def cases() -> Iterator[Case]:
    for name, program in PROGRAMS.items():
        yield Case(
            f"L3/written-gradients/float32/{name}",
            "backward",
            functools.partial(_seeds_are_whole, program),
            (DTYPE,),
        )
    for op in all_ops():
        if op.gradient and DTYPE in op.dtypes:
            taken = (s for s in op.samples if s.takes(DTYPE))
            sample = next((s for s in taken if op_gradients.differentiable(s)), None)
            if sample is not None:
                yield Case(
                    f"L3/{op.name}/float32/{sample.variant}/written-gradients",
                    op.family or "ops",
                    functools.partial(_nothing_kept_changes, op, sample),
                    needed(op, DTYPE),
                )


# -- every op: a later pass over the same graph gives the same -------------------------------
def _write(g: Any) -> None:
    try:
        g.mul_(3).add_(7)
    except RuntimeError as error:
        if "single memory location" not in str(error):  # an expanded gradient may not be written
            raise


def _nothing_kept_changes(op: Op, sample: Sample, t: Trial) -> None:
    s = op_gradients.Setting(op, sample, DTYPE, "contiguous", t)
    leaves = [leaf for _, leaf in s.leaves]
    pairs = [
        (o, w)
        for o, w in zip(s.outputs, s.weights, strict=True)
        if w is not None and o.requires_grad
    ]

    def gradients() -> list[Any]:
        for leaf in leaves:
            leaf.grad = None
        cotangents = [
            s.bench.send(np.asarray(w, formats.value_dtype(DTYPE)), o.dtype) for o, w in pairs
        ]
        tensorbus.autograd.backward([o for o, _ in pairs], cotangents, retain_graph=True)
        return [leaf.grad for leaf in leaves]

    before = [None if g is None else s.bench.read(g) for g in gradients()]
    hooked = [*leaves, *(o for o, _ in pairs)]
    handles = [x.register_hook(_write) for x in hooked]
    gradients()
    for handle in handles:
        handle.remove()
    for position, (got, want) in enumerate(zip(gradients(), before, strict=True)):
        if (got is None) != (want is None):
            raise Mismatch(f"the gradient of leaf {position} is {got}, before it was {want}")
        if want is not None:
            s.bench.same(got, want, DTYPE, _ULP)


# -- seeds and constants ---------------------------------------------------------------------
def _seeds_are_whole(program: Callable[[Any], Any], t: Trial) -> None:
    x = tensorbus.ones(1, 1, device=t.device.type).requires_grad_()
    program(x)
    one = tensorbus.ones((), device=t.device.type).requires_grad_()
    one.backward()
    what = "the gradient of a scalar with respect to itself"
    same(what, present(what, one.grad).tolist(), 1.0)
    pair = tensorbus.ones(2, device=t.device.type).requires_grad_()
    pair.sum().backward()
    what = "the gradient of a sum"
    same(what, present(what, pair.grad).tolist(), [1.0, 1.0])
    with tensorbus.no_grad():
        same("numbers", ((pair * 10 + 1 - 3.0) / 2).tolist(), [4.0, 4.0])


def _hooked(view: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Tenfold gradients of the leaf, of a view of it and of the view's one element."""

    def program(x: Any) -> None:
        viewed = view(x)
        last = viewed if viewed.dim() == 0 else viewed.squeeze()
        for hooked in {id(v): v for v in (x, viewed, last)}.values():
            hooked.register_hook(lambda g: g.mul_(10))
        n = 10 ** len({id(v) for v in (x, viewed, last)})
        last.backward()
        same("the gradient", x.grad.tolist(), [[float(n)]])

    return program


class _Tenfold(tensorbus.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0].mul_(10)


def _function(x: Any) -> None:
    _Tenfold.apply(x).view(()).backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _function_of_scalar(x: Any) -> None:
    _Tenfold.apply(x.squeeze()).backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _before_module(x: Any) -> None:
    layer = nn.Flatten(0)
    layer.register_full_backward_pre_hook(lambda _, g: (g[0].mul_(10),))
    layer(x).squeeze().backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _after_module(x: Any) -> None:
    layer = nn.Flatten(0)
    layer.register_full_backward_hook(lambda _, g, __: (g[0].mul_(10),))
    layer(x).squeeze().backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _before_node(x: Any) -> None:
    y = x.squeeze()
    y.grad_fn.register_prehook(lambda g: (g[0].mul_(10),))
    y.backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _after_node(x: Any) -> None:
    def write(inputs: Any, outputs: Any) -> None:
        inputs[0].mul_(10)

    y = x.squeeze()
    y.grad_fn.register_hook(write)
    y.backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _gradient_of_leaf(x: Any) -> None:
    x.view(()).backward()
    x.grad.mul_(10)
    x.view(()).backward()
    same("two passes", x.grad.tolist(), [[11.0]])


def _retained(x: Any) -> None:
    y = x.view(1)
    z = y.view(())
    y.retain_grad()
    z.retain_grad()
    z.backward()
    z.grad.mul_(10)
    same("what another tensor retained", (y.grad.tolist(), x.grad.tolist()), ([1.0], [[1.0]]))


def _after_accumulation(x: Any) -> None:
    def write(leaf: Any) -> None:
        leaf.grad.mul_(10)

    x.register_post_accumulate_grad_hook(write)
    x.view(()).backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _of_inputs(x: Any) -> None:
    y = x.view(1)
    given = tensorbus.ones_like(y)
    y.backward(given, inputs=[y])
    y.grad.mul_(10)
    (g,) = tensorbus.autograd.grad(x.view(()), x)
    present("the gradient", g).mul_(10)
    same("the gradient that was given", given.tolist(), [1.0])


def _given_under_create_graph(x: Any) -> None:
    given = tensorbus.ones_like(x)
    x.register_hook(lambda g: None)
    x.view(1, 1).backward(given, create_graph=True)
    x.grad.detach().mul_(10)
    same("the gradient that was given", given.tolist(), [[1.0]])


def _of_sum(x: Any) -> None:
    x.register_hook(lambda g: g.mul_(10))
    x.sum().backward()
    same("the gradient", x.grad.tolist(), [[10.0]])


def _expanded(x: Any) -> None:
    wide = x.expand(1, 3).clone()
    wide.register_hook(lambda g: g.mul_(10))
    raised = expect_raises(wide.sum().backward, RuntimeError)
    same("the message", "single memory location" in str(raised), True)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "squeeze": lambda x: x.squeeze(),
    "squeeze-dim": lambda x: x.squeeze(0),
    "view": lambda x: x.view(()),
    "view-as": lambda x: x.view_as(x.detach()[0]),
    "reshape": lambda x: x.reshape(1),
    "flatten": lambda x: x.flatten(),
    "unflatten": lambda x: x.unflatten(0, (1, 1)),
    "ravel": lambda x: x.ravel(),
    "select": lambda x: x[0, 0],
    "slice": lambda x: x[:1],
    "leading": lambda x: x[0:],
    "everything": lambda x: x[...],
    "narrow": lambda x: x.narrow(1, 0, 1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "new-axis": lambda x: x[None],
    "permute": lambda x: x.permute(1, 0),
    "transpose": lambda x: x.t(),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "moved": lambda x: x.movedim(0, 1),
    "expand": lambda x: x.expand(1, 1, 1),
    "as-strided": lambda x: x.as_strided((), (), 0),
    "diagonal": lambda x: x.diagonal(),
    "windows": lambda x: x.unfold(0, 1, 1),
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(1)[0],
    "unbind": lambda x: x.unbind()[0],
    "iterated": lambda x: next(iter(x)),
    "contiguous": lambda x: x.contiguous(),
    "sum-of-one": lambda x: x.sum(),
    "mean-of-one": lambda x: x.mean(),
    "sum-of-dim": lambda x: x.sum(0),
    "largest-of-one": lambda x: x.amax(),
    "copy": lambda x: x.clone(),
    "sum-of-two": lambda x: x + 0,
    "converted": lambda x: x.to(tensorbus.float32, copy=True),
    "joined": lambda x: tensorbus.cat([x]),
    "stacked": lambda x: tensorbus.stack([x]),
}
"""Everything that hands a gradient of one element on as it is, or a view of it."""

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    **{f"hook-of-{name}": _hooked(view) for name, view in VIEWS.items()},
    "function": _function,
    "function-of-scalar": _function_of_scalar,
    "before-module": _before_module,
    "after-module": _after_module,
    "before-node": _before_node,
    "after-node": _after_node,
    "gradient-of-leaf": _gradient_of_leaf,
    "retained": _retained,
    "after-accumulation": _after_accumulation,
    "of-inputs": _of_inputs,
    "given-under-create-graph": _given_under_create_graph,
    "hook-of-sum": _of_sum,
    "hook-of-expanded": _expanded,
}

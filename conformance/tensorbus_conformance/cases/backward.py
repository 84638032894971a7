"""Level 3: what happens around derivatives: accumulation, hooks, gradients that are kept.

And how a tensor is printed, which shows its gradient too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tensorbus
import tensorbus.nn.functional
from tensorbus_conformance import formats
from tensorbus_conformance.bench import expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import same
from tensorbus_conformance.trial import Trial

FAMILY = "backward"


def cases() -> Iterator[Case]:
    for name, check in _CHECKS.items():
        level, op, variant = name.split("/")
        yield Case(
            f"{level}/{op}/float32/{variant}",
            FAMILY,
            functools.partial(_run, check),
            (formats.FLOAT32,),
        )


def _run(check: Callable[[Any, Any], None], t: Trial) -> None:
    x = tensorbus.tensor([1.0, -2.0, 3.0], device=t.device.type, requires_grad=True)
    check(x, (x * x).sum())


def _accumulates(x: Any, y: Any) -> None:
    y.backward(retain_graph=True)
    first = x.grad
    y.backward()
    same("gradients of two passes", x.grad.tolist(), [4.0, -8.0, 12.0])
    same("accumulated in place", x.grad is first, True)
    same("the gradient's device", x.grad.device, x.device)


def _twice(x: Any, y: Any) -> None:
    y.backward()
    raised = expect_raises(y.backward, RuntimeError)
    same(
        "the message",
        str(raised).startswith("Trying to backward through the graph a second time"),
        True,
    )


def _replaced(x: Any, y: Any) -> None:
    seen: list[Any] = []

    def tenfold(g: Any) -> Any:
        seen.append(g.tolist())
        return g * 10

    handle = x.register_hook(tenfold)
    y.backward(retain_graph=True)
    handle.remove()
    same("what the hook saw", seen, [[2.0, -4.0, 6.0]])
    same("what it gave", x.grad.tolist(), [20.0, -40.0, 60.0])
    y.backward()
    same("after its removal", x.grad.tolist(), [22.0, -44.0, 66.0])


def _after_accumulation(x: Any, y: Any) -> None:
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    y.backward(retain_graph=True)
    y.backward()
    same("what the hook saw", seen, [[2.0, -4.0, 6.0], [4.0, -8.0, 12.0]])
    expect_raises(lambda: y.register_post_accumulate_grad_hook(print), RuntimeError)


def _kept(x: Any, y: Any) -> None:
    z = x * 3
    same("before", z.retains_grad, False)
    z.retain_grad()
    same("after", z.retains_grad, True)
    (z * z).sum().backward()
    same("the gradient of a result", z.grad.tolist(), [6.0, -12.0, 18.0])
    same("the leaf's", x.grad.tolist(), [18.0, -36.0, 54.0])


def _not_recorded(x: Any, y: Any) -> None:
    with tensorbus.no_grad():
        same("under no_grad", (x * 2).requires_grad, False)
    same("detached", x.detach().requires_grad, False)
    mixed = x * 2 + (x * 5).detach()
    mixed.sum().backward()
    same("the gradient", x.grad.tolist(), [2.0, 2.0, 2.0])


def _inference(x: Any, y: Any) -> None:
    """What inference mode makes computes as ever, and enters no graph."""
    plain = x.detach().clone()
    with tensorbus.inference_mode():
        made = [
            x * 2, plain + plain, plain.exp(), plain.sum(), plain > 0, plain.to(tensorbus.int64),
            tensorbus.cat([plain, plain]), tensorbus.zeros_like(plain), plain[plain > 0],
        ]  # fmt: skip
        view = plain[1:]
        plain.add_(1)
    same("inference tensors", [t.is_inference() for t in made], [True] * len(made))
    same("a view of another tensor", view.is_inference(), False)
    same("written inside", plain.tolist(), [2.0, -1.0, 4.0])
    same("computed inside", made[0].tolist(), [2.0, -4.0, 6.0])
    same("a result outside", (made[1] + 1).is_inference(), False)
    for refused in (
        lambda: made[0].add_(1), lambda: made[0][0].fill_(1), lambda: made[0].__setitem__(0, 1.0),
        lambda: made[0] * x, lambda: x * made[0], lambda: made[0].requires_grad_(),
    ):  # fmt: skip
        expect_raises(refused, RuntimeError)
    same("not written", made[0].tolist(), [2.0, -4.0, 6.0])
    (made[0] + x).sum().backward()
    same("a gradient that needs no value", x.grad.tolist(), [1.0, 1.0, 1.0])
    (made[0].clone() * x).sum().backward()
    same("a copy is an ordinary tensor", x.grad.tolist(), [3.0, -3.0, 7.0])


def _part(x: Any, y: Any) -> None:
    x[1:].mul(4).sum().backward()
    same("the gradient of a part", x.grad.tolist(), [0.0, 4.0, 4.0])


def _third_order(x: Any, y: Any) -> None:
    """Derivatives of derivatives of a pool's gradient: each time at the largest of a window."""
    leaf = tensorbus.tensor([[[1.0, 2.0, -1.0, 0.0]]], device=x.device, requires_grad=True)
    pooled = tensorbus.nn.functional.max_pool1d(leaf, 2)
    g: Any = (pooled**3).sum()
    for want in ([0, 12, 0, 0], [0, 288, 0, 0], [0, 7776 * 32, 0, 0]):
        (g,) = tensorbus.autograd.grad(g, leaf, create_graph=True)
        same("a derivative", g.tolist(), [[[float(v) for v in want]]])
        g = (g * g).sum()


def _of_two_results(x: Any, y: Any) -> None:
    largest, position = x.reshape(1, 3).max(1)
    same("the first result", (largest.output_nr, position.output_nr), (0, 0))
    same("a leaf", x.output_nr, 0)


def _printed(x: Any, y: Any) -> None:
    where = "" if x.device.type == "cpu" else f", device='{x.device}'"
    same("repr", repr(x.detach()), f"tensor([ 1., -2.,  3.]{where})")
    same("repr of a leaf", repr(x), f"tensor([ 1., -2.,  3.]{where}, requires_grad=True)")


def _to_cuda(x: Any, y: Any) -> None:
    if tensorbus.accelerator.is_available("cuda"):
        same("moved", x.detach().cuda().tolist(), [1.0, -2.0, 3.0])
    else:
        expect_raises(lambda: x.detach().cuda(), RuntimeError)


def _in_another_dtype(x: Any, y: Any) -> None:
    known = tensorbus.accelerator.capabilities(x.device).dtypes
    others = [d for d in (tensorbus.float16, tensorbus.float64) if d in known]
    same("by default", x.grad_dtype, tensorbus.float32)
    for d in others:
        leaf = x.detach().requires_grad_()
        leaf.grad_dtype = d
        for factor in (1, 2):
            (leaf * leaf + leaf).sum().backward()
            same("the dtype", leaf.grad.dtype, d)
            want = [factor * v for v in (3.0, -3.0, 7.0)]
            same("the gradient", leaf.grad.tolist(), want)
        expect_raises(lambda leaf=leaf: setattr(leaf, "grad_dtype", tensorbus.float32),  # type: ignore[misc]
                      RuntimeError)  # fmt: skip
    expect_raises(lambda: y.grad_dtype, RuntimeError)


_CHECKS: dict[str, Callable[[Any, Any], None]] = {
    "L3/backward/of-two-results": _of_two_results,
    "L3/backward/accumulates": _accumulates,
    "L3/backward/twice": _twice,
    "L3/backward/part": _part,
    "L3/nn.functional.max_pool1d/third-order": _third_order,
    "L3/register_hook/replaces": _replaced,
    "L3/register_post_accumulate_grad_hook/sees": _after_accumulation,
    "L3/retain_grad/result": _kept,
    "L3/no_grad/unrecorded": _not_recorded,
    "L3/is_inference/mode": _inference,
    "L2/repr/leaf": _printed,
    "L3/grad_dtype/converted": _in_another_dtype,
    "L2/cuda/moves": _to_cuda,
}

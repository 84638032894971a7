"""``autograd.Function`` under ``jacrev``, ``hessian`` and batches of gradients, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus


def square(torch: Any, backward: str = "backward", rule: bool = False) -> Any:
    """x^2, its derivative under one of two names, with a rule of its own for ``vmap`` or not."""

    def forward(x: Any) -> Any:
        return x**2

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def slope(ctx: Any, g: Any) -> Any:
        return g * 2 * ctx.saved_tensors[0]

    def vmap(info: Any, in_dims: Any, x: Any) -> Any:
        return x**2, in_dims[0]

    static: dict[str, Any] = {
        "forward": forward,
        "setup_context": setup_context,
        backward: slope,
        "jvp": slope,
    }
    if rule:
        static["vmap"] = vmap
    members: dict[str, Any] = {name: staticmethod(f) for name, f in static.items()}
    return type("Square", (torch.autograd.Function,), {**members, "generate_vmap_rule": not rule})


def mixed(torch: Any) -> Any:
    """Two results of two arguments that differ in dtype."""

    class Mixed(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b.float(), a.sum()

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            a, b = ctx.saved_tensors
            return g * b.float() + h, (g * a).sum(0).double()

    return Mixed


def programs(torch: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    f = torch.func
    x = torch.arange(6.0).reshape(3, 2)
    for rule in (False, True):
        s = square(torch, rule=rule).apply
        found[f"jacrev {rule}"] = f.jacrev(s)(x)
        found[f"jacfwd {rule}"] = f.jacfwd(s)(x)
        found[f"hessian {rule}"] = f.hessian(lambda v, s=s: s(s(v)).sum())(x[1])
        found[f"jacrev in vmap {rule}"] = torch.vmap(f.jacrev(s))(x)
        found[f"vmap in jacrev {rule}"] = f.jacrev(torch.vmap(s))(x)
    a = x.clone().requires_grad_()
    b = torch.arange(2.0, dtype=torch.float64).requires_grad_()
    rows = torch.arange(12.0).reshape(2, 3, 2), torch.tensor([1.0, 2.0])
    results = mixed(torch).apply(a, b)
    for create in (False, True):
        grads = torch.autograd.grad(
            results, (a, b), rows, is_grads_batched=True, retain_graph=True, create_graph=create
        )
        found[f"batch of gradients {create}"] = grads
        found[f"recorded {create}"] = [g.requires_grad for g in grads]
        found[f"dtypes {create}"] = [str(g.dtype).rpartition(".")[2] for g in grads]
    found["first result alone"] = torch.autograd.grad(
        results[0], a, rows[0], is_grads_batched=True, retain_graph=True
    )
    found["jacobian"] = torch.autograd.functional.jacobian(square(torch).apply, x, vectorize=True)
    y = square(torch, "vjp").apply(a)
    found["vjp"] = torch.autograd.grad(y.sum(), a)
    return {name: plain(value) for name, value in found.items()}


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def test_derivatives_are_pytorchs(oracle: Any) -> None:
    assert programs(tensorbus) == oracle(programs)


def refusal(torch: Any, which: str) -> str:
    x = torch.arange(6.0).reshape(3, 2)
    try:
        if which == "both names":
            function = square(torch, "vjp")
            function.backward = staticmethod(lambda ctx, g: g)
            function.apply(x.requires_grad_()).sum().backward()
        else:
            function = square(torch, rule=True)
            function.vmap = staticmethod(lambda info, in_dims, x: (x, (0, 0)))
            torch.vmap(function.apply)(x)
    except RuntimeError as error:
        return str(error).partition(". out_dims has structure")[0].partition(". For more")[0]
    return "no error"


@pytest.mark.parametrize("which", ["both names", "dimensions of more results"])
def test_refusals_are_pytorchs(which: str, oracle: Any) -> None:
    assert refusal(tensorbus, which) == oracle(lambda torch: refusal(torch, which))

"""``autograd.Function`` with a rule of its own for ``vmap``: values, gradients, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus
from tensorbus import vmap
from tensorbus.func import grad

ROWS = [[3.0, 1.0, 2.0], [0.5, -1.0, 4.0]]


def functions(torch: Any) -> tuple[Any, Any, list[Any]]:
    """PyTorch's example: a sort and an indexing in NumPy, and what their rules were told."""
    calls: list[Any] = []

    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, dim: int) -> Any:
            order = torch.tensor(x.detach().numpy().argsort(dim))
            back = torch.tensor(order.numpy().argsort(dim))
            values = torch.tensor(x.detach().numpy()).gather(dim, order)
            return values, order, back

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            _, ctx.dim = inputs
            _, order, back = output
            ctx.mark_non_differentiable(order, back)
            ctx.save_for_backward(order, back)

        @staticmethod
        def backward(ctx: Any, g: Any, *_: Any) -> Any:
            order, back = ctx.saved_tensors
            return Take.apply(g, back, order, ctx.dim), None

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, dim: int) -> Any:
            calls.append(("sort", info.batch_size, info.randomness, tuple(in_dims), tuple(x.shape)))
            x = x.movedim(in_dims[0], 0)
            dim = dim if dim >= 0 else dim + x.dim() - 1
            return Sort.apply(x, dim + 1), (0, 0, 0)

    class Take(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, index: Any, back: Any, dim: int) -> Any:
            return torch.tensor(x.detach().numpy()).gather(dim, torch.tensor(index.numpy()))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            _, index, back, ctx.dim = inputs
            ctx.save_for_backward(index, back)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            index, back = ctx.saved_tensors
            return Take.apply(g, back, index, ctx.dim), None, None, None

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, index: Any, back: Any, dim: int) -> Any:
            calls.append(("take", info.batch_size, tuple(in_dims)))

            def first(t: Any, d: Any) -> Any:
                return t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)

            dim = dim if dim >= 0 else dim + x.dim() - (in_dims[0] is not None)
            given = [first(t, d) for t, d in zip((x, index, back), in_dims, strict=False)]
            return Take.apply(*given, dim + 1), 0

    return Sort, Take, calls


def weighted(torch: Any, sort: Any) -> Any:
    weights = torch.tensor([1.0, 10.0, 100.0])
    return lambda row: (sort.apply(row, -1)[0] * weights).sum()


PROGRAMS: dict[str, Any] = {
    "values": lambda torch, sort, take: [t.tolist() for t in torch.vmap(
        lambda row: sort.apply(row, 0))(torch.tensor(ROWS))],
    "columns": lambda torch, sort, take: torch.vmap(
        lambda row: sort.apply(row, 0)[0], in_dims=1, out_dims=1)(torch.tensor(ROWS)).tolist(),
    "one-for-all": lambda torch, sort, take: torch.vmap(
        lambda i: take.apply(torch.tensor([5.0, 6.0, 7.0]), i, i, 0))(
        torch.tensor([[2, 1, 0], [0, 0, 1]])).tolist(),
    "vmap-of-grad": lambda torch, sort, take: torch.vmap(torch.func.grad(weighted(torch, sort)))(
        torch.tensor(ROWS)).tolist(),
    "grad-of-vmap": lambda torch, sort, take: torch.func.grad(
        lambda x: torch.vmap(weighted(torch, sort))(x).sum())(torch.tensor(ROWS)).tolist(),
    "nested": lambda torch, sort, take: torch.vmap(torch.vmap(lambda row: sort.apply(row, 0)[0]))(
        torch.tensor([ROWS, ROWS]).flip(2)).tolist(),
    "second-order": lambda torch, sort, take: torch.vmap(torch.func.grad(
        lambda r: torch.func.grad(lambda q: (sort.apply(q, 0)[0] ** 3).sum())(r).sum()))(
        torch.tensor(ROWS)).tolist(),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_rule_computes_what_pytorch_does(program: str, oracle: Any) -> None:
    run = PROGRAMS[program]
    sort, take, calls = functions(tensorbus)
    assert run(tensorbus, sort, take) == oracle(lambda torch: run(torch, *functions(torch)[:2]))
    assert calls


def test_the_rule_is_told_of_the_batch() -> None:
    sort, _, calls = functions(tensorbus)
    x = tensorbus.tensor(ROWS)
    vmap(lambda row: sort.apply(row, 0)[0], in_dims=1, randomness="same")(x)
    assert calls == [("sort", 3, "same", (0, None), (3, 2))]
    calls.clear()
    vmap(vmap(lambda row: sort.apply(row, -1)[0]))(x.reshape(2, 3, 1))
    assert [call[:2] for call in calls] == [("sort", 3), ("sort", 2)]
    calls.clear()
    assert sort.apply(x, 1)[0].tolist() == x.sort(1)[0].tolist() and not calls


def test_the_rule_runs_outside_of_the_batch() -> None:
    class Noise(tensorbus.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x + tensorbus.rand(x.shape)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Noise.apply(x), in_dims[0]

    x = tensorbus.zeros(2, 3)
    tensorbus.manual_seed(0)
    made = vmap(Noise.apply)(x)  # randomness="error" is for what runs in the batch
    tensorbus.manual_seed(0)
    assert made.tolist() == tensorbus.rand(2, 3).tolist()


def test_what_is_the_same_for_all_elements_leaves_the_batch() -> None:
    sort, _, calls = functions(tensorbus)
    fixed = tensorbus.tensor([2.0, 1.0])
    made = vmap(lambda x: sort.apply(fixed, 0)[0] * x)(tensorbus.tensor([1.0, 10.0]))
    assert made.tolist() == [[1.0, 2.0], [10.0, 20.0]] and not calls


def test_without_a_rule_the_static_methods_take_batches() -> None:
    class Cube(tensorbus.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

    assert vmap(grad(lambda x: Cube.apply(x)))(tensorbus.tensor([1.0, 2.0])).tolist() == [3.0, 12.0]


def both(torch: Any) -> Any:
    sort = functions(torch)[0]
    sort.generate_vmap_rule = True
    return sort


def returning(torch: Any, made: Any) -> Any:
    sort = functions(torch)[0]
    sort.vmap = staticmethod(lambda info, in_dims, x, dim: made(x))
    return sort


def without_context(torch: Any) -> Any:
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, dim: int) -> Any:
            return x + 1

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, dim: int) -> Any:
            return x + 1, 0

    return Old


REFUSED: dict[str, Any] = {
    "both": both,
    "no-tuple": lambda torch: returning(torch, lambda x: x),
    "three": lambda torch: returning(torch, lambda x: (x, 0, 0)),
    "no-context": without_context,
}


def refusal(torch: Any, name: str) -> str:
    function = REFUSED[name](torch)
    try:
        torch.vmap(lambda row: function.apply(row, 0))(torch.tensor(ROWS))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(name: str, oracle: Any) -> None:
    ours, theirs = refusal(tensorbus, name), oracle(lambda torch: refusal(torch, name))
    assert ours.replace("tensorbus", "torch") == theirs

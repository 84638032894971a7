"""Gradients of tensors cut apart: joined once, by one node."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus


def _leaf(torch: Any) -> Any:
    return torch.arange(24.0, dtype=torch.float64).reshape(4, 6).requires_grad_()


def twice_differentiated(torch: Any) -> Any:
    x = _leaf(torch)
    a, b, c = x.split(2, 1)
    (g,) = torch.autograd.grad((a * c).sum() + (b**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad((g * g).sum(), x)
    return g.tolist(), h.tolist(), a.grad_fn.name(), [t.output_nr for t in (a, b, c)]


def one_part_alone(torch: Any) -> Any:
    x = _leaf(torch)
    parts = x.split([1, 0, 3])
    parts[2].sum().backward()
    parts[1].sum().backward()  # has no elements
    return x.grad.tolist()


def rows_and_numbers(torch: Any) -> Any:
    x = _leaf(torch)
    rows = x.unbind(0)
    numbers = (x * 1).reshape(-1).unbind(0)
    (rows[0] * rows[2]).sum().backward()
    (numbers[3] * numbers[5]).backward()
    return x.grad.tolist(), rows[1].grad_fn.name(), rows[1].output_nr


def hooks_of_a_part(torch: Any) -> Any:
    x = _leaf(torch)
    parts = x.chunk(3, 1)
    seen: list[Any] = []
    parts[1].retain_grad()

    def double(g: Any) -> Any:
        seen.append(g.tolist())
        return g * 2

    parts[1].register_hook(double)
    (parts[1] * parts[0]).sum().backward()
    return x.grad.tolist(), parts[1].grad.tolist(), seen


def hooks_of_the_node(torch: Any) -> Any:
    x = _leaf(torch)
    a, _ = x.split(2)
    seen: list[Any] = []
    a.grad_fn.register_prehook(lambda given: seen.append([g is None for g in given]))
    (a * 2).sum().backward()
    return x.grad.tolist(), seen


def in_batches(torch: Any) -> Any:
    def product(row: Any) -> Any:
        return (row.split(3)[0] * row.unbind(0)[5]).sum()

    rows = _leaf(torch).detach()
    value, slope = torch.func.jvp(lambda x: x.chunk(2)[0] ** 2, (rows,), (rows,))
    return (
        torch.func.vmap(torch.func.grad(product))(rows).tolist(),
        value.tolist(),
        slope.tolist(),
    )


def not_recorded(torch: Any) -> Any:
    x = _leaf(torch)
    with torch.no_grad():
        unrecorded = x.split(2)
    return [part.requires_grad for part in (*unrecorded, *x.detach().split(2))]


PROGRAMS = [
    twice_differentiated, one_part_alone, rows_and_numbers, hooks_of_a_part, hooks_of_the_node,
    in_batches, not_recorded,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_parts_have_pytorchs_gradients(program: Any, oracle: Any) -> None:
    assert program(tensorbus) == oracle(program)


def test_parts_are_joined_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tensorbus.ones(4, 6, requires_grad=True)
    kind, calls = x._k, []

    def counted(name: str) -> Any:
        kernel = getattr(kind, name)
        return lambda *args, **out: calls.append(name) or kernel(*args, **out)

    for name in ("concatenate", "slice_backward", "select_backward", "add", "zeros"):
        monkeypatch.setattr(kind, name, counted(name))
    a, b, c = x.split(2, 1)
    tensorbus.autograd.backward([a, b, c], [tensorbus.ones(4, 2)] * 3)
    assert calls == ["concatenate"]
    assert x.grad is not None
    assert x.grad.tolist() == [[1.0] * 6] * 4

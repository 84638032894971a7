"""Collectives with gradients: values and gradients of both orders, against matrices.

Each collective is linear in what all ranks give, so a table of what each rank gets from each,
worked out here without any, says its values, its gradients and theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
import tensorbus.distributed.nn as dnn

N, SIZE = 3, 6
"""Ranks, and elements of each rank's operand."""
EYE, NONE = np.eye(SIZE), np.zeros((SIZE, SIZE))
THIRD = [EYE[2 * i : 2 * i + 2] for i in range(3)]
UNEVEN = [EYE[:1], EYE[1:3], EYE[3:]]
"""What ranks 0, 1 and 2 get of an operand that is sent in parts of 1, 2 and 3 elements."""

Matrix = Callable[[int, int], Any]
CASES: dict[str, tuple[Callable[[Any, int], Any], Matrix]] = {
    # what a rank computes of its operand, and the matrix by which its result depends on rank j's
    "broadcast": (lambda x, r: dnn.broadcast(x, 1), lambda r, j: EYE * (j == 1)),
    "reduce": (lambda x, r: dnn.reduce(x, 2) * (r == 2), lambda r, j: EYE * (r == 2)),
    "reduce, average": (
        lambda x, r: dnn.reduce(x, 0, dist.ReduceOp.AVG) * (r == 0),
        lambda r, j: EYE / N * (r == 0),
    ),
    "all_reduce": (lambda x, r: dnn.all_reduce(x), lambda r, j: EYE),
    "all_reduce, average": (
        lambda x, r: dnn.all_reduce(x, dist.ReduceOp.AVG),
        lambda r, j: EYE / N,
    ),
    "all_gather": (
        lambda x, r: torch.cat(dnn.all_gather(x)),
        lambda r, j: np.concatenate([EYE * (i == j) for i in range(N)]),
    ),
    "gather": (
        lambda x, r: torch.cat(dnn.gather(x, 1)),
        lambda r, j: np.concatenate([EYE * (i == j and r == 1) for i in range(N)]),
    ),
    "scatter": (
        lambda x, r: dnn.scatter([x * (i + 1) for i in range(N)], 1),
        lambda r, j: EYE * (r + 1) * (j == 1),
    ),
    "reduce_scatter": (
        lambda x, r: dnn.reduce_scatter(x.new_empty(2), x.chunk(3)),
        lambda r, j: THIRD[r],
    ),
    "reduce_scatter, average of uneven parts": (
        lambda x, r: dnn.reduce_scatter(
            x.new_empty(r + 1), [x[:1], x[1:3], x[3:]], dist.ReduceOp.AVG
        ),
        lambda r, j: UNEVEN[r] / N,
    ),
    "all_to_all": (
        lambda x, r: torch.cat(
            dnn.all_to_all([x.new_empty(r + 1) for _ in range(N)], [x[:1], x[1:3], x[3:]])
        ),
        lambda r, j: np.concatenate([UNEVEN[r] * (i == j) for i in range(N)]),
    ),
    "all_to_all_single": (
        lambda x, r: dnn.all_to_all_single(torch.empty_like(x), x),
        lambda r, j: np.concatenate([THIRD[r] * (i == j) for i in range(N)]),
    ),
    "all_to_all_single, uneven": (
        lambda x, r: dnn.all_to_all_single(
            x.new_empty(N * (r + 1)), x, [r + 1] * N, [1, 2, 3]
        ),
        lambda r, j: np.concatenate([UNEVEN[r] * (i == j) for i in range(N)]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_matrices(name: str) -> None:
    run, matrix = CASES[name]
    given = [np.arange(1.0, SIZE + 1) + 10 * r for r in range(N)]

    def rank() -> Any:
        r = dist.get_rank()
        x = torch.tensor(given[r], requires_grad=True)
        y = run(x, r)
        weights = torch.arange(1.0, y.numel() + 1, dtype=torch.float64) + r
        (g,) = torch.autograd.grad((y * y * weights).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((g * g).sum(), x)
        return [t.detach().numpy() for t in (y, weights, g, second, x)]

    found = dist.local.run(rank, N)
    m = [[np.asarray(matrix(r, j)) for j in range(N)] for r in range(N)]
    values = [sum(m[r][j] @ given[j] for j in range(N)) for r in range(N)]
    # The total over all ranks is the sum of w y^2, of which these are the two derivatives.
    hessian = [
        [sum(m[r][i].T @ np.diag(2 * found[r][1]) @ m[r][j] for r in range(N)) for j in range(N)]
        for i in range(N)
    ]
    first = [sum(hessian[i][j] @ given[j] for j in range(N)) for i in range(N)]
    for i, (y, _, g, second, x) in enumerate(found):
        np.testing.assert_allclose(y, values[i], rtol=1e-14)
        np.testing.assert_allclose(g, first[i], rtol=1e-14)
        np.testing.assert_allclose(
            second, sum(2 * hessian[j][i].T @ first[j] for j in range(N)), rtol=1e-13
        )
        np.testing.assert_array_equal(x, given[i])  # what is sent stays as it was


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "reduce_scatter"])
def test_on_another_device(device: str, name: str) -> None:
    run, _ = CASES[name]

    def rank(device: str) -> list[float]:
        x = torch.arange(6.0, device=device).add(dist.get_rank()).requires_grad_()
        y = run(x, dist.get_rank())
        assert y.device.type == x.device.type
        (y * y).sum().backward()
        assert x.grad is not None and x.grad.device.type == x.device.type
        return [*y.tolist(), *x.grad.tolist()]

    assert dist.local.run(rank, N, (device,)) == dist.local.run(rank, N, ("cpu",))


def test_outputs_are_written_and_have_no_history() -> None:
    def rank() -> Any:
        x, out = torch.ones(4, requires_grad=True), torch.zeros(4)
        made = dnn.all_to_all_single(out, x * (dist.get_rank() + 1.0))
        return out.tolist(), out.requires_grad, made.requires_grad, made.tolist()

    want = [1.0, 1.0, 2.0, 2.0]
    assert dist.local.run(rank, 2) == [(want, False, True, want)] * 2


def test_a_group_of_some_ranks() -> None:
    def rank() -> Any:
        group = dist.new_group([0, 2])
        if dist.get_rank() == 1:
            with pytest.warns(UserWarning, match="does not belong"), pytest.raises(RuntimeError):
                dnn.all_reduce(torch.ones(1), group=group)
            return None
        x = torch.ones(1, requires_grad=True)
        y = dnn.broadcast(x * (dist.get_rank() + 1), 2, group)
        y.backward()
        assert x.grad is not None
        return y.item(), x.grad.item()

    assert dist.local.run(rank, 3) == [(3.0, 0.0), None, (3.0, 6.0)]


@pytest.mark.parametrize("op", ["MAX", "PRODUCT"])
def test_ops_without_a_gradient_say_so(op: str) -> None:
    def rank() -> Any:
        x = torch.tensor([dist.get_rank() + 2.0], requires_grad=True)
        y = dnn.all_reduce(x, dist.ReduceOp[op])
        with pytest.raises(RuntimeError, match=f"ReduceOp.{op} has no gradient"):
            y.backward()
        return y.item()

    assert dist.local.run(rank, 2) == [{"MAX": 3.0, "PRODUCT": 6.0}[op]] * 2


def test_shapes_that_differ_are_refused() -> None:
    def rank() -> None:
        with pytest.raises(ValueError, match="all tensors must have one shape"):
            dnn.scatter([torch.ones(1), torch.ones(2)])
        with pytest.raises(TypeError, match="input_list"):
            dnn.reduce_scatter(torch.ones(1), torch.ones(1))  # type: ignore[arg-type]

    dist.local.run(rank, 2)

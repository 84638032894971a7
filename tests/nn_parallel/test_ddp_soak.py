"""Random programs: which branches are used where, what is accumulated, how buckets are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn
from tensorbus.nn.parallel import DistributedDataParallel as DDP

BRANCHES = 5
Grads = list[np.ndarray | None]


class Plan:
    """What all ranks do: for each pass whether it is synchronised, and each rank's branches."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.size = int(rng.integers(2, 5))
        self.shapes = [tuple(rng.integers(1, 5, rng.integers(1, 4))) for _ in range(BRANCHES)]
        self.options = {
            "find_unused_parameters": True,
            "bucket_cap_mb": float(rng.choice([1e-6, 1e-4, 25])),
            "gradient_as_bucket_view": bool(rng.integers(2)),
        }
        self.passes = []
        for _ in range(6):
            used = [
                sorted(rng.choice(BRANCHES, rng.integers(1, BRANCHES + 1), replace=False))
                for _ in range(self.size)
            ]
            self.passes.append((bool(rng.integers(3)), int(rng.integers(3)), used))

    def gradient(self, step: int, rank: int, branch: int) -> np.ndarray:
        """The gradient of a branch in one pass."""
        rng = np.random.default_rng([step, rank, branch])
        return rng.standard_normal(self.shapes[branch])

    def expected(self) -> list[list[Grads]]:
        """Each rank's gradients after each pass."""
        grads: list[Grads] = [[None] * BRANCHES for _ in range(self.size)]
        touched: set[int] = set()
        history = []
        for step, (sync, clear, used) in enumerate(self.passes):
            for rank, branches in enumerate(used):
                if clear == 1:
                    grads[rank] = [None] * BRANCHES
                elif clear == 2:
                    grads[rank] = [None if g is None else np.zeros_like(g) for g in grads[rank]]
                for b in branches:
                    before, new = grads[rank][b], self.gradient(step, rank, b)
                    grads[rank][b] = new if before is None else before + new
                    touched.add(b)
            if sync:
                for b in touched:
                    total = sum(g[b] if g[b] is not None else 0.0 for g in grads)
                    for g in grads:
                        g[b] = total / self.size
                touched = set()
            history.append([list(g) for g in grads])
        return history


class Net(nn.Module):
    def __init__(self, plan: Plan):
        super().__init__()
        self.branches = nn.ParameterList([nn.Parameter(tb.ones(*s).double()) for s in plan.shapes])

    def forward(self, weights: dict[int, Any]) -> Any:
        return {b: (self.branches[b] * w).sum() for b, w in weights.items()}


@pytest.mark.parametrize("seed", range(12))
def test_gradients_after_every_pass(seed: int) -> None:
    plan = Plan(seed)

    def run_pass(ddp: Any, step: int, branches: list[int]) -> None:
        me = dist.get_rank()
        weights = {int(b): tb.from_numpy(plan.gradient(step, me, b)) for b in branches}
        sum(ddp(weights).values()).backward()

    def rank() -> list[Grads]:
        ddp = DDP(Net(plan), **plan.options)
        history = []
        for step, (sync, clear, used) in enumerate(plan.passes):
            if clear:
                tb.optim.SGD(ddp.parameters()).zero_grad(set_to_none=clear == 1)
            branches = used[dist.get_rank()]
            if sync:
                run_pass(ddp, step, branches)
            else:
                with ddp.no_sync():
                    run_pass(ddp, step, branches)
            history.append([None if p.grad is None else p.grad.numpy().copy()
                            for p in ddp.module.branches])  # fmt: skip
        return history

    want = plan.expected()
    for me, history in enumerate(dist.local.run(rank, plan.size, timeout=60)):
        for step, grads in enumerate(history):
            for b, got in enumerate(grads):
                wanted = want[step][me][b]
                where = f"pass {step}, rank {me}, branch {b}"
                assert (got is None) == (wanted is None), where
                if got is not None:
                    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12, err_msg=where)

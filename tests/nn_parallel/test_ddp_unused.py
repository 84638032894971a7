"""Parameters that a forward did not use, on all ranks or on some."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn
from tensorbus.nn.parallel import DistributedDataParallel as DDP


def run(rank: Callable[[], Any], size: int = 2, **options: Any) -> list[Any]:
    return dist.local.run(rank, size, timeout=options.pop("timeout", 60), **options)


def both(rank: Callable[[], Any], size: int = 2) -> list[str]:
    """The messages of RuntimeErrors that every rank raises."""

    def caught() -> str:
        with pytest.raises(RuntimeError) as e:
            rank()
        return str(e.value)

    return run(caught, size)


class Branches(nn.Module):
    """Each rank may use other branches."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList([nn.Linear(1, 1, bias=False) for _ in range(3)])
        with tb.no_grad():
            for b in self.branches:
                b.weight.fill_(1.0)

    def forward(self, x: Any, *which: int) -> Any:
        return sum(self.branches[i](x) for i in which)


def grads(ddp: Any) -> list[float | None]:
    return [None if p.grad is None else p.grad.item() for p in ddp.parameters()]


@pytest.mark.parametrize("view", [False, True])
def test_parameters_that_only_some_ranks_use(view: bool) -> None:
    def rank() -> Any:
        ddp = DDP(Branches(), find_unused_parameters=True, gradient_as_bucket_view=view)
        x = tb.ones(1, 1)
        ddp(x, 0, dist.get_rank()).sum().backward()
        first = grads(ddp)
        ddp(x * 2, 1).sum().backward()
        return first, grads(ddp)

    for first, second in run(rank):
        assert first == [1.5, 0.5, None]  # 2 on rank 0 and 1 on rank 1; only rank 1 uses 1
        assert second == [1.5, 2.5, None]


def test_unused_parameters_without_the_search_are_told_in_the_next_forward() -> None:
    told = threading.Barrier(2)

    def rank() -> Any:
        ddp = DDP(Branches(), bucket_cap_mb=1e-6)
        ddp(tb.ones(1, 1), 0, 2).sum().backward()
        try:
            ddp(tb.ones(1, 1), 0, 2)
        finally:
            told.wait(60)  # else the other may be told that this one left

    for r, text in enumerate(both(rank)):
        assert text.startswith(
            "Expected to have finished reduction in the prior iteration before starting a new one. "
            "This error indicates that your module has parameters that were not used in producing "
            "loss. You can enable unused parameter detection by passing the keyword argument "
            "`find_unused_parameters=True`"
        )
        assert f"did not receive grad for rank {r}: branches.1.weight\n" in text
        assert text.endswith(f"Parameter indices which did not receive grad for rank {r}: 1")


def test_outputs_that_do_not_take_part_in_the_loss_are_told() -> None:
    class Two(Branches):
        def forward(self, x: Any) -> Any:  # type: ignore[override]
            return [self.branches[0](x), (self.branches[1](x), self.branches[2](x))]

    def rank() -> Any:
        ddp = DDP(Two(), find_unused_parameters=True)
        ddp(tb.ones(1, 1))[0].sum().backward()
        ddp(tb.ones(1, 1))

    assert "not all `forward` outputs participate in computing loss" in both(rank)[0]


def test_a_parameter_used_outside_of_forward_is_told() -> None:
    def rank() -> Any:
        ddp = DDP(Branches(), find_unused_parameters=True)
        loss = ddp(tb.ones(1, 1), 0).sum() + (ddp.module.branches[1].weight ** 2).sum()
        loss.backward()

    text = both(rank)[0]
    assert "Expected to mark a variable ready only once." in text
    assert "Parameter at index 1 with name branches.1.weight" in text


def test_static_graph() -> None:
    def rank() -> Any:
        ddp = DDP(Branches(), static_graph=True)
        x, me = tb.ones(1, 1), dist.get_rank()
        seen = []
        for _ in range(3):
            ddp.zero_grad()
            ddp(x, 0, me).sum().backward()
            seen.append(grads(ddp))
        with pytest.raises(RuntimeError, match="unused in first iteration, but then got used"):
            ddp(x, 2).sum().backward()
        with pytest.raises(RuntimeError, match="used in first iteration, but then got unused"):
            ddp(x, 0)
        return seen

    for got in run(rank):
        assert got == [[1.5, 0.5, None]] * 3

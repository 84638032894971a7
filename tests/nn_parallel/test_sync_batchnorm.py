"""SyncBatchNorm on parts of a batch is BatchNorm on the whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as tb
import tensorbus.distributed as dist
from tensorbus import nn
from tensorbus.nn.parallel import DistributedDataParallel as DDP

RNG = np.random.default_rng(0)
WEIGHT, BIAS = np.linspace(0.5, 2, 3), np.linspace(-1, 1, 3)


def reference(torch: Any, x: np.ndarray, g: np.ndarray, steps: int, momentum: float | None) -> Any:
    kinds = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}
    norm = kinds[x.ndim](x.shape[1], momentum=momentum).double()
    with torch.no_grad():
        norm.weight.copy_(torch.from_numpy(WEIGHT))
        norm.bias.copy_(torch.from_numpy(BIAS))
    for _ in range(steps):
        norm.zero_grad()
        given = torch.from_numpy(x.copy()).requires_grad_()
        out = norm(given)
        out.backward(torch.from_numpy(g))
    return {
        "out": out.detach().numpy(),
        "grad": given.grad.numpy(),
        "weight": norm.weight.grad.numpy(),
        "bias": norm.bias.grad.numpy(),
        "mean": norm.running_mean.numpy(),
        "var": norm.running_var.numpy(),
    }


def ours(x: np.ndarray, g: np.ndarray, cuts: list[int], steps: int, momentum: Any) -> list[Any]:
    """Each rank's results on its rows."""

    def rank() -> Any:
        part = slice(cuts[dist.get_rank()], cuts[dist.get_rank() + 1])
        norm = nn.SyncBatchNorm(x.shape[1], momentum=momentum).double()
        with tb.no_grad():
            norm.weight.copy_(tb.from_numpy(WEIGHT))
            norm.bias.copy_(tb.from_numpy(BIAS))
        for _ in range(steps):
            norm.zero_grad()
            given = tb.from_numpy(x[part].copy()).requires_grad_()
            out = norm(given)
            out.backward(tb.from_numpy(g[part].copy()))
        return {
            "out": out.detach().numpy(),
            "grad": given.grad.numpy(),
            "weight": norm.weight.grad.numpy(),
            "bias": norm.bias.grad.numpy(),
            "mean": norm.running_mean.numpy(),
            "var": norm.running_var.numpy(),
        }

    return dist.local.run(rank, len(cuts) - 1, timeout=60)


@pytest.mark.parametrize("shape", [(8, 3), (8, 3, 5), (8, 3, 4, 2)])
@pytest.mark.parametrize("cuts", [[0, 4, 8], [0, 1, 8], [0, 0, 8], [0, 2, 3, 6, 8]])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_equals_batch_norm_on_the_whole(
    shape: tuple[int, ...], cuts: list[int], momentum: float | None, oracle: Any
) -> None:
    rng = np.random.default_rng(len(shape))
    x, g = rng.standard_normal(shape) * 3 + 5, rng.standard_normal(shape)
    want = oracle(lambda torch: reference(torch, x, g, 2, momentum))
    got = ours(x, g, cuts, 2, momentum)
    for name in ("out", "grad"):
        whole = np.concatenate([r[name] for r in got])
        np.testing.assert_allclose(whole, want[name], rtol=1e-11, atol=1e-11, err_msg=name)
    for name in ("weight", "bias"):  # the ranks' own sums
        total = sum(r[name] for r in got)
        np.testing.assert_allclose(total, want[name], rtol=1e-11, atol=1e-11, err_msg=name)
    for r in got:
        for name in ("mean", "var"):
            np.testing.assert_allclose(r[name], want[name], rtol=1e-12, err_msg=name)


def test_training_under_ddp_equals_one_process() -> None:
    x = tb.from_numpy(RNG.standard_normal((8, 2, 5, 5)))
    y = tb.from_numpy(RNG.standard_normal((8, 3)))

    def net() -> Any:
        tb.manual_seed(3)
        return nn.Sequential(
            nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3)
        ).double()

    def train(model: Any, x: Any, y: Any) -> Any:
        optimizer = tb.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            ((model(x) - y) ** 2).mean().backward()
            optimizer.step()
        return [t.detach().numpy().copy() for t in model.state_dict().values()]

    made = [net() for _ in range(5)]
    want = train(made.pop(), x, y)

    def rank() -> Any:
        me = dist.get_rank()
        ddp = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(made[me]))
        return train(ddp, x[me * 2 : me * 2 + 2], y[me * 2 : me * 2 + 2])

    for got in dist.local.run(rank, 4, timeout=60):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)


def test_half_widths_are_computed_in_float32() -> None:
    def rank() -> Any:
        me = dist.get_rank()
        norm = nn.SyncBatchNorm(1)
        x = tb.tensor([[300.0 + me], [302.0 + me]], dtype=tb.float16, requires_grad=True)
        out = norm(x)
        (out.float() * tb.tensor([[1.0], [0.0]])).sum().backward()
        assert out.dtype is x.grad.dtype is tb.float16
        return out.float().tolist(), norm.running_var.item()

    for me, (out, var) in enumerate(dist.local.run(rank, 2, timeout=60)):
        want = (np.array([[300.0], [302.0]]) + me - 301.5) / np.sqrt(1.25)
        np.testing.assert_allclose(out, want, rtol=1e-3)
        assert var == pytest.approx(0.9 + 0.1 * 1.25 * 4 / 3)


def test_outside_of_a_job_and_in_evaluation_it_is_batch_norm() -> None:
    x = tb.from_numpy(RNG.standard_normal((6, 2, 3)))
    plain, sync = nn.BatchNorm1d(2).double(), nn.SyncBatchNorm(2).double()
    assert bool((plain(x) == sync(x)).all())
    assert bool((plain.running_var == sync.running_var).all())

    def rank() -> bool:
        if dist.get_rank() == 0:  # no communication: the other rank does nothing
            sync.eval()
            plain.eval()
            return bool((plain(x) == sync(x)).all())
        return True

    assert dist.local.run(rank, 2, timeout=60) == [True, True]


def test_no_affine_no_statistics_and_groups() -> None:
    x = RNG.standard_normal((8, 3))

    def rank() -> Any:
        me = dist.get_rank()
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        norm = nn.SyncBatchNorm(
            3, affine=False, track_running_stats=False, process_group=groups[me // 2]
        )
        assert norm.running_mean is None
        return norm(tb.from_numpy(x[me * 2 : me * 2 + 2])).numpy()

    got = dist.local.run(rank, 4, timeout=60)
    for pair in (0, 2):
        half = x[pair * 2 : pair * 2 + 4]
        want = (half - half.mean(0)) / np.sqrt(half.var(0) + 1e-5)
        np.testing.assert_allclose(np.concatenate(got[pair : pair + 2]), want, atol=1e-6)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"expected at least 2D input \(got 1D input\)"):
        nn.SyncBatchNorm(3)(tb.ones(3))
    with pytest.raises(ValueError, match="number of input channels should be non-zero"):
        nn.SyncBatchNorm(0)(tb.ones(3, 0))

    def rank() -> None:
        with pytest.raises(ValueError, match="all ranks together have 1; this one has an input of"):
            nn.SyncBatchNorm(2)(tb.ones(dist.get_rank(), 2))
        with pytest.raises(RuntimeError, match="of 2 features got an input of size"):
            nn.SyncBatchNorm(2)(tb.ones(4, 3))

    dist.local.run(rank, 2, timeout=60)


def test_conversion_keeps_tensors_names_and_sharing() -> None:
    shared = nn.BatchNorm2d(4, momentum=0.3)
    net = nn.Sequential(nn.Sequential(shared, nn.ReLU()), shared, nn.BatchNorm1d(2, affine=False))
    net.eval()
    keys = list(net.state_dict())
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert made is net
    assert made[0][0] is made[1]
    assert type(made[1]) is type(made[2]) is nn.SyncBatchNorm
    assert made[1].weight is shared.weight
    assert made[1].running_var is shared.running_var
    assert made[1].momentum == 0.3
    assert not made[1].training
    assert list(made.state_dict()) == keys
    assert type(nn.SyncBatchNorm.convert_sync_batchnorm(shared)) is nn.SyncBatchNorm

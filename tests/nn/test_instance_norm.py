"""Instance normalisation beside PyTorch: what it refuses, warns of, and keeps."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tensorbus


def outcomes(torch: Any) -> dict[str, Any]:
    nn, ones = torch.nn, torch.ones
    old = {"running_mean": ones(3), "running_var": ones(3)}
    return {
        "rank": lambda: nn.InstanceNorm1d(3)(ones(2, 3, 4, 5)),
        "rank of planes": lambda: nn.InstanceNorm2d(3)(ones(3, 4)),
        "rank of volumes": lambda: nn.InstanceNorm3d(3)(ones(3, 4, 5)),
        "channels": lambda: nn.InstanceNorm2d(3, affine=True)(ones(2, 4, 5, 5)),
        "channels without a batch": lambda: nn.InstanceNorm1d(3, affine=True)(ones(4, 5)),
        "one element": lambda: nn.InstanceNorm2d(3)(ones(2, 3, 1, 1)),
        "old statistics": lambda: nn.InstanceNorm2d(3).load_state_dict(old),
        "unknown channels": lambda: nn.InstanceNorm2d(3)(ones(2, 4, 5, 5)).shape,
    }


@pytest.mark.parametrize("case", outcomes(tensorbus))
def test_as_pytorch(case: str, oracle: Any) -> None:
    def program(torch: Any) -> Any:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                made = list(outcomes(torch)[case]())
            except (RuntimeError, ValueError) as error:
                made = [type(error).__name__, str(error)]
        return made, [str(w.message) for w in found]

    assert [*program(tensorbus)] == [*oracle(program)]


def test_estimates_are_used_in_evaluation():
    tensorbus.manual_seed(0)
    net = tensorbus.nn.InstanceNorm1d(2, momentum=1.0, track_running_stats=True)
    x = tensorbus.randn(3, 2, 50) * 2 + 1
    net(x)
    assert net.num_batches_tracked == 0
    tensorbus.testing.assert_close(net.running_mean, x.mean(2).mean(0))
    tensorbus.testing.assert_close(net.running_var, x.var(2).mean(0))
    y = net.eval()(x)
    wanted = (x - net.running_mean[:, None]) / (net.running_var[:, None] + 1e-5).sqrt()
    tensorbus.testing.assert_close(y, wanted)

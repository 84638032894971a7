"""Libraries for any array compute with our tensors, on the tensors' device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import array_api_compat
import pytest

import tensorbus as torch
from tensorbus import array_api

EXAMPLE = Path(__file__).parents[2] / "examples" / "array_api.py"

SCIPY = """
import numpy as np, scipy.special, scipy.stats, scipy.integrate, scipy.cluster
import tensorbus as torch
x = np.random.default_rng(0).uniform(0.5, 2.0, (6, 4)).astype("float32")
for device in ("cpu", "strict"):
    t = torch.asarray(x, device=device)
    for f in (
        lambda a: scipy.special.logsumexp(a, axis=1),
        lambda a: scipy.special.softmax(a, axis=0),
        scipy.special.expit, scipy.special.gammaln, scipy.special.erf,
        lambda a: scipy.special.xlogy(a, a),
        scipy.stats.zscore, scipy.stats.skew, scipy.stats.gmean, scipy.stats.variation,
        lambda a: scipy.stats.moment(a, 2), scipy.integrate.trapezoid,
        scipy.cluster.vq.whiten,
    ):
        made = f(t)
        assert isinstance(made, torch.Tensor) and made.device == t.device, (f, made)
        np.testing.assert_allclose(made.cpu().numpy(), f(x), 2e-5, 1e-6)
print("computed")
"""


def output(*command: str) -> str:
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_array_api_compat_recognises_tensors() -> None:
    x = torch.ones(2, 3)
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.array_namespace(x, torch.zeros(2)) is array_api
    assert array_api_compat.device(x) == x.device and array_api_compat.size(x) == 6
    assert array_api_compat.to_device(x, "strict").device == torch.device("strict:0")
    assert array_api_compat.is_writeable_array(x)
    with pytest.raises(TypeError, match="Multiple namespaces"):
        array_api_compat.array_namespace(x, x.numpy())


@pytest.mark.slow
def test_scipy_computes_where_the_tensors_are() -> None:
    assert output("-c", SCIPY) == "computed\n"


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_the_example_with_scikit_learn(device: str) -> None:
    first, second = output(str(EXAMPLE), device).splitlines()
    assert first == f"Tensor (200, 3) on {device}"
    assert second == "explained: 0.986, score: 0.993"

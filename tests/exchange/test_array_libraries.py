"""Libraries for any array compute with our tensors, on the tensors' device."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import array_api_compat
import numpy as np
import pytest
import scientific_programs as programs
from array_api_comparison import failures

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
    assert array_api_compat.array_namespace(x, 1.0, None) is array_api
    assert array_api_compat.array_namespace(x, use_compat=False) is array_api
    assert not array_api_compat.is_lazy_array(x)
    for library in ("numpy", "torch", "jax", "cupy", "dask", "ndonnx", "pydata_sparse"):
        assert not getattr(array_api_compat, f"is_{library}_array")(x)
        assert not getattr(array_api_compat, f"is_{library}_namespace")(array_api)
    assert not array_api_compat.is_array_api_strict_namespace(array_api)
    with pytest.raises(TypeError, match="Multiple namespaces"):
        array_api_compat.array_namespace(x, x.numpy())


@pytest.mark.slow
def test_scipy_computes_where_the_tensors_are() -> None:
    assert output("-c", SCIPY) == "computed\n"


def stated() -> dict[str, list[list[str]]]:
    """The table of docs/exchange.md: what runs on any device, on ``cpu`` alone, and not."""
    page = (EXAMPLE.parents[1] / "docs" / "exchange.md").read_text("utf-8")
    rows = re.findall(r"^\| `((?:scipy|sklearn)\.\S+)` \|(.*)\|(.*)\|(.*)\|$", page, re.M)
    return {room: [[f for f in c.strip().split(", ") if f] for c in cells] for room, *cells in rows}


@pytest.mark.slow
def test_the_page_says_what_scipy_and_scikit_learn_compute(device: str) -> None:
    for library, version in (("scipy", "1.17."), ("scikit-learn", "1.9.")):
        if not metadata.version(library).startswith(version):
            pytest.skip(f"docs/exchange.md is of {library} {version}x")
    found = json.loads(output(programs.__file__, device))
    wanted = {
        room: {f: at == 0 or (at == 1 and device == "cpu") for at in range(3) for f in cells[at]}
        for room, cells in stated().items()
    }
    assert programs.summary(found) == wanted, {k: v for k, v in found.items() if v != "ok"}
    assert sum(map(len, wanted.values())) > 200


EXTRA = (
    "at(x)[:, 0].set(7.0)", "at(x)[0, :].add(1.0)", "at(x)[x > 1].multiply(2.0)",
    "atleast_nd(x, ndim=3)", "cov(x)", "create_diagonal(x[0, :], offset=1)", "isclose(x, x + 1)",
    "expand_dims(x, axis=(0, -1))", "kron(x, x)", "nunique(xp.round(x))", "pad(x, 1)", "sinc(x)",
    "one_hot(xp.asarray([0, 2, 1]), 3)", "setdiff1d(xp.arange(5), xp.arange(3))",
    "apply_where(x > 1, x, lambda a: a * 2, fill_value=0.0)", "broadcast_shapes((2, 1), (3,))",
    "partition(x, 1)", "default_dtype(xp) == xp.float64", "angle(xp.asarray([1j]))",
    "union1d(xp.arange(3), xp.arange(5))", "nan_to_num(xp.asarray([xp.nan, xp.inf]))",
)  # fmt: skip


def test_array_api_extra_computes_with_tensors() -> None:
    extra = pytest.importorskip("array_api_extra")
    values = np.random.default_rng(0).uniform(0.5, 2.0, (3, 4))
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        found = failures(EXTRA, lambda xp: {**vars(extra), "x": xp.asarray(values), "np": np})
    finally:
        torch.set_default_dtype(before)
    assert found == []
    x = torch.asarray(values.astype("float32"), device="strict")
    for program in EXTRA[:4]:
        names = {**vars(extra), "xp": array_api, "x": x}
        torch.set_default_device("strict")
        try:
            assert eval(program, names).device == x.device
        finally:
            torch.set_default_device(None)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_the_example_with_scikit_learn(device: str) -> None:
    first, second = output(str(EXAMPLE), device).splitlines()
    assert first == f"Tensor (200, 3) on {device}"
    assert second == "explained: 0.986, score: 0.993"

"""The example plugins keep what they promise: their imports, their size, their results.

``scripts/plugins`` builds their wheels and runs the suite on them in an empty environment.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus import discovery
from tensorbus._device.device import device as Device
from tensorbus._dispatch import fallback, kinds
from tensorbus._dispatch import resolve as dispatch
from tensorbus.nn import functional as F
from tensorbus.plugin import PRIMITIVES, float32
from tensorbus_conformance import all_cases, exceptions, run

PLUGINS = Path(__file__).parents[1] / "examples" / "plugins"
TORCHCPU, GELU, JAX = "tensorbus-torchcpu", "tensorbus-fused-gelu", "tensorbus-jax"
GRAPHS = "tensorbus-c-graphs"
LIMITS = {TORCHCPU: 300, GELU: 100, JAX: 250, GRAPHS: 300}
LIBRARIES = {
    TORCHCPU: {"numpy", "torch"},
    GELU: {"numpy"},
    JAX: {"numpy", "jax"},
    GRAPHS: {"numpy"},
}


def project(name: str) -> dict[str, Any]:
    return tomllib.loads((PLUGINS / name / "pyproject.toml").read_text("utf-8"))


def files(name: str) -> list[Path]:
    return sorted((PLUGINS / name).rglob("*.py"))


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.fixture
def installed(install: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """``installed(name)``: an example as a distribution, its entries those of its project file."""

    def make(name: str) -> None:
        entries = project(name)["project"]["entry-points"]
        install(name, entries, version=project(name)["project"]["version"])
        monkeypatch.syspath_prepend(PLUGINS / name)

    return make


# -- what is in them -------------------------------------------------------------------------
def test_each_folder_is_known_here() -> None:
    assert {p.name for p in PLUGINS.iterdir() if p.is_dir()} == set(LIMITS)


@pytest.mark.parametrize("name", LIMITS)
def test_it_imports_the_plugin_interface_its_library_and_nothing_else(name: str) -> None:
    own = name.replace("-", "_")
    for file in files(name):
        for module in imported(file):
            top = module.partition(".")[0]
            if top in sys.stdlib_module_names or top in LIBRARIES[name] or top == own:
                continue
            assert module == "tensorbus.plugin" or module.startswith("tensorbus.plugin."), file


@pytest.mark.parametrize("name", LIMITS)
def test_it_is_short(name: str) -> None:
    lines = sum(len(file.read_text("utf-8").splitlines()) for file in files(name))
    assert 50 < lines < LIMITS[name]


@pytest.mark.parametrize("name", LIMITS)
def test_its_project_is_complete(name: str) -> None:
    found = project(name)
    (package,) = found["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert package == name.replace("-", "_") and (PLUGINS / name / package).is_dir()
    needed = {d.partition(">")[0] for d in found["project"]["dependencies"]}
    assert needed == {"tensorbus", *LIBRARIES[name]}
    assert found["project"]["license"] == "BSD-3-Clause"
    assert "BSD-3-Clause" in (PLUGINS / name / "README.md").read_text("utf-8")
    for entries in found["project"]["entry-points"].values():
        assert set(entries.values()) == {package}


# -- the backend -----------------------------------------------------------------------------
@pytest.fixture
def backend(installed: Callable[[str], None], live_torch: Any) -> Iterator[Any]:
    """The backend over PyTorch, found as its users find it."""
    installed(TORCHCPU)
    yield discovery.backend("torchcpu")
    kinds.forget("torchcpu")
    fallback.forget("torchcpu")


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_its_spec_is_read_without_its_library(library: str) -> None:
    name, device = {"torch": (TORCHCPU, "torchcpu"), "jax": (JAX, "jax")}[library]
    program = (
        f"import sys; from {name.replace('-', '_')} import tensorbus_backend as b; "
        f"assert b().name == '{device}' and '{library}' not in sys.modules"
    )
    folder = str(PLUGINS / name)
    subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": folder}, check=True
    )


@pytest.mark.parametrize("name", [TORCHCPU, JAX])
def test_its_known_gaps_are_about_cases_and_have_reasons(name: str) -> None:
    text = (PLUGINS / name / name.replace("-", "_") / exceptions.FILE).read_text("utf-8")
    gaps = exceptions.parse(text)
    ids = {case.id for case in all_cases()}
    assert gaps and {gap.id for gap in gaps} <= ids  # no wildcards
    assert len({gap.id for gap in gaps}) == len(gaps)


@pytest.mark.long
def test_jax_conforms(installed: Callable[[str], None]) -> None:
    pytest.importorskip("jax", reason="the example needs JAX: pip install jax")
    installed(JAX)
    report = run(discovery.backend("jax"), profile="core")
    assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:10]]
    assert report.counts()["pass"] > 25_000
    kinds.forget("jax")


def test_it_offers_every_primitive_and_every_dtype(backend: Any) -> None:
    assert all(backend.kernel(op, float32, 0) for op in PRIMITIVES)
    assert len(backend.capabilities(0).dtypes) == 12
    assert not backend.traits.negative_strides


@pytest.mark.slow
def test_it_conforms(backend: Any) -> None:
    for pattern in ("L0/*", "L1/*/bfloat16/*", "L1/*/float32/*", "L1/*/int8/*"):
        report = run(backend, level=pattern[:2], pattern=pattern)
        assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:10]]
        assert not [r.id for r in report.results if r.stale]
        assert report.counts()["pass"] > 600


def _cut(x: Any) -> Any:
    """float32 cut, not rounded, to bfloat16."""
    torch = sys.modules["torch"]
    return (x.float().view(torch.int32) >> 16).to(torch.int16).view(torch.bfloat16)


def _narrow_product(a: Any, b: Any, dtype: Any) -> Any:
    """A matrix product that rounds each partial sum to *dtype*."""
    total = 0
    for k in range(a.shape[-1]):
        total = total + a[..., :, k : k + 1].to(dtype) * b[..., k : k + 1, :].to(dtype)
    return total


MUTANTS = {
    "cut sums": ("add", lambda x, y: _cut(x.float() + y.float()), "fail", "contiguous"),
    "cut powers": ("exp", lambda x: _cut(x.float().exp()), "quality", "contiguous"),
    "half width": ("mul", lambda x, y: (x.half() * y.half()).bfloat16(), "fail", "edges"),
    "narrow matmul": ("matmul", _narrow_product, "fail", "tiles"),
}


def test_the_suite_sees_a_wrong_bfloat16(backend: Any) -> None:
    made = backend.kernel
    for op, wrong, outcome, variant in MUTANTS.values():

        def kernel(name: str, *rest: Any, op: str = op, wrong: Any = wrong) -> Any:
            return wrong if name == op else made(name, *rest)

        case = f"L1/{op}/bfloat16/{variant}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backend, "kernel", kernel)
            (result,) = run(backend, level="L1", pattern=case, gaps=[]).results
        assert (result.id, result.outcome) == (case, outcome)


def test_the_suite_sees_a_cast_to_bfloat16_that_cuts(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backend.copy_

    def copy_(dst: Any, dst_dtype: Any, src: Any, src_dtype: Any) -> None:
        cuts = dst_dtype is tensorbus.bfloat16 and src_dtype is float32
        made(dst, dst_dtype, _cut(src) if cuts else src, dst_dtype if cuts else src_dtype)

    monkeypatch.setattr(backend, "copy_", copy_)
    case = "L0/copy_/float32-bfloat16/contiguous"
    (result,) = run(backend, level="L0", pattern=case, gaps=[]).results
    assert (result.id, result.outcome) == (case, "fail")


@pytest.fixture
def no_fallback() -> Iterator[None]:
    """Ops that a device lacks are errors."""
    before = tensorbus.get_fallback()
    tensorbus.set_fallback("error")
    yield
    tensorbus.set_fallback(before)


def test_a_model_learns_in_bfloat16(backend: Any, no_fallback: None) -> None:
    tensorbus.manual_seed(0)
    nn = tensorbus.nn
    model = nn.Sequential(nn.Linear(4, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 2))
    model = model.to("torchcpu", tensorbus.bfloat16)
    x = tensorbus.randn(64, 4).to("torchcpu").to(tensorbus.bfloat16)
    y = (x.sum(1) > 0).to(tensorbus.int64)
    step = tensorbus.optim.SGD(model.parameters(), lr=0.5, momentum=0.5)
    losses = []
    for _ in range(30):
        step.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert losses[0] > 0.5 and losses[-1] < 0.1
    assert next(model.parameters()).dtype is tensorbus.bfloat16


def test_views_share_and_flips_copy(backend: Any) -> None:
    x = tensorbus.arange(6, device="torchcpu", dtype=tensorbus.bfloat16).reshape(2, 3)
    x.T[0].add_(10)
    assert x.tolist() == [[10.0, 1.0, 2.0], [13.0, 4.0, 5.0]]
    assert x.flip(1).tolist() == [[2.0, 1.0, 10.0], [5.0, 4.0, 13.0]]
    assert x.view(tensorbus.int16).to(tensorbus.int32)[0, 1].item() == 0x3F80


# -- the overlay -----------------------------------------------------------------------------
def entry(name: str) -> Callable[..., np.ndarray]:
    """What runs for a float32 op on ``cpu`` with the plugins there are now."""
    return dispatch.resolve(kinds.kind_of(Device("cpu"), float32), name)


@pytest.fixture
def both(installed: Callable[[str], None]) -> Callable[[str], dict[str, Callable[..., Any]]]:
    """``both(op)``: its composition and the overlay's kernel."""

    def make(op: str) -> dict[str, Callable[..., Any]]:
        discovery.reset()
        composed = entry(op)
        installed(GELU)
        (spec,) = discovery.overlays("cpu", op)
        fused = spec.kernel(op, float32, 0)
        assert inspect.getclosurevars(entry(op)).nonlocals["first"] is fused
        assert composed is not fused
        return {"composed": composed, "fused": fused}

    return make


def _erf(x: np.ndarray) -> np.ndarray:
    return pytest.importorskip("scipy.special").erf(x)


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * pytest.importorskip("scipy.special").ndtr(x)


DENSE = np.concatenate(
    [np.linspace(-12, 12, 40_001), -(10.0 ** np.linspace(-38, 1, 5_001)), [0.0, -0.0, 1e30]]
).astype(np.float32)


@pytest.mark.parametrize("path", ["composed", "fused"])
def test_erf_is_exact_to_five_units(path: str, both: Any) -> None:
    got = both("erf")[path](DENSE).astype(np.float64)
    exact = _erf(DENSE.astype(np.float64))
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    assert np.max(np.abs(got - exact) / unit) < 5


@pytest.mark.parametrize("path", ["composed", "fused"])
def test_gelu_is_exact_to_units_of_its_operand(path: str, both: Any) -> None:
    got = both("gelu")[path](DENSE).astype(np.float64)
    exact = _gelu(DENSE.astype(np.float64))
    assert np.max(np.abs(got - exact) / np.spacing(np.abs(DENSE))) < 2.5


@pytest.mark.parametrize("op", ["erf", "gelu"])
def test_layouts_out_and_edges(op: str, both: Any) -> None:
    paths = both(op)
    rng = np.random.default_rng(0)
    base = rng.normal(size=(40, 900)).astype(np.float32)  # more than two blocks
    for x in (base, base.T, base[::2, ::3], base[:0], base[0, 0], np.float32(1.5)):
        want, got = paths["composed"](x), paths["fused"](x)
        assert got.dtype == np.float32 and got.shape == np.shape(x)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=3e-7)
    kept, out = base.copy(), np.zeros((80, 900), np.float32)
    for where in (out[:40], out[::2]):
        assert paths["fused"](base, out=where) is where
        np.testing.assert_array_equal(where, paths["fused"](base))
    np.testing.assert_array_equal(base, kept)
    np.testing.assert_array_equal(paths["fused"](kept, out=kept), paths["fused"](base))
    edges = np.array([np.inf, -np.inf, np.nan, 0.0, 1e38, -1e38], np.float32)
    with np.errstate(all="ignore"):
        want = paths["composed"](edges)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(paths["fused"](edges), want)


PROGRAM = """
import json, tensorbus
from tensorbus import discovery
x = tensorbus.linspace(-6, 6, 101).requires_grad_()
y = tensorbus.nn.functional.gelu(x)
y.sum().backward()
half = tensorbus.nn.functional.gelu(x.detach().to(tensorbus.float64))
print(json.dumps([len(discovery.overlays("cpu")), y.tolist(), x.grad.tolist(), half.tolist()]))
"""


def test_a_program_has_it_unless_the_variable_leaves_it_out(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    info = tmp_path / "tensorbus_fused_gelu-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {GELU}\nVersion: 0.1.0\n")
    lines = "\n".join(
        f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in entries.items())
        for group, entries in project(GELU)["project"]["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(lines)
    path = os.pathsep.join([str(tmp_path), str(PLUGINS / GELU)])
    found = {}
    for plugins in ("cpu", "cpu,overlay:fused_gelu"):
        environment = {**os.environ, "PYTHONPATH": path, "TENSORBUS_PLUGINS": plugins}
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found[plugins] = json.loads(done.stdout)
    (count, *without), (more, *with_it) = found.values()
    assert (count, more) == (0, 1)
    assert without[0] != with_it[0]  # not the same kernel
    for a, b in zip(without, with_it, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
    x = np.linspace(-6, 6, 101)
    np.testing.assert_allclose(with_it[0], _gelu(x), atol=1e-6)
    step = 1e-5
    slope = (_gelu(x + step) - _gelu(x - step)) / (2 * step)
    np.testing.assert_allclose(with_it[1], slope, atol=2e-6)

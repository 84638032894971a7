"""``tensorbus new-backend``: what its projects do, as they are and with a line written."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import cli, discovery
from tensorbus.plugin import API, float32, int64
from tensorbus_conformance import run

DEVICES = ["newlib", "newlib_bare", "newlang", "newlang_bare"]
COMPILED = "newlang"
"""Each of its kernels costs a run of the C compiler: the generator has tests of its own."""

CHIEF = ("L0/copy_/float32-int8/*", "L0/host/*", "L1/add/float32/*", "L1/matmul/int32/*")
BARE = [name for name in DEVICES if name.endswith("bare")]


def test_each_device_is_listed(projects, installed, monkeypatch):
    for name in DEVICES:
        installed(projects[name])
    monkeypatch.setenv("TENSORBUS_PLUGINS", ",".join(DEVICES))
    done = subprocess.run(
        [sys.executable, "-m", "tensorbus", "devices"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    for name in DEVICES:
        (line,) = re.findall(rf"^.*\b{name}:0 .*$", done.stdout, re.M)
        assert "usable" in line and f"tensorbus_{name} " in line


@pytest.mark.parametrize("name", [name for name in DEVICES if name != COMPILED])
def test_its_runtime_conforms(name, projects, installed):
    installed(projects[name])
    report = run(name, level="L0")
    assert len(report.results) > 50
    assert [f"{r.id}: {r.message}" for r in report.results if r.bad] == []


def test_what_the_compiler_makes_conforms(projects, installed):
    if compiler() is None:
        pytest.skip("needs a C compiler")
    package = installed(projects[COMPILED])
    replace(package / "driver.py", '"-O1"', '"-O0"')
    for pattern in CHIEF:
        report = run(COMPILED, pattern=pattern)
        assert report.results, pattern
        assert [f"{r.id}: {r.message}" for r in report.results if r.bad] == []


def test_what_the_compiler_makes_trains(projects, installed):
    if compiler() is None:
        pytest.skip("needs a C compiler")
    package = installed(projects[COMPILED])
    replace(package / "driver.py", '"-O1"', '"-O0"')
    torch.set_fallback("error")

    def train(device: str) -> list[float]:
        x = torch.tensor([[0.5, -1.0], [1.5, 2.0], [-0.5, 0.25]], device=device)
        w = torch.tensor([[0.1], [-0.2]], device=device, requires_grad=True)
        losses = []
        for _ in range(4):
            loss = ((x @ w).tanh() - x[:, :1]).square().mean()
            loss.backward()
            with torch.no_grad():
                w -= w.grad * 0.5
            w.grad = None
            losses.append(loss.item())
        return losses

    losses = train(COMPILED)
    assert losses == pytest.approx(train("cpu"), rel=1e-5)
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("name", [name for name in DEVICES if name != COMPILED])
def test_the_demo_trains_on_it(name, projects, installed, monkeypatch, tmp_path, capsys):
    from tensorbus.demo import digits, program

    whole = digits.load()
    few = digits.Digits(*(part[:n] for part, n in zip(whole, (128, 128, 50, 50), strict=True)))
    monkeypatch.setattr(digits, "load", lambda: few)
    monkeypatch.setattr(program.Program, "draw", lambda self, found: None)
    installed(projects[name])
    options = ["--device", name, "--epochs", "1", "--out", str(tmp_path / "demo")]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert cli.main(["demo", *options]) == 0
    assert "the same predictions" in capsys.readouterr().out
    fell_back = [str(w.message).split()[3] for w in told if "no kernel for" in str(w.message)]
    assert len(fell_back) == len(set(fell_back)), "one warning for each op"
    if name in BARE:
        assert {"add", "mul", "matmul", "sum", "where", "random_bits"} <= {*fell_back}
    else:
        assert fell_back == []


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.mark.parametrize("name", BARE)
def test_what_falls_back_gives_what_the_cpu_gives(name, projects, installed):
    installed(projects[name])
    torch.set_fallback("allow")
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4) / 7 - 1

    def compute(x):
        x = x.clone().requires_grad_()
        y = (x.transpose(0, 2)[:, ::2].softmax(1) @ x[0, :2, :3].sigmoid()).flip(0)
        y = torch.where(y > 0.3, y, y.exp()).cumsum(2).max(1).values
        y.sum().backward()
        z = torch.zeros(4, 3, device=x.device, dtype=torch.int16)
        z.t()[1] = x.detach().select(2, 1).reshape(-1)[:4] * 100
        z[::2, 2].add_(7)
        return y.detach(), x.grad, z, z.t().float().index_select(1, z[1].long() % 4)

    for found, expected in zip(compute(x.to(name)), compute(x), strict=True):
        assert found.device.type == name and found.stride() == expected.stride()
        np.testing.assert_allclose(found.cpu().numpy(), expected.numpy(), rtol=1e-6)


def test_a_function_becomes_a_kernel_by_its_decorator(projects, installed):
    package = installed(projects["newlib_bare"])
    file = package / "kernels" / "pointwise.py"
    text = file.read_text("utf-8")
    start = text.index("@unwritten\ndef exp(")
    end = text.index("raise NotImplementedError", start)
    written = text[start:end].replace("@unwritten", "@kernel(float32)") + "return np.exp(x, out)"
    text = text[:start] + written + text[end + len("raise NotImplementedError") :]
    text = text.replace("import Array\n", "import Array, float32\nimport numpy as np\n")
    file.write_text(text.replace("import unwritten", "import kernel, unwritten"), "utf-8")
    backend = discovery.backend("newlib_bare")
    assert backend.kernel("exp", float32, 0) is not None
    assert backend.kernel("exp", torch.float64, 0) is None
    assert backend.kernel("log", float32, 0) is None
    assert torch.zeros(2, device="newlib_bare").exp().tolist() == [1.0, 1.0]
    assert "exp on newlib_bare" not in torch.fallback_counts()


def test_an_override_comes_before_the_library(projects, installed):
    package = installed(projects["newlib"])
    file = package / "kernels" / "pointwise.py"
    with file.open("a", encoding="utf-8") as end:
        end.write("\n\nfrom tensorbus_newlib.kernels.registry import kernel\n")
        end.write("\n\n@kernel()\ndef relu(x):\n    return x * 0 + 5\n")
    assert torch.zeros(2, device="newlib").relu().tolist() == [5.0, 5.0]
    assert torch.zeros(2, device="newlib").cos().tolist() == [1.0, 1.0]
    assert torch.fallback_counts().get("cos on newlib") is None


def test_generated_kernels_come_one_by_one(projects, installed):
    if compiler() is None:
        pytest.skip("needs a C compiler")
    package = installed(projects["newlang_bare"])
    replace(package / "backend.py", "| None = frozenset()", '| None = frozenset({"add"})')
    torch.set_fallback("allow")
    x = torch.arange(6.0, device="newlang_bare").reshape(2, 3)
    assert (x.t() + 1).tolist() == [[1, 4], [2, 5], [3, 6]]
    counts = torch.fallback_counts()
    assert "add on newlang_bare" not in counts and counts["arange on newlang_bare"] == 1


def test_without_a_compiler_every_op_falls_back(projects, installed, monkeypatch):
    installed(projects["newlang"])
    monkeypatch.setattr(importlib.import_module("tensorbus_newlang.driver"), "COMPILER", None)
    assert discovery.backend("newlang").kernel("add", float32, 0) is None
    with pytest.warns(UserWarning, match="no kernel for add"):
        assert (torch.ones(3, device="newlang") + 1).tolist() == [2.0, 2.0, 2.0]


def test_what_the_compiler_refuses_is_told(projects, installed):
    if compiler() is None:
        pytest.skip("needs a C compiler")
    installed(projects["newlang"])
    driver = importlib.import_module("tensorbus_newlang.driver")
    with pytest.raises(RuntimeError, match=r"can't compile the kernel k_x:\n.*error"):
        driver.build("nonsense", "k_x", [])


@pytest.mark.parametrize(("name", "base"), [("newfast", "cpu"), ("newelsewhere", "opencl")])
def test_an_overlay_offers_its_kernel(name, base, projects, installed):
    installed(projects[name])
    (spec,) = discovery.overlays(base, "softmax")
    assert (spec.name, spec.backend, spec.api) == (name, base, API)
    assert spec.supports("softmax", float32, 0) and not spec.supports("softmax", int64, 0)
    kernel = spec.kernel("softmax", float32, 0)
    x = np.array([[0.0, 1.0, 3.0]], np.float32)
    if base == "cpu":
        expected = np.exp(x - 3) / np.exp(x - 3).sum()
        np.testing.assert_allclose(kernel(x, 1), expected, rtol=1e-6)
        assert kernel(x, 0) is NotImplemented
    else:
        assert kernel(x, 1) is NotImplemented


@pytest.mark.slow
def test_their_own_tests_pass_where_pip_has_installed_them(projects, tmp_path):
    """Wheels built by pip, without a registry, into a folder of their own."""
    if importlib.util.find_spec("pip") is None or importlib.util.find_spec("hatchling") is None:
        pytest.skip("needs pip and hatchling (extra `test`)")
    copies = [tmp_path / name for name in ("newlib", "newfast")]
    for copy in copies:
        shutil.copytree(projects[copy.name], copy)
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "-q"]
    target = ["--target", str(tmp_path / "site")]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, *target, *map(str, copies)], check=True
    )
    for copy in copies:
        package = f"tensorbus_{copy.name}"
        assert contents(tmp_path / "site" / package) == contents(copy / package)
    words = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "newlib", "newfast"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout


def contents(folder: Path) -> dict[str, bytes]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}

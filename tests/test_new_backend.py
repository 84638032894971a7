"""``tensorbus new-backend``: every kind of project works before a line of it is written."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import cli, discovery, dispatch, kinds
from tensorbus.cli import new_backend
from tensorbus.cli.project import families
from tensorbus.plugin import API, PRIMITIVES, SIGNATURES, float32, int64
from tensorbus_conformance import run

ROOT = Path(__file__).parents[1]
PROJECTS = {
    "newlib": ["--kind", "array-library"],
    "newlib_bare": ["--kind", "array-library", "--bare"],
    "newlang": ["--kind", "kernel-language"],
    "newlang_bare": ["--kind", "kernel-language", "--bare"],
    "newfast": ["--kind", "overlay"],
    "newelsewhere": ["--kind", "overlay", "--for", "opencl"],
}
DEVICES = [name for name in PROJECTS if name.startswith(("newlib", "newlang"))]
COMPILED = "newlang"
"""Each of its kernels costs a run of the C compiler: the generator has tests of its own."""

CHIEF = ("L0/copy_/float32-int8/*", "L0/host/*", "L1/add/float32/*", "L1/matmul/int32/*")
BARE = [name for name in DEVICES if name.endswith("bare")]


def make(name: str, folder: Path, *options: str) -> Path:
    project = folder / f"tensorbus-{name}"
    assert cli.main(["new-backend", name, *options, "--path", str(project)]) == 0
    return project


def metadata(project: Path) -> dict:
    return tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A project of each kind; tests do not write into them."""
    folder = tmp_path_factory.mktemp("projects")
    return {name: make(name, folder, *options) for name, options in PROJECTS.items()}


@pytest.fixture
def installed(install, tmp_path, monkeypatch):
    """``installed(project)``: a copy of the project, installed; no trace of it afterwards."""
    names = []

    def add(project: Path) -> Path:
        copy = tmp_path / project.name
        shutil.copytree(project, copy)
        about = metadata(copy)
        install(about["name"], about["entry-points"], version=about["version"])
        monkeypatch.syspath_prepend(copy)
        names.extend(entry for group in about["entry-points"].values() for entry in group)
        return copy / about["name"].replace("-", "_")

    before = torch.get_fallback()
    torch.set_fallback("warn")
    yield add
    torch.set_fallback(before)
    for name in names:
        for key in [k for k in kinds._kinds if k[0].type == name]:
            del kinds._kinds[key]
        for where in [w for w in dispatch._fell_back if w.endswith(f" on {name}")]:
            del dispatch._fell_back[where]


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


# -- what is written -------------------------------------------------------------------------
@pytest.mark.parametrize("name", PROJECTS)
def test_nothing_is_left_to_fill_in_and_lines_are_short(name, projects):
    for file in projects[name].rglob("*.*"):
        text = file.read_text("utf-8") if file.is_file() else ""
        if file.name != "conformance.yml":  # whose own language has dollars
            assert "$" not in text.replace("$(", ""), file
        assert "TODO" not in text
        if file.suffix in (".py", ".toml"):
            assert max(map(len, text.splitlines()), default=0) <= 100, file


@pytest.mark.parametrize("name", PROJECTS)
def test_the_files_are_those_that_the_readme_lists(name, projects):
    project = projects[name]
    listed = re.findall(r"^\| `([^`]+)` \|", (project / "README.md").read_text("utf-8"), re.M)
    assert len(listed) >= 6
    assert [p for p in listed if not (project / p).exists()] == []
    seen = {p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file()}
    for file in seen - {"README.md", ".gitignore"}:
        covered = any(file == p or (p.endswith("/") and file.startswith(p)) for p in listed)
        assert covered or file.endswith("py.typed"), file


def test_the_primitives_are_specified_as_in_our_own_pages(projects):
    page = (ROOT / "docs" / "primitives.md").read_text("utf-8")
    shipped = (ROOT / "core" / "tensorbus" / "plugin" / "primitives.md").read_text("utf-8")
    assert shipped == page, (
        "core/tensorbus/plugin/primitives.md is the copy of docs/primitives.md that is installed: "
        "copy it there"
    )
    for project in projects.values():
        assert (project / "PRIMITIVES.md").read_text("utf-8") == page


def test_every_primitive_is_in_one_family():
    names = [name for family in families() for name in family.primitives]
    assert sorted(names) == sorted(PRIMITIVES)


@pytest.mark.parametrize("name", ["newlib", "newlib_bare"])
def test_every_primitive_has_a_function_with_its_signature_and_text(name, projects, installed):
    package = installed(projects[name]).name
    described = {n: about for family in families() for n, about in family.primitives.items()}
    found = {}
    for family in families():
        module = importlib.import_module(f"{package}.kernels.{family.module}")
        for op, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__:
                found[op] = function
    assert sorted(found) == sorted(PRIMITIVES)
    for op, function in found.items():
        plain = [str(p.replace(annotation=p.empty)) for p in parameters(function)]
        assert f"({', '.join(plain)})".replace(" = ", "=") == SIGNATURES[op]
        dtypes, text = described[op]
        words = " ".join(function.__doc__.split())
        assert words == f"{' '.join(text.split())} Dtypes: {' '.join(dtypes.split())}"


def parameters(function) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def test_the_plugin_names_the_contract_it_was_written_for(projects):
    for name, project in projects.items():
        text = (project / f"tensorbus_{name}" / "__init__.py").read_text("utf-8")
        assert f"api={API}," in text


def test_every_option_in_readme_and_ci_is_one_of_the_suite(projects):
    words = ["conformance", "--help"]
    done = subprocess.run(
        [sys.executable, "-m", "tensorbus", *words], capture_output=True, text=True
    )
    for project in projects.values():
        for file in (project / "README.md", project / ".github/workflows/conformance.yml"):
            for line in re.findall(r"tensorbus (conformance [^`\n#]*)", file.read_text("utf-8")):
                for option in re.findall(r"(?<!\w)--?[a-z]+", line):
                    assert option in done.stdout, f"{file.name}: {line}"


def test_the_code_is_formatted_and_lint_clean(projects):
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("needs ruff (extra `test`)")
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", *map(str, projects.values())],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


def test_the_code_is_strictly_typed(projects, tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("needs mypy (extra `test`)")
    packages = [word for name in projects for word in ("-p", f"tensorbus_{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), *packages],
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, projects.values()))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# -- what it does ----------------------------------------------------------------------------
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


# -- what is refused -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Acme", "--kind", "array-library"], "'Acme' can't be the name: it begins with a small"),
        (["2b", "--kind", "array-library"], "'2b' can't be the name"),
        (["a__b", "--kind", "overlay"], "'a__b' can't be the name"),
        (["a-b", "--kind", "overlay"], "'a-b' can't be the name"),
        (["a" * 41, "--kind", "overlay"], "can't be the name"),
        (["é", "--kind", "overlay"], "'é' can't be the name"),
        (["", "--kind", "overlay"], "'' can't be the name"),
        (["cpu", "--kind", "kernel-language"], "'cpu' is taken by tensorbus"),
        (["conformance", "--kind", "array-library"], "tensorbus_conformance is installed"),
        (["x", "--kind", "overlay", "--for", "npu"], "--for npu: no plugin offers such a device"),
        (["x", "--kind", "array-library", "--for", "cpu"], "--for goes with --kind overlay"),
        (["x", "--kind", "overlay", "--bare"], "--bare goes with a backend"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(words, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new-backend", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_kind_has_to_be_said(capsys):
    with pytest.raises(SystemExit):
        cli.main(["new-backend", "x"])
    assert "--kind" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["new-backend", "--help"])
    out = capsys.readouterr().out
    assert all(kind in out for kind in new_backend.KINDS)


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_exists_is_not_overwritten(kind, tmp_path, capsys):
    taken = tmp_path / "taken"
    {
        "folder": taken.mkdir,
        "file": taken.touch,
        "link": lambda: taken.symlink_to(tmp_path / "nowhere"),
    }[kind]()
    assert cli.main(["new-backend", "x", "--kind", "overlay", "--path", str(taken)]) == 2
    assert f"{taken} exists, and nothing is overwritten" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_where_nothing_can_be_written_nothing_is_left(tmp_path, capsys):
    (tmp_path / "file").touch()
    words = ["new-backend", "x", "--kind", "overlay", "--path", str(tmp_path / "file" / "x")]
    assert cli.main(words) == 2
    assert "give a --path that you may write to" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_folders_on_the_way_are_made_and_the_next_steps_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make("x1", tmp_path / "deep" / "er", "--kind", "overlay")
    assert "tensorbus conformance cpu -k softmax" in capsys.readouterr().out
    assert cli.main(["new-backend", "x2", "--kind", "array-library"]) == 0
    assert "tensorbus conformance x2 --profile core" in capsys.readouterr().out
    assert (tmp_path / "tensorbus-x2" / "tensorbus_x2" / "backend.py").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["deep", "tensorbus-x2"]


def test_a_long_name_gives_valid_code(tmp_path):
    name = "a_" + "b" * 36 + "_c"
    for kind in new_backend.KINDS:
        project = make(name, tmp_path / kind, "--kind", kind)
        for file in project.rglob("*.py"):
            compile(file.read_text("utf-8"), str(file), "exec")
        assert metadata(project)["name"] == f"tensorbus-{name}".replace("_", "-")

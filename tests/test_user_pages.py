"""The pages for users, and the one to decide by: their examples run, their tables are complete."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tensorbus as torch
from tensorbus import cli
from tensorbus.cli.where_to_report import OURS, places
from tensorbus.discovery.metadata import BACKENDS
from tensorbus.plugin import PRIMITIVES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def text_of(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def run(page: str) -> dict[str, Any]:
    """The names that the page's Python examples leave, run one after the other."""
    names: dict[str, Any] = {"__name__": "page"}
    blocks = re.findall(r"^```python\n(.*?)^```", text_of(page), re.M | re.S)
    assert blocks
    for block in blocks:
        exec(block, names)
    return names


def shown(page: str) -> list[str]:
    """The lines that the page says are printed, in blocks of text."""
    return "".join(re.findall(r"^```text\n(.*?)^```", text_of(page), re.M | re.S)).splitlines()


# -- examples --------------------------------------------------------------------------------
def test_start(capsys):
    run("index.md")
    assert capsys.readouterr().out == "True\n"


def test_exchange(capsys):
    run("exchange.md")
    assert capsys.readouterr().out.splitlines() == shown("exchange.md")


@pytest.mark.slow
def test_conformance():
    run("conformance.md")


def test_from_pytorch(capsys):
    names = run("from-pytorch.md")
    assert names["loss"].item() < 0.3
    last, absent, device, keys, *older, sizes = capsys.readouterr().out.splitlines()
    page = text_of("from-pytorch.md")
    assert re.fullmatch(r"0\.\d\d", last) and device in ("cpu", "cuda")
    assert [absent, sizes] == shown("from-pytorch.md")
    assert f"  # {keys}\n" in page
    assert older == ["torch.FloatTensor True", "tensor([2., 3., 4., 5.])"]
    assert all(f"  # {line}\n" in page for line in older)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch", "import tensorbus as torch"),
        ("    import torch", "    import tensorbus as torch"),
        ("import torch.nn as nn", "import tensorbus.nn as nn"),
        ("import torch.nn.functional as F", "import tensorbus.nn.functional as F"),
        ("from torch import nn, optim", "from tensorbus import nn, optim"),
        ("from torch.utils.data import Dataset", "from tensorbus.utils.data import Dataset"),
        ("import torchvision", "import torchvision"),
        ("from torchtext import x", "from torchtext import x"),
        ("x = torch.ones(2)", "x = torch.ones(2)"),
    ],
)
def test_the_command_changes_import_lines_and_no_others(before, after):
    if shutil.which("sed") is None:
        pytest.skip("needs sed")
    (script,) = re.findall(r"^sed -i -E '(.*)' train.py$", text_of("from-pytorch.md"), re.M)
    done = subprocess.run(["sed", "-E", script], input=before, capture_output=True, text=True)
    assert done.stdout.rstrip("\n") == after


def test_devices(capsys):
    policy = torch.get_fallback()
    try:
        run("devices.md")
    finally:
        torch.set_fallback(policy)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "cpu" and printed[7] == "error"
    assert all(f"  # {line}\n" in text_of("devices.md") for line in printed[1:6])
    assert printed[6].startswith("tensor(..., device='meta', size=(64, 1000000), grad_fn=<Addmm")


def test_what_is_promised(capsys):
    run("security.md")
    unsafe, truncated = capsys.readouterr().out.splitlines()
    expected = shown("security.md")
    assert unsafe.startswith(expected[0].removesuffix(" ...")) and truncated == expected[1]


def test_performance(capsys):
    names = run("performance.md")
    assert 0 < names["best"] < 60
    op, keys = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"[\d.]+ µs for each op", op)
    assert [keys] == shown("performance.md")
    assert "aten::matmul" in names["table"]


def test_the_kernels_that_ops_call_are_as_many_as_the_table_says():
    page = text_of("decide.md")
    counts = run("decide.md")["counts"]
    table = dict(re.findall(r"^\| `([^`]+)`[^|]* \| (\d+) \|$", page, re.M))
    assert {*table} == {*counts} and len(counts) == 9
    for program, said in table.items():  # some room for better compositions
        assert abs(counts[program] - int(said)) <= max(2, int(said) // 4), (program, counts)
    assert f"up to {len(PRIMITIVES)} primitives" in page


def test_the_sizes_of_our_backends_are_about_those_said():
    page = text_of("decide.md")
    folders = {
        r"`cuda` over CuPy": "backends/cuda_cupy/tensorbus_cuda_cupy",
        r"`opencl`": "backends/opencl/tensorbus_opencl",
        r"`examples/plugins/tensorbus-torchcpu`": "examples/plugins/tensorbus-torchcpu",
        r"`examples/plugins/tensorbus-fused-gelu`": "examples/plugins/tensorbus-fused-gelu",
    }
    for name, folder in folders.items():
        said = int(re.search(rf"{name}: (\d+) lines", page)[1])
        files = [*(ROOT / folder).rglob("*.py")]
        assert files, folder
        lines = sum(len(p.read_text("utf-8").splitlines()) for p in files)
        assert 0.6 * lines < said < 1.4 * lines, (name, lines)


# -- environment variables -------------------------------------------------------------------
def test_every_environment_variable_is_in_the_table():
    folders = ("core", "backends", "comm_plugins", "conformance", "scripts", ".ci", "tests/support")
    files = [p for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file()]
    files = [p for p in files if p.suffix != ".pyc"]  # what follows a name there belongs to it
    texts = [p.read_bytes() for p in (*files, ROOT / "tests" / "conftest.py")]
    used = {name.decode() for text in texts for name in re.findall(rb"\bTENSORBUS_[A-Z_]+\b", text)}
    page = text_of("devices.md")
    rows = re.findall(r"^\| `(TENSORBUS_[A-Z_]+)` \|", page, re.M)
    assert len(rows) == len({*rows}) and {*rows} == used
    for text in DOCS.glob("*.md"):
        named = {*re.findall(r"\bTENSORBUS_[A-Z_]+\b", text.read_text("utf-8"))}
        assert named <= used, text.name


def test_the_policies_of_fallback_are_those_in_the_table():
    page = text_of("devices.md")
    policies = re.findall(r"^\| `(\w+)` \| ", page[page.index("| policy |") :], re.M)[:3]
    before = torch.get_fallback()
    try:
        for policy in policies:
            torch.set_fallback(policy)
        with pytest.raises(ValueError, match="error, warn or allow"):
            torch.set_fallback("never")
    finally:
        torch.set_fallback(before)
    assert sorted(policies) == ["allow", "error", "warn"]


# -- where a report goes ---------------------------------------------------------------------
def described(install, name: str, lines: str) -> None:
    path = install(name, {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": "raise OSError('gone')"})
    (metadata,) = Path(path).rglob(f"{name.replace('-', '_')}*/METADATA")
    metadata.write_text(metadata.read_text("utf-8") + lines, "utf-8")


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (
            "Project-URL: Source, place:source\nProject-URL: Issues, place:issues\n",
            "place:issues",
        ),
        ("Project-URL: Source, place:source\nAuthor-email: a@b.invalid\n", "place:source"),
        ("Author-email: Ann <a@b.invalid>\n", "Ann <a@b.invalid>"),
        ("", "its authors: its metadata names no place"),
    ],
)
def test_a_plugins_fault_goes_to_the_place_that_it_names(install, lines, place):
    described(install, "acme-npu", lines)
    assert places(["acme-npu", "tensorbus", "tensorbus-opencl"]) == {
        "tensorbus": OURS,
        "acme-npu": place,
    }


def test_doctor_says_where_a_report_goes(install, capsys, monkeypatch):
    described(install, "acme-npu", "Project-URL: Bug Tracker, place:bugs\n")
    monkeypatch.setenv("TENSORBUS_PLUGINS", "npu")
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    said = out[out.index("where a report goes:\n") :].splitlines()
    assert said[1].startswith("  tensorbus: the issue tracker of the repository")
    assert "  acme-npu: place:bugs" in said
    for page in ("README.md", "CONTRIBUTING.md"):
        assert "docs/security.md" in (ROOT / page).read_text("utf-8")
    assert "## Where a report goes\n" in text_of("security.md")

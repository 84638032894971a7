"""docs/architecture.md and docs/backends.md: what they name exists, and their examples run."""

from __future__ import annotations

import dataclasses
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import tensorbus as torch
from tensorbus.op_engine.generate import source_of
from tensorbus.plugin import KernelLanguageBackend, Traits

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
BACKENDS = (ROOT / "docs" / "backends.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", BACKENDS, re.DOTALL))

PATH = re.compile(r"`((?:core|backends|conformance|tests|docs|examples|benchmarks)/[\w./]*)`")


@pytest.mark.parametrize("page", [ARCHITECTURE, BACKENDS], ids=["architecture", "backends"])
def test_every_path_exists(page: str) -> None:
    paths = PATH.findall(page)
    assert len(paths) >= 3
    assert [p for p in paths if not (ROOT / p).exists()] == []


def test_architecture_names_every_room() -> None:
    rooms = [p for p in (ROOT / "core" / "tensorbus").iterdir() if (p / "__init__.py").exists()]
    assert [p.name for p in rooms if f"core/tensorbus/{p.name}/" not in ARCHITECTURE] == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("tensorbus.op_engine.names", "Lazy"),
        ("tensorbus.op_engine.generate", "source_of"),
        ("tensorbus._dispatch.kinds", "_first_call"),
        ("tensorbus._dispatch.resolve", "resolve"),
        ("tensorbus._dispatch.resolve", "WrongDomain"),
        ("tensorbus.op_engine.result_layouts", "pointwise"),
        ("tensorbus.op_engine.mixed_operands", "binary"),
        ("tensorbus.op_engine.failure", "failed"),
        ("tensorbus.op_engine.history", "edge_of"),
        ("tensorbus.op_engine.casting", "to_kind"),
        ("tensorbus.ops.reduce.reduction_rows", "_spread"),
        ("tensorbus._dispatch.suit_kernels", "suit_traits"),
        ("tensorbus.autograd.node", "AccumulateGrad"),
        ("tensorbus.op_engine.override", "Overriding"),
        ("tensorbus._base.modes", "RARE"),
    ],
)
def test_what_architecture_names_is_there(module: str, name: str) -> None:
    assert name in ARCHITECTURE
    assert hasattr(importlib.import_module(module), name)


def test_the_generated_text_shown_is_the_generated_text() -> None:
    shown = re.search(
        r"```python\n    def add\(x, y\):\n(.*?)\n        \.\.\.", ARCHITECTURE, re.DOTALL
    )
    assert shown is not None
    lines = [line.removeprefix("    ") for line in shown.group(1).splitlines()]
    assert "\n".join(lines) in source_of("add")


def test_the_broadcast_error_shown_is_the_one_raised() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2, 2) + torch.ones(2, 3)
    assert f"`{caught.value}`" in ARCHITECTURE


def test_every_trait_is_documented_with_its_default() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", BACKENDS, re.MULTILINE))
    assert table == {f.name: str(f.default) for f in dataclasses.fields(Traits)}


def test_every_method_of_a_kernel_language_is_documented() -> None:
    own = {"dialect", "alloc", "upload", "download", "build", "finish"}
    assert own == {
        name
        for name, f in vars(KernelLanguageBackend).items()
        if callable(f) and "NotImplementedError" in f.__code__.co_names
    }
    assert all(re.search(rf"^\| `{name}\(", BACKENDS, re.MULTILINE) for name in own)


def example(name: str) -> Any:
    namespace: dict[str, Any] = {"__name__": name}
    exec(EXAMPLES[name], namespace)
    return next(v for k, v in namespace.items() if k.endswith("Device") and v.__module__ == name)()


@pytest.mark.parametrize("name", ["array_device", "tuned_device"])
def test_the_example_devices_compute(name: str, plug: Any) -> None:
    device = plug(example(name))
    x = torch.tensor([[0.0, 1.0], [2.0, 3.0]], device=device, requires_grad=True)
    y = (x.sigmoid() @ x).sum()
    y.backward()
    plain = x.detach().cpu().requires_grad_()
    expected = (plain.sigmoid() @ plain).sum()
    expected.backward()
    assert y.item() == pytest.approx(expected.item(), rel=1e-6)
    assert torch.allclose(x.grad.cpu(), plain.grad)


def test_the_bare_device_falls_back_with_a_warning(plug: Any) -> None:
    x = torch.ones(2, device=plug(example("bare_device")))
    before = torch.get_fallback()
    torch.set_fallback("warn")
    assert (x + x).tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match="no kernel for mul"):
        assert (x * 3).tolist() == [3.0, 3.0]
    torch.set_fallback(before)

"""``torch.library``: the programs of PyTorch's documentation, and what it answers to them."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest
from tests.protocols.library_programs import HEAD, PROGRAMS

import tensorbus


def install(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's modules under PyTorch's names, for programs that import them."""
    for name in ("", ".utils._python_dispatch"):
        module = importlib.import_module(f"{torch.__name__}{name}")
        monkeypatch.setitem(sys.modules, f"torch{name}", module)


def run(source: str, torch: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    space: dict[str, Any] = {"torch": torch, "__name__": "program"}
    with monkeypatch.context() as patch:
        install(torch, patch)
        exec(compile(HEAD + source, "program", "exec", dont_inherit=True), space)
    return plain(space["result"])


def plain(value: Any) -> Any:
    """Tensors as numbers, tuples as lists."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "detach"):
        return [str(value.dtype), value.detach().tolist()]
    return value


def close(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    if isinstance(theirs, float):
        return bool(np.isclose(ours, theirs, rtol=1e-5, atol=1e-7))
    return bool(ours == theirs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_do_as_in_pytorch(name: str, oracle: Any, monkeypatch: Any) -> None:
    ours = run(PROGRAMS[name], tensorbus, monkeypatch)
    theirs = oracle(lambda torch: run(PROGRAMS[name], torch, monkeypatch))
    assert close(ours, theirs), f"{ours}\n{theirs}"

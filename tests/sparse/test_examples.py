"""The examples of graphs train, on every device."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["graph_attention"])
def test_the_examples_train(device, name, capsys):
    file = EXAMPLES / f"{name}.py"
    assert len(file.read_text("utf-8").splitlines()) <= 60
    assert runpy.run_path(str(file))["main"](device) > 0.9
    assert "right" in capsys.readouterr().out

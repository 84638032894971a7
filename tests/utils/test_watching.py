"""Other ways to watch a run: the visdom example, and bars over loaders."""

from __future__ import annotations

import io
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tqdm import tqdm

import tensorbus as torch
from tensorbus.utils.data import DataLoader, IterableDataset

EXAMPLE = Path(__file__).parents[2] / "examples" / "visdom_curves.py"


class Visdom:
    """Keeps what it is sent; stands in for a server."""

    def __init__(self, answers: bool) -> None:
        self.answers = answers
        self.sent: list[tuple[str, Any, dict[str, Any]]] = []

    def check_connection(self) -> bool:
        return self.answers

    def line(self, **what: Any) -> None:
        self.sent.append(("line", what["Y"], what))

    def images(self, values: Any, **what: Any) -> None:
        self.sent.append(("images", values, what))


def test_the_visdom_example_sends_losses_and_weights(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Visdom(answers=True)
    module = types.SimpleNamespace(Visdom=lambda **options: server)
    monkeypatch.setitem(sys.modules, "visdom", module)
    runpy.run_path(str(EXAMPLE))["main"](epochs=3)
    losses = [values.item() for kind, values, _ in server.sent if kind == "line"]
    assert len(losses) == 3 and losses[2] < losses[0] / 1.5
    assert [what["update"] for *_, what in server.sent if "update" in what] == [
        None, "append", "append"
    ]  # fmt: skip
    assert all(v.shape == (10, 1, 28, 28) for kind, v, _ in server.sent if kind == "images")
    assert "epoch 2: loss" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("module", "says"),
    [
        (None, "pip install visdom"),
        (types.SimpleNamespace(Visdom=lambda **o: Visdom(False)), "python -m visdom.server"),
    ],
)
def test_the_visdom_example_says_what_it_needs(
    module: Any, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "visdom", module)
    with pytest.raises(SystemExit, match=says):
        runpy.run_path(str(EXAMPLE))["main"]()


def test_bars_know_how_long_a_loader_is() -> None:
    text = io.StringIO()
    loader = DataLoader(torch.arange(10.0), batch_size=4)
    bar = tqdm(loader, file=text)
    assert bar.total == 3
    assert sum(batch.sum().item() for batch in bar) == 45.0
    assert "3/3" in text.getvalue()
    bar = tqdm(enumerate(loader), total=len(loader), file=text)
    for _number, batch in bar:
        bar.set_postfix(mean=batch.mean().item(), tensor=batch.sum())
    assert "mean=8.5" in text.getvalue()


def test_bars_over_streams_have_no_end() -> None:
    class Stream(IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(3))

    bar = tqdm(DataLoader(Stream()), file=io.StringIO())
    assert bar.total is None
    assert len(list(bar)) == 3

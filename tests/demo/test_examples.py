"""The examples run, and the plain form of the demo is the demo."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import tensorbus as torch
from tensorbus.demo import digits, training

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_quickstart_fits_its_curve(capsys, monkeypatch):
    source = (EXAMPLES / "quickstart.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 20
    monkeypatch.setattr(sys, "argv", ["quickstart.py"])
    runpy.run_path(str(EXAMPLES / "quickstart.py"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("step 500: loss 0.00")


def test_the_plain_form_is_short_and_runs(tmp_path, capsys, monkeypatch):
    assert len((EXAMPLES / "digits.py").read_text(encoding="utf-8").splitlines()) < 150
    arguments = ["digits.py", "--epochs", "1", "--out", str(tmp_path / "x")]
    monkeypatch.setattr(sys, "argv", arguments)
    runpy.run_path(str(EXAMPLES / "digits.py"), run_name="__main__")
    assert "reloaded: equal predictions: True" in capsys.readouterr().out
    assert (tmp_path / "x.pt").exists()


def test_the_plain_form_trains_as_the_demo_does():
    """The same 640 digits, the same seed: equal losses."""
    program = runpy.run_path(str(EXAMPLES / "digits.py"))
    data = digits.load()
    images = torch.from_numpy(data.train_images[:640])
    labels = torch.from_numpy(data.train_labels[:640])
    torch.manual_seed(5)
    losses = program["train"](program["LeNet"](), images, labels, 1, lambda epoch: None)
    torch.manual_seed(5)
    demo = training.Trainer(training.LeNet(), images, labels, 1)
    assert len(losses) == 10
    assert losses == list(demo.epoch())


def test_with_its_imports_swapped_the_plain_form_runs_on_pytorch(
    live_torch, tmp_path, capsys, monkeypatch
):
    monkeypatch.syspath_prepend(EXAMPLES.parent)
    from benchmarks.program import load

    program = load(EXAMPLES / "digits.py", "torch", "digits_on_torch")
    assert program["torch"].__name__ == "torch"
    program["train"].__globals__["BATCH"] = 500
    monkeypatch.setattr(sys, "argv", ["digits.py", "--epochs", "1", "--out", str(tmp_path / "x")])
    program["main"]()
    assert "reloaded: equal predictions: True" in capsys.readouterr().out

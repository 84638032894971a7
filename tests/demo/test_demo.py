"""`tensorbus demo`: what it prints and writes, its exit codes, and that a seed decides it all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.cli import main
from tensorbus.demo import digits, training


def trainer(seed: int, device: str = "cpu", epochs: int = 12) -> training.Trainer:
    data = digits.load()
    torch.manual_seed(seed)
    net = training.LeNet().to(device)
    images = torch.from_numpy(data.train_images).to(device)
    return training.Trainer(net, images, torch.from_numpy(data.train_labels).to(device), epochs)


def first_losses(seed: int, device: str = "cpu", count: int = 20) -> list[float]:
    steps = trainer(seed, device).epoch()
    return [next(steps) for _ in range(count)]


def held_out_accuracy(net: training.LeNet) -> float:
    data = digits.load()
    found = training.scores(net, torch.from_numpy(data.test_images))
    return training.accuracy(found, torch.from_numpy(data.test_labels))


@pytest.fixture(scope="module")
def one_epoch(tmp_path_factory):
    """The folder after a run of one epoch."""
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    assert main(["demo", "--epochs", "1", "--seed", "3", "--out", str(out)]) == 0
    return out


def test_the_run_leaves_a_checkpoint_and_a_picture(one_epoch):
    pytest.importorskip("matplotlib", reason="the picture needs the extra demo")
    assert sorted(path.name for path in one_epoch.iterdir()) == ["digits.png", "digits.pt"]
    picture = (one_epoch / "digits.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 20_000


def test_the_checkpoint_predicts_as_the_trained_network(one_epoch):
    saved = torch.load(one_epoch / "digits.pt")
    assert (saved["epoch"], saved["seed"]) == (1, 3)
    net = training.LeNet()
    net.load_state_dict(saved["net"])
    run = trainer(seed=3, epochs=1)
    assert len(list(run.epoch())) == 63
    images = torch.from_numpy(digits.load().test_images)
    assert torch.equal(training.scores(net, images), training.scores(run.net, images))
    assert held_out_accuracy(net) > 0.85


def test_what_is_printed(capsys, tmp_path):
    assert main(["demo", "--epochs", "1", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "13,066 parameters, 4,000 handwritten digits, 1 epoch, seed 0, device cpu" in printed
    assert re.search(r"epoch  1: loss \d\.\d{3}, \d\d\.\d% of the held-out digits right", printed)
    assert f"Checkpoint: {tmp_path / 'digits.pt'} (reloaded: the same predictions)" in printed


def test_without_matplotlib_it_says_how_to_get_the_picture(capsys, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "tensorbus.demo.picture", raising=False)
    assert main(["demo", "--epochs", "1", "--out", str(tmp_path)]) == 0
    assert "pip install 'tensorbus[demo]'" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["digits.pt"]


def test_equal_seeds_give_equal_losses_and_others_do_not():
    first = first_losses(seed=1, count=5)
    assert first_losses(seed=1, count=5) == first
    assert first_losses(seed=2, count=5) != first


def test_devices_agree_over_the_first_twenty_steps(device):
    assert first_losses(0, device) == pytest.approx(first_losses(0), abs=1e-4, rel=0)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_it_learns_97_of_100_held_out_digits(seed, tmp_path):
    # A process of its own, with one thread: where tests run side by side, several BLAS threads in
    # each of them wait for one another most of the time.
    done = subprocess.run(
        [sys.executable, "-m", "tensorbus", "demo", "--seed", str(seed), "--out", str(tmp_path)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    reached = re.search(r"([\d.]+)% of the 1,000 held-out digits are right", done.stdout)
    assert reached and float(reached[1]) >= 97.0


def test_shifts_move_an_image_by_two_pixels_at_most():
    run = trainer(0, epochs=1)
    images, labels = run.batch(torch.arange(64))
    assert images.shape == (64, 1, 28, 28) and torch.equal(labels, run.labels[:64])
    padded = run.padded[:64].numpy()
    corners = set()
    for image, original in zip(images.numpy()[:, 0], padded, strict=True):
        matches = [
            (row, column)
            for row in range(5)
            for column in range(5)
            if np.array_equal(image, original[row : row + 28, column : column + 28])
        ]
        assert matches
        corners.add(matches[0])
    assert len(corners) > 10


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--device", "abacus"],
            r"tensorbus: --device abacus can't be used: .*\n.*without --device",
        ),
        (["--device", "cpu:7"], r"tensorbus: --device cpu:7 can't be used: "),
        (["--epochs", "0"], "0 was given, but it must be a whole number from 1 to 1000"),
        (["--epochs", "many"], "'many' was given, but it must be a whole number"),
        (["--seed", "-1"], "-1 was given, but it must be a whole number from 0 to"),
        (["--out", "{file}"], r"tensorbus: --out .*taken is a file: give a folder"),
        (["--out", "{file}/below"], "tensorbus: nothing can be written to --out .*: give a folder"),
    ],
)
def test_bad_input_is_named_and_exits_with_2(options, sentence, tmp_path, capsys):
    file = tmp_path / "taken"
    file.write_text("precious")
    out = ["--out", str(tmp_path / "out")] if "--out" not in options else []
    try:
        status = main(["demo", *(option.format(file=file) for option in options), *out])
    except SystemExit as exit:
        status = exit.code
    printed = capsys.readouterr()
    assert status == 2
    assert re.search(sentence, printed.err)
    assert "Traceback" not in printed.err and "epoch  1" not in printed.out
    assert file.read_text() == "precious"


def interrupt_in_epoch(monkeypatch, number: int) -> None:
    """Ctrl-C in the third step of epoch *number*; the epochs before it are cut short."""
    begun = []
    whole = training.Trainer.epoch

    def epoch(self):
        begun.append(self)
        for step, loss in enumerate(whole(self)):
            if step == 3:
                if len(begun) == number:
                    raise KeyboardInterrupt
                return
            yield loss

    monkeypatch.setattr(training.Trainer, "epoch", epoch)


def test_ctrl_c_says_what_is_kept(monkeypatch, capsys, tmp_path):
    interrupt_in_epoch(monkeypatch, 2)
    assert main(["demo", "--out", str(tmp_path)]) == 130
    printed = capsys.readouterr().out
    assert f"Stopped. Kept: {tmp_path / 'digits.pt'}, the network after epoch 1 of 12" in printed
    assert torch.load(tmp_path / "digits.pt")["epoch"] == 1


def test_ctrl_c_in_the_first_epoch_leaves_an_earlier_checkpoint_alone(
    monkeypatch, capsys, tmp_path
):
    (tmp_path / "digits.pt").write_bytes(b"of yesterday")
    interrupt_in_epoch(monkeypatch, 1)
    assert main(["demo", "--out", str(tmp_path)]) == 130
    assert "Nothing was kept: no epoch was complete." in capsys.readouterr().out
    assert (tmp_path / "digits.pt").read_bytes() == b"of yesterday"


def test_a_full_disk_is_named(monkeypatch, capsys, tmp_path):
    def save(*_):
        raise OSError(28, "No space left on device")

    interrupt_in_epoch(monkeypatch, 12)
    monkeypatch.setattr(torch, "save", save)
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_a_checkpoint_that_predicts_otherwise_is_an_error(monkeypatch, capsys, tmp_path):
    load = torch.load

    def spoilt(path: Path, **options: object) -> dict:
        saved = load(path, **options)
        saved["net"]["classify.bias"][3] += 1
        return saved

    monkeypatch.setattr(torch, "load", spoilt)
    assert main(["demo", "--epochs", "1", "--out", str(tmp_path)]) == 1
    assert "predicts otherwise" in capsys.readouterr().err

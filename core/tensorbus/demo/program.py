"""The run of ``tensorbus demo``: progress, checkpoint, check, picture, closing words."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import tensorbus as torch
from tensorbus.cli import UsageError
from tensorbus.demo import digits
from tensorbus.demo.training import LeNet, Trainer, accuracy, scores


class Program:
    """One run; *kept* is what is on disk so far, for the words after Ctrl-C.

    Of several ranks, which *trainer* brings together, only the first prints and writes.
    """

    def __init__(
        self,
        device: str,
        epochs: int,
        seed: int,
        out: Path,
        trainer: type[Trainer] = Trainer,
        rank: int = 0,
    ):
        self.trainer, self.rank = trainer, rank
        self.device, self.epochs, self.seed = usable_device(device), epochs, seed
        self.checkpoint, self.picture = out / "digits.pt", out / "digits.png"
        self.kept = "Nothing was kept: no epoch was complete."
        self.losses: list[float] = []
        self.console = Console(quiet=rank != 0)

    def run(self) -> int:
        start = time.perf_counter()
        try:
            net = self.train()
            if self.rank != 0:
                return 0
            seconds = time.perf_counter() - start
            found = scores(net, self.test_images)
            same = torch.equal(found, scores(self.reloaded(), self.test_images))
            reached = accuracy(found, self.test_labels)
            self.say(
                f"{reached:.1%} of the {len(self.test_labels):,} held-out digits are right "
                f"after {seconds:.1f} s of training on {self.device}."
            )
            if not same:
                print(
                    f"tensorbus: the network reloaded from {self.checkpoint} predicts otherwise "
                    "than the one that was saved: please report this",
                    file=sys.stderr,
                )
                return 1
            self.say(f"Checkpoint: {self.checkpoint} (reloaded: the same predictions)")
            self.draw(found)
        except KeyboardInterrupt:
            self.say(f"Stopped. {self.kept}")
            return 130
        except OSError as e:
            raise UsageError(
                f"can't write to --out {self.checkpoint.parent} ({e.strerror or e}). {self.kept}"
            ) from e
        return 0

    def say(self, text: str) -> None:
        """Print *text* as it stands, above the progress bar while there is one."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def train(self) -> LeNet:
        """Train a new network, with a checkpoint after every epoch."""
        data = digits.load()
        self.test_images = torch.from_numpy(data.test_images).to(self.device)
        self.test_labels = torch.from_numpy(data.test_labels).to(self.device)
        torch.manual_seed(self.seed)
        net = LeNet().to(self.device)
        trainer = self.trainer(
            net,
            torch.from_numpy(data.train_images).to(self.device),
            torch.from_numpy(data.train_labels).to(self.device),
            self.epochs,
        )
        size = sum(p.numel() for p in net.parameters())
        self.say(
            f"LeNet with {size:,} parameters, {trainer.count:,} handwritten digits, "
            f"{self.epochs} epoch{'s' * (self.epochs > 1)}, seed {self.seed}, device {self.device}"
            f"{trainer.together}"
        )
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.3f}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        ) as progress:
            total = self.epochs * trainer.steps_per_epoch
            bar = progress.add_task("training", total=total, loss=float("nan"))
            for epoch in range(1, self.epochs + 1):
                for loss in trainer.epoch():
                    self.losses.append(loss)
                    progress.update(bar, advance=1, loss=loss)
                if self.rank != 0:
                    continue
                reached = accuracy(scores(net, self.test_images), self.test_labels)
                self.save(net, epoch, reached)
                mean = sum(self.losses[-trainer.steps_per_epoch :]) / trainer.steps_per_epoch
                self.say(
                    f"epoch {epoch:2}: loss {mean:.3f}, {reached:.1%} of the held-out digits right"
                )
        return net

    def save(self, net: LeNet, epoch: int, reached: float) -> None:
        torch.save({"net": net.state_dict(), "epoch": epoch, "seed": self.seed}, self.checkpoint)
        self.kept = (
            f"Kept: {self.checkpoint}, the network after epoch {epoch} of {self.epochs} "
            f"({reached:.1%} of the held-out digits right)."
        )

    def reloaded(self) -> LeNet:
        """A new network with the weights of the checkpoint."""
        net = LeNet().to(self.device)
        net.load_state_dict(torch.load(self.checkpoint, map_location=self.device)["net"])
        return net

    def draw(self, found: torch.Tensor) -> None:
        try:
            from tensorbus.demo.picture import draw
        except ImportError as e:
            self.say(f"No picture was drawn ({e}); for one: pip install 'tensorbus[demo]'")
            return
        draw(
            self.picture,
            self.losses,
            self.test_images.cpu().numpy(),
            self.test_labels.cpu().numpy(),
            found.argmax(1).cpu().numpy(),
        )
        self.say(f"Picture: {self.picture}")


def usable_device(name: str) -> torch.device:
    """The device called *name*, if a tensor can be made there; UsageError otherwise."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, ImportError) as e:
        raise UsageError(
            f"--device {name} can't be used: {e}\n"
            "`tensorbus devices` lists what is there; without --device the demo runs on cpu."
        ) from e
    return device

"""Training steps on either library: one program each, with its imports swapped."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, Case, Loop
from benchmarks.overhead_cases import mlp_step
from benchmarks.program import digits, load

TRAINING = ROOT / "core" / "tensorbus" / "demo" / "training.py"
GPT = ROOT / "benchmarks" / "gpt.py"
RECURRENT = ROOT / "benchmarks" / "recurrent.py"
BAGS = ROOT / "benchmarks" / "bags.py"
RESNET = ROOT / "benchmarks" / "resnet.py"
LIMIT = 2.5
BAG_MODES = ("sum", "mean", "max", "weighted", "sparse", "sparse, SGD")
ONE_THREAD = {
    "demo step: forward, backward, SGD": 1.1,
    "small GPT: forward, backward, AdamW": 1.2,
    "MLP 784-128-10, batch 32, SGD: one step": 0.65,
    "char-LSTM, batch 32, 128 hidden, 64 steps": 1.6,
    "BiLSTM tagger, batch 1, 20 words": 0.9,
    **{f"EmbeddingBag, {mode}": 1.0 for mode in BAG_MODES},
    "EmbeddingBag, sum, beside Embedding and sum": 0.4,
    "EmbeddingBag, sum, beside our own Embedding and sum": 0.4,
}
"""Limits of processor time on one thread, which are tighter."""


def library_of(torch: Any) -> str:
    return "torch" if torch.__name__ == "torch" else "tensorbus"


def trainer(torch: Any) -> tuple[Any, Any, Any]:
    """The demo's trainer on *torch*, with one batch of images and labels."""
    library = library_of(torch)
    program = load(TRAINING, library, f"demo_on_{library}")
    data = digits().load()
    torch.manual_seed(0)
    # So many epochs that the learning rate stays where it is while we measure.
    ready = program["Trainer"](
        program["LeNet"](),
        torch.from_numpy(data.train_images),
        torch.from_numpy(data.train_labels),
        epochs=10_000,
    )
    ready.net.train()
    return ready, *ready.batch(torch.arange(program["BATCH"]))


def step(torch: Any) -> Loop:
    ready, images, labels = trainer(torch)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            loss = ready.step(images, labels)
        return loss

    return loop


def shifted_step(torch: Any) -> Loop:
    ready, _, _ = trainer(torch)
    chosen = torch.arange(64)

    def loop(n: int) -> object:
        for _ in repeat(None, n):
            loss = ready.step(*ready.batch(chosen))
        return loss

    return loop


def forward(torch: Any) -> Loop:
    ready, images, _ = trainer(torch)
    ready.net.eval()

    def loop(n: int) -> object:
        with torch.no_grad():
            for _ in repeat(None, n):
                scores = ready.net(images)
        return scores

    return loop


def trained(path: Path, *args: Any) -> Callable[[Any], Loop]:
    """The steps of a program's ``Trainer(*args)``."""

    def make(torch: Any) -> Loop:
        library = library_of(torch)
        ready = load(path, library, f"{path.stem}_on_{library}")["Trainer"](*args)

        def loop(n: int) -> object:
            for _ in repeat(None, n):
                loss = ready.step()
            return loss

        return loop

    return make


def bag(torch: Any) -> Loop:
    """Sums of bags by one op on tensorbus, and on PyTorch the rows and then their sum."""
    return trained(BAGS, "sum", torch.__name__ == "torch")(torch)


def own_bag(torch: Any) -> Loop:
    """The same, but both on tensorbus."""
    import tensorbus

    return trained(BAGS, "sum", torch.__name__ == "torch")(tensorbus)


MAKERS: dict[str, tuple[float | None, Callable[[Any], Loop]]] = {
    "demo step: forward, backward, SGD": (LIMIT, step),
    "demo step with the random shifts": (LIMIT, shifted_step),
    "demo network forward only, no_grad": (None, forward),
    "small GPT: forward, backward, AdamW": (None, trained(GPT, True)),
    "small GPT, attention by its parts": (None, trained(GPT, False)),
    "MLP 784-128-10, batch 32, SGD: one step": (None, mlp_step),
    "char-LSTM, batch 32, 128 hidden, 64 steps": (None, trained(RECURRENT, "char-LSTM")),
    "char-GRU, batch 32, 128 hidden, 64 steps": (None, trained(RECURRENT, "char-GRU")),
    "BiLSTM tagger, batch 1, 20 words": (None, trained(RECURRENT, "BiLSTM tagger")),
    **{f"EmbeddingBag, {mode}": (None, trained(BAGS, mode)) for mode in BAG_MODES},
    "EmbeddingBag, sum, beside Embedding and sum": (None, bag),
    "EmbeddingBag, sum, beside our own Embedding and sum": (None, own_bag),
    "ResNet-18, 8 images of 64 x 64": (None, trained(RESNET)),
}
CASES = [Case(name, limit, make) for name, (limit, make) in MAKERS.items()]

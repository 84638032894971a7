"""What two ranks do together, on either library: all_reduce, and the demo's step under DDP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import repeat
from typing import Any

from benchmarks.harness import Case, Loop
from benchmarks.program import digits, load
from benchmarks.training_cases import TRAINING

SIZES = {"4 B": 4, "64 KiB": 64 << 10, "4 MiB": 4 << 20, "64 MiB": 64 << 20}
LIMITS = {"tcp": 1.25, "mpi": 1.0}
"""The most of gloo's time from 4 MiB on; 1.25 of its time is 0.8 of its bandwidth."""
LIMITED_FROM = 4 << 20
DEBUG = ", debug mode"


def all_reduce(nbytes: int, debug: bool = False) -> Callable[[Any], Loop]:
    def make(torch: Any) -> Loop:
        x = torch.zeros(nbytes // 4)
        reduce, compared = torch.distributed.all_reduce, _compared(torch, debug)

        def loop(n: int) -> object:
            with compared():
                for _ in repeat(None, n):
                    reduce(x)
            return x

        return loop

    return make


def ddp_step(debug: bool = False) -> Callable[[Any], Loop]:
    def make(torch: Any) -> Loop:
        library = "torch" if torch.__name__ == "torch" else "tensorbus"
        program = load(TRAINING, library, f"demo_on_{library}")
        data = digits().load()
        torch.manual_seed(torch.distributed.get_rank())
        # So many epochs that the learning rate stays where it is while we measure.
        ready = program["Trainer"](
            torch.nn.parallel.DistributedDataParallel(program["LeNet"]()),
            torch.from_numpy(data.train_images),
            torch.from_numpy(data.train_labels),
            epochs=10_000,
        )
        ready.net.train()
        images, labels = ready.batch(torch.arange(program["BATCH"]))
        compared = _compared(torch, debug)

        def loop(n: int) -> object:
            with compared():
                for _ in repeat(None, n):
                    loss = ready.step(images, labels)
            return loss

        return loop

    return make


def _compared(torch: Any, debug: bool) -> Callable[[], AbstractContextManager[None]]:
    """Our debug mode, where it is asked for; PyTorch's can't be turned on for a while."""
    if not debug or torch.__name__ == "torch":
        return nullcontext
    dist = torch.distributed

    @contextmanager
    def compared() -> Any:
        dist.set_debug_level(1)
        yield
        dist.set_debug_level(0)

    return compared


def cases(comm: str) -> list[Case]:
    """The cases for one comm, with the limits that hold for it."""
    rows = [
        Case(
            f"all_reduce of {size}",
            LIMITS.get(comm) if nbytes >= LIMITED_FROM else None,
            all_reduce(nbytes),
        )
        for size, nbytes in SIZES.items()
    ]
    return [
        *rows,
        Case("DDP step of the demo", None, ddp_step()),
        Case(f"all_reduce of 4 B{DEBUG}", None, all_reduce(4, debug=True)),
        Case(f"DDP step of the demo{DEBUG}", None, ddp_step(debug=True)),
    ]

"""Epochs of the digits through a loader with two workers, for the benchmark ``loading``.

    python -m benchmarks.program torch benchmarks/digits_loader.py --keep

prints, in seconds of an epoch, the time by the clock and the processor time of all processes.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import tensorbus as torch
from tensorbus.demo import digits
from tensorbus.utils.data import DataLoader, TensorDataset

BATCH, WORKERS = 64, 2


def processor_seconds() -> float:
    """Of this process and of those of its children that have ended."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in each)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--epochs", type=int, default=10)
    options.add_argument("--keep", action="store_true", help="keep the workers between epochs")
    args = options.parse_args()
    torch.set_num_threads(1)
    data = digits.load()
    pairs = TensorDataset(
        torch.from_numpy(data.train_images).unsqueeze(1), torch.from_numpy(data.train_labels)
    )
    before, start = processor_seconds(), time.perf_counter()
    loader = DataLoader(
        pairs, BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=args.keep
    )
    seen = 0
    for _ in range(args.epochs):
        for images, labels in loader:
            seen += len(labels)
            assert images.shape[1:] == (1, 28, 28)
    seconds = time.perf_counter() - start
    if seen != args.epochs * len(pairs):
        raise RuntimeError(f"{seen} images came of {args.epochs} times {len(pairs)}")
    del loader  # its workers end, and their time is known
    processor = processor_seconds() - before
    print(json.dumps({"clock": seconds / args.epochs, "processor": processor / args.epochs}))


if __name__ == "__main__":
    main()

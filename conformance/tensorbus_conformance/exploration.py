"""``tensorbus conformance DEVICE --explore SECONDS``: look for wrong calls nobody wrote down."""

from __future__ import annotations

import argparse
import random

from tensorbus_conformance import found, repro
from tensorbus_conformance.runner import find_backend
from tensorbus_conformance.trial import Device


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the exploring lane."""
    group = parser.add_argument_group("exploration")
    group.add_argument(
        "--explore",
        type=float,
        metavar="SECONDS",
        help="try ops with other sizes, values, dtypes and layouts for so long; -k chooses ops",
    )
    group.add_argument("--seed", type=int, help="begin as an earlier exploration did")
    group.add_argument("--save", metavar="FILE", help="add the wrong calls to a file of samples")
    group.add_argument(
        "--samples", metavar="FILE", help="run the calls of such a file with the other cases"
    )


def run(args: argparse.Namespace) -> int:
    """Explore, print a script for each wrong call; 1 if there is one."""
    try:
        from tensorbus_conformance.explore import explorable, explore
    except ImportError as error:
        raise RuntimeError(
            f"exploration needs hypothesis: pip install 'tensorbus[test]' ({error})"
        ) from error
    seed = random.randrange(10**6) if args.seed is None else args.seed
    backend, index = find_backend(args.device)
    device = Device(backend, index)
    ops = explorable(args.pattern)
    if not ops:
        raise ValueError(f"no op matches {args.pattern!r}")
    print(f"exploring {len(ops)} ops on {device.type}, --seed {seed}")
    wrong = []
    for call, message in explore(device, ops, args.explore, seed):
        wrong.append(call)
        print(f"\n{repro.script(call, device.type, message)}")
    if args.save and wrong:
        found.save(wrong, args.save)
        print(f"saved to {args.save}: tensorbus conformance {args.device} --samples {args.save}")
    print(f"{len(wrong)} of {len(ops)} ops gave something wrong")
    return 1 if wrong else 0

"""``tensorbus demo``: train a small convolutional network on real handwritten digits.

It trains with a live progress bar, tests on digits held out, saves a checkpoint, reloads it into a
new network, checks that the two agree, and draws one picture.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

DEFAULT_EPOCHS = 12
DEFAULT_OUT = Path("tensorbus-demo")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``--device``, ``--epochs``, ``--seed``, ``--out``, ``--nproc`` and ``--comm``."""
    parser.add_argument(
        "--device", default="cpu", help="where to train, as `tensorbus devices` names it"
    )
    parser.add_argument(
        "--epochs",
        type=_whole_number(1, 1000),
        default=DEFAULT_EPOCHS,
        help="how often to go through the 4,000 digits (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=_whole_number(0, 2**63 - 1),
        default=0,
        help="equal seeds give equal results (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=DEFAULT_OUT,
        help="the folder for the checkpoint and the picture (default: %(default)s)",
    )
    parser.add_argument(
        "--nproc",
        type=_whole_number(1, 32),
        default=1,
        help="train in parallel in so many processes (default: %(default)s)",
    )
    parser.add_argument(
        "--comm", metavar="NAME", help="what moves gradients between them: tcp, mpi, ..."
    )


def run(args: argparse.Namespace) -> int:
    """Do it all; 0 when the reloaded network agrees with the trained one, 130 after Ctrl-C."""
    # Checked before the library is loaded: an answer at once, and nothing trained in vain.
    _check_folder(args.out)
    from tensorbus.cli import UsageError
    from tensorbus.demo import parallel
    from tensorbus.demo.program import Program, usable_device

    if parallel.started_as_rank():
        with parallel.joined(args.comm) as rank:
            device = parallel.own_device(args.device)
            trainer = parallel.ParallelTrainer
            return Program(device, args.epochs, args.seed, args.out, trainer, rank).run()
    if args.nproc > 1:
        # Here and not in every rank, which would say the same.
        usable_device(args.device)
        return parallel.launch(args)
    if args.comm is not None:
        raise UsageError(f"--comm {args.comm} goes with --nproc 2 or more")
    return Program(args.device, args.epochs, args.seed, args.out).run()


def _whole_number(least: int, most: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        allowed = f"it must be a whole number from {least} to {most}"
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} was given, but {allowed}") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} was given, but {allowed}")
        return value

    return convert


def _check_folder(out: Path) -> None:
    from tensorbus.cli import UsageError

    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} is a file: give a folder, or a name that is not taken")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as e:
        raise UsageError(
            f"nothing can be written to --out {out} ({e.strerror or e}): "
            "give a folder that you may write to"
        ) from e

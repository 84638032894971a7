"""``python -m tensorbus.distributed.launch``, the launcher for scripts that take ``--local-rank``.

It is ``distributed.run`` with one option more; scripts that read ``LOCAL_RANK`` need ``run`` alone.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence

from tensorbus import cli
from tensorbus.distributed import run


def launch(args: argparse.Namespace) -> int:
    """Run the job; the exit status. ``UsageError`` for a program that gets no ``--local-rank``."""
    if args.no_python and not args.use_env:
        raise cli.UsageError("with --no-python give --use-env too: a program takes no --local-rank")
    return run.run(args)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line *args* (default: the process's own); the exit status."""
    warnings.warn(
        "distributed.launch is kept for scripts that take --local-rank: read "
        "os.environ['LOCAL_RANK'] and start them with tensorbusrun",
        FutureWarning,
        stacklevel=2,
    )
    parser = argparse.ArgumentParser(
        prog="python -m tensorbus.distributed.launch",
        description="Start the ranks of a distributed job, with --local-rank=N for each script.",
    )
    parser.add_argument(
        "--use-env", "--use_env", action="store_true", help="leave --local-rank to LOCAL_RANK"
    )
    run.add_arguments(parser)
    return cli.guarded(lambda: launch(parser.parse_args(args)))


if __name__ == "__main__":
    sys.exit(main())

"""The launcher: ``tensorbusrun --nproc 4 train.py``, or ``python -m tensorbus.distributed.run``.

It starts the ranks of a job on this machine, passes their output on line by line, hands on
signals, and ends all of them when one fails. The options are torchrun's.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tensorbus.distributed.run import arguments, options
from tensorbus.distributed.run.agent import Agent
from tensorbus.distributed.run.plan import Plan

__all__ = ["Agent", "Plan", "add_arguments", "main", "run"]

add_arguments = arguments.add_arguments


def run(args: argparse.Namespace) -> int:
    """Run the job; the exit status of the rank that failed first, or 0."""
    return Agent(options.plan(args)).run()


def main(argv: Sequence[str] | None = None) -> int:
    """What ``torchrun`` is to PyTorch, the console script ``tensorbusrun``: the exit status."""
    from tensorbus import cli

    parser = argparse.ArgumentParser(
        prog="tensorbusrun", description="Start the ranks of a distributed job."
    )
    add_arguments(parser)
    return cli.guarded(lambda: run(parser.parse_args(argv)))

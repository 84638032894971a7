"""Which output of the ranks is shown, and which is written to files."""

from __future__ import annotations

import argparse
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from tensorbus.cli import UsageError
from tensorbus.distributed.run.plan import ERR, OUT
from tensorbus.distributed.run.values import whole


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the options say of it."""

    logged: dict[int, int]
    """By local rank, which streams are written to files: OUT, ERR or both added."""
    silent: dict[int, int]
    """By local rank, which streams are not shown."""
    filters: dict[int, tuple[bytes, ...]]
    """By stream, the texts whose lines are written to one more file."""
    attached: int | None
    """The local rank that has the launcher's own streams."""


def outputs(args: argparse.Namespace, nproc: int) -> Outputs:
    """Check the options that speak of output."""
    attached = None if args.attach is None else whole("--attach", args.attach, 0, nproc - 1)
    logged, silent = _streams(args, nproc, attached)
    if attached is not None and (logged.get(attached) or silent.get(attached)):
        raise UsageError(f"--attach {attached}: the output of that rank is redirected")
    filters = {
        OUT: _texts(args.duplicate_stdout_filters),
        ERR: _texts(args.duplicate_stderr_filters),
    }
    filters = {stream: texts for stream, texts in filters.items() if texts}
    if filters and args.log_dir is None:
        name = "stdout" if OUT in filters else "stderr"
        raise UsageError(f"--duplicate-{name}-filters needs --log-dir")
    return Outputs(logged, silent, filters, attached)


def _texts(text: str) -> tuple[bytes, ...]:
    """What commas separate; two of them stand for one."""
    parts = text.replace(",,", "\0").split(",")
    return tuple(part.replace("\0", ",").encode() for part in parts if part)


def _streams(
    args: argparse.Namespace, nproc: int, attached: int | None
) -> tuple[dict[int, int], dict[int, int]]:
    """What is written to files, and what is not shown, by local rank."""
    redirects = _which("--redirects", args.redirects, nproc)
    tee = _which("--tee", args.tee, nproc)
    if (redirects or tee) and args.log_dir is None:
        raise UsageError(f"{'--redirects' if redirects else '--tee'} needs --log-dir")
    for rank in redirects.keys() & tee.keys():
        if redirects[rank] & tee[rank]:
            raise UsageError(f"rank {rank} is in --redirects and in --tee: give one of them")
    if args.log_dir is not None:
        _check_folder(args.log_dir)
        if args.redirects is None and args.tee is None:
            tee = dict.fromkeys(set(range(nproc)) - {attached}, OUT | ERR)
    logged = {r: redirects.get(r, 0) | tee.get(r, 0) for r in range(nproc)}
    silent = dict(redirects)
    if args.local_ranks_filter is not None:
        words = args.local_ranks_filter.split(",")
        shown = {whole("--local-ranks-filter", word, 0, nproc - 1) for word in words}
        silent |= dict.fromkeys(set(range(nproc)) - shown, OUT | ERR)
    return logged, silent


def _which(option: str, text: str | None, nproc: int) -> dict[int, int]:
    if text is None:
        return {}
    if re.fullmatch(r"[0-3]", text):
        return dict.fromkeys(range(nproc), int(text)) if int(text) else {}
    found = {}
    for pair in text.split(","):
        match = re.fullmatch(r"(\d+):([0-3])", pair)
        if not match or int(match[1]) >= nproc:
            raise UsageError(
                f"{option} {text}: give 0 to 3 for all ranks, or RANK:0-3 pairs such as 0:1,1:3, "
                f"with ranks below {nproc}"
            )
        found[int(match[1])] = int(match[2])
    return {rank: which for rank, which in found.items() if which}


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trial = folder / f".tensorbus-{secrets.token_hex(4)}"
        trial.touch()
        trial.unlink()
    except OSError as e:
        raise UsageError(f"--log-dir {folder} can't be written to: {e.strerror or e}") from e

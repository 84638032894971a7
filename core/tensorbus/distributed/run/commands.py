"""The command that becomes each rank."""

from __future__ import annotations

import argparse
import importlib.machinery
import os
import re
import shutil
import sys
from pathlib import Path

from tensorbus.cli import UsageError
from tensorbus.distributed.run.plan import LOCAL_RANK_WORD

_RUN_PATH = "import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"


def command(args: argparse.Namespace) -> tuple[str, ...]:
    """The words of the command of each rank, ``LOCAL_RANK_WORD`` for its own among them."""
    words = tuple(args.script_args)
    if not getattr(args, "use_env", True):
        words = (LOCAL_RANK_WORD, *words)
    return (*_start(args), *words)


def _start(args: argparse.Namespace) -> tuple[str, ...]:
    script: str = args.script
    # Unbuffered, so that lines come when they are printed and none is lost with a killed rank.
    python = (os.environ.get("PYTHON_EXEC") or sys.executable, "-u")
    if args.run_path:
        if args.module:
            raise UsageError("--run-path and --module exclude each other")
        _check_script(script)
        return (*python, "-c", _RUN_PATH, os.path.abspath(script))
    if args.no_python:
        if args.module:
            raise UsageError("--no-python and --module exclude each other")
        program = shutil.which(script)
        if program is None:
            raise UsageError(f"{script} is not a program that can be run (--no-python)")
        return (program,)
    if args.module:
        _check_module(script)
        return (*python, "-m", script)
    _check_script(script)
    return (*python, script)


def _check_module(name: str) -> None:
    first = name.partition(".")[0]
    here = ["" if path == "" else path for path in ("", *sys.path)]
    if (
        first not in sys.builtin_module_names
        and importlib.machinery.PathFinder.find_spec(first, here) is None
    ):
        raise UsageError(f"-m {name}: there is no module {first} here")


def _check_script(script: str) -> None:
    path = Path(script)
    try:
        if path.is_dir():
            path = path / "__main__.py"
        with path.open("rb"):
            pass
    except FileNotFoundError:
        hint = "; for a module give -m" if re.fullmatch(r"\w+(\.\w+)*(?<!\.py)", script) else ""
        raise UsageError(f"there is no script {path}{hint}") from None
    except OSError as e:
        raise UsageError(f"the script {path} can't be read: {e.strerror or e}") from e

"""Ctrl-C while the command ``tensorbus`` is being imported: one line, as later."""

from __future__ import annotations

import os
import sys
from typing import Any

COMMANDS = ("tensorbus", "tensorbusrun")


def watch() -> None:
    """Where this process is one of our commands, an interrupt nobody handles is told in a line.

    The modules are imported before any function of the command runs, which takes long enough to be
    interrupted.
    """
    if _is_command():
        sys.excepthook = _told


def _is_command() -> bool:
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    if name == "-m":  # the module's own path stands there only once it is found
        words = sys.orig_argv
        module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
        return module.partition(".")[0] == COMMANDS[0]
    return name.removesuffix(".exe") in COMMANDS


def _told(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    print("tensorbus: interrupted", file=sys.stderr, flush=True)
    os._exit(130)  # else the interpreter would end itself by the signal

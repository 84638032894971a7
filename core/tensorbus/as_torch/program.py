"""How ``python -m tensorbus.as_torch`` runs a program, in which torch is tensorbus."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from types import CodeType, ModuleType
from typing import Any

from tensorbus import as_torch

USAGE = "usage: python -m tensorbus.as_torch script.py [args] | -m module [args] | -c code [args]"


class Program(str):
    """``sys.argv[0]``. It travels to processes that are spawned, and installs the alias there.

    They get it before they run the main module, whose first line may be ``import torch``.
    """

    def __reduce__(self) -> Any:
        return _arrived, (str(self),)


def _arrived(path: str) -> Program:
    as_torch.install()
    return Program(path)


def code_of(arguments: list[str]) -> tuple[CodeType, str, Any]:
    """The program, the file that it is in and its spec; *arguments* become its own."""
    first = arguments[0]
    if first == "-c":
        arguments[:2] = ["-c"]
        return compile(sys.argv[2], "<string>", "exec"), "", None
    if first == "-m":
        name = arguments[1]
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
        code = getattr(getattr(spec, "loader", None), "get_code", lambda _: None)
        found = None if spec is None else code(spec.name)
        if spec is None or found is None or spec.origin is None:
            sys.exit(f"python -m tensorbus.as_torch: no module named {name} that can be run")
        arguments[:2] = [spec.origin]
        return found, spec.origin, spec
    sys.path[0] = os.path.dirname(os.path.realpath(first))
    with io.open_code(first) as file:
        return compile(file.read(), first, "exec"), first, None


def main() -> None:
    """Run the program as ``__main__``."""
    if len(sys.argv) < 2 or (sys.argv[1] in ("-c", "-m") and len(sys.argv) < 3):
        sys.exit(USAGE)
    if sys.argv[1] in ("-h", "--help"):
        print(USAGE)
        return
    as_torch.install()
    arguments = sys.argv[1:]
    code, file, spec = code_of(arguments)
    sys.argv[:] = [Program(arguments[0]), *arguments[1:]]
    here = sys.modules["__main__"] = ModuleType("__main__")
    here.__spec__ = spec
    if file:
        here.__file__ = file
    exec(code, vars(here))

"""Run a program of ours as it stands, or on PyTorch with its import lines swapped.

    python -m benchmarks.program torch examples/digits.py --epochs 2

prints what the program prints, then one line of JSON: seconds and the process's peak memory.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.harness import ROOT

DIGITS = ROOT / "core" / "tensorbus" / "demo" / "digits.py"


def load(path: Path, library: str, name: str) -> dict[str, Any]:
    """The globals of the program at *path*, run under *name* on ``tensorbus`` or ``torch``."""
    source = path.read_text(encoding="utf-8")
    if library == "torch":
        _offer_digits()
        source = re.sub(r"^(import|from) tensorbus\b(?!\.demo)", r"\1 torch", source, flags=re.M)
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module.__dict__


def digits() -> ModuleType:
    """The loader of the demo's data, which needs NumPy only, without loading tensorbus."""
    spec = spec_from_file_location("tensorbus.demo.digits", DIGITS)
    if spec is None or spec.loader is None:
        raise ImportError(f"{DIGITS} cannot be loaded")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _offer_digits() -> None:
    """Let ``from tensorbus.demo import digits`` work in a process without tensorbus."""
    if "tensorbus" in sys.modules:
        return
    package, demo = ModuleType("tensorbus"), ModuleType("tensorbus.demo")
    demo.digits = digits()  # type: ignore[attr-defined]
    sys.modules.update({"tensorbus": package, "tensorbus.demo": demo})


def peak_megabytes() -> float:
    """The most memory that this process has held (resident), in megabytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not ru_maxrss, which on Linux begins with the size of the process that started this one.
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main() -> int:
    library, path, *arguments = sys.argv[1:]
    if library not in ("tensorbus", "torch"):
        print(f"the library must be tensorbus or torch, but is {library}", file=sys.stderr)
        return 2
    sys.argv = [path, *arguments]
    start = time.perf_counter()
    load(Path(path), library, "__main__")
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "megabytes": peak_megabytes()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

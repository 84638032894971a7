"""One call of at most ten minutes: what is there, values, the contract, memory, comms, speed.

Each part runs in processes of its own, with a limit of its own, and writes into one folder: its
output into ``log.txt``, how it ended into ``summary.json``. One that fails keeps no other from
running. Exit status 0: all ran and passed; 1: some did not; 2: there is no such device.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_session.checkout import ROOT, environment, tensorbus

VERSIONS = """
import importlib.metadata as m, sys
names = "tensorbus numpy cupy-cuda12x cupy-cuda13x torch pluggy rich scipy pytest".split()
names += [d.name for d in m.distributions() if (d.name or "").startswith("nvidia-")]
print(sys.version)
for name in dict.fromkeys(names):
    try: print(name, m.version(name))
    except m.PackageNotFoundError: pass
"""
CUPY = "import cupy; cupy.show_config()"


@dataclass
class Part:
    """A named command, the seconds it may take, and the exit status that is wanted of it."""

    name: str
    command: list[str]
    seconds: float
    fails: bool = False
    """It has to end by itself with an error."""


def parts(device: str, out: Path, quick: bool) -> list[Part]:
    """All parts for a device, in their order."""
    python, gpu = sys.executable, device.startswith("cuda")
    jobs = str(min(12, os.cpu_count() or 1)) if not quick else "1"
    found = [
        Part("packages", [python, "-c", VERSIONS], 10),
        Part("devices", tensorbus("devices"), 25),
    ]
    if gpu:
        found.insert(0, Part("nvidia-smi", ["nvidia-smi"], 10))
        found.append(Part("cupy", [python, "-c", CUPY], 10))

    def suite(name: str, seconds: float, *options: str) -> Part:
        some = ["-k", "*/add/float32*"] if quick else []
        report = ["--json", str(out / f"{name}.json"), "--jobs", jobs]
        return Part(name, tensorbus("conformance", device, *options, *report, *some), seconds)

    tests = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", ""]
    found += [
        # Every kernel, dtype and layout against NumPy; it warms the cache of compiled kernels.
        suite("kernels", 130, "--profile", "core", "--level", "L0,L1"),
        Part("smoke", [python, "-m", "gpu_session.smoke", "--device", device], 30),
        suite("core", 100, "--profile", "core", "--level", "L2,L4"),
        suite("training", 80, "--profile", "training"),
    ]
    if gpu:
        values = str(ROOT / "tests" / "cuda" / "test_values.py")
        found.append(Part("values", [python, "-m", "pytest", *tests, values], 45))
        checker = shutil.which("compute-sanitizer") or "compute-sanitizer"
        smoke = [python, "-m", "gpu_session.smoke", "--device", device]
        found.append(Part("memory checker", [checker, "--error-exitcode", "9", *smoke], 50))
    comm = "nccl" if gpu else "tcp"
    one = tensorbus("conformance", "--comm", comm, "--ranks", "1")
    found.append(Part(f"{comm}, one rank", [*one, *(["-k", "*barrier*"] if quick else [])], 20))
    if gpu:
        two = tensorbus("conformance", "--comm", comm, "--ranks", "2", "-k", "*broadcast*")
        found.append(Part("nccl, two ranks on one GPU", [*two, "--timeout", "5"], 30, fails=True))
    count = "3" if quick else "200"
    steps = [python, "-m", "gpu_session.steps", "--device", device, "--count", count]
    found.append(Part("steps", steps, 60))
    return found


def run(part: Part, log: Any, env: dict[str, str], left: float) -> dict[str, Any]:
    """Run a part within the time that is left, and say how it ended."""
    log.write(f"\n== {part.name}: {' '.join(part.command)}\n".encode())
    log.flush()
    begun = time.monotonic()
    limit = min(part.seconds, left)
    if limit < 1:
        return {"name": part.name, "ended": "not begun: no time was left", "passed": False}
    try:
        process = subprocess.Popen(
            part.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env, cwd=ROOT,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return {"name": part.name, "ended": f"not begun: {error}", "passed": False}
    try:
        status = process.wait(limit)
        ended, passed = f"exit status {status}", (status != 0) == part.fails
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        ended, passed = f"stopped after {limit:.0f} s", False
    seconds = round(time.monotonic() - begun, 1)
    return {"name": part.name, "ended": ended, "passed": passed, "seconds": seconds}


def usable(device: str, env: dict[str, str]) -> str:
    """Empty where the device works, else what its plugin says is missing."""
    program = f"import tensorbus; tensorbus.ones(2, device={device!r}).sum().item()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], env=env, cwd=ROOT, capture_output=True, text=True,
            timeout=60,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it did not add two numbers within 60 s"
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/gpu", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the folder for all of it")
    parser.add_argument("--device", default="cuda", help="such as cpu, to try the parts")
    parser.add_argument("--seconds", type=float, default=560, help="for all of it (default: 560)")
    parser.add_argument("--quick", action="store_true", help="little of each part")
    args = parser.parse_args()
    begun = time.monotonic()
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        env = environment(Path(scratch))
        missing = usable(args.device, env)
        if missing:
            print(f"scripts/gpu: device '{args.device}' can't be used: {missing}", file=sys.stderr)
            return 2
        results = []
        with open(out / "log.txt", "wb") as log:
            for part in parts(args.device, out, args.quick):
                left = args.seconds - (time.monotonic() - begun)
                if args.quick:  # tries the parts, on a machine that may be slow or busy
                    part = dataclasses.replace(part, seconds=left)
                results.append(run(part, log, env, left))
                # Whole after each part: the call itself may be cut off.
                (out / "summary.json").write_text(json.dumps(results, indent=1) + "\n")
                print(json.dumps(results[-1]), flush=True)
    failed = [r["name"] for r in results if not r["passed"]]
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed; all of it is in {out}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

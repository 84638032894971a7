"""``tensorbus doctor``: what a bug report needs, as plain text."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, version

from tensorbus import discovery
from tensorbus.cli import devices
from tensorbus.cli.probe import Answer
from tensorbus.cli.where_to_report import places
from tensorbus.discovery.metadata import COMMANDS, COMMS
from tensorbus.version import __version__

THREADS = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``--timeout``."""
    devices.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print versions, platform, BLAS, environment, plugins and, for each that fails, why."""
    for line in report(args.timeout):
        print(line)
    return 0


def report(timeout: float) -> Iterator[str]:
    """The lines; each device has *timeout* seconds to answer."""
    yield from _section("versions", _versions())
    yield from _section("platform", _platform())
    yield from _section("numpy", libraries())
    settings = {
        k: "(set, and not shown)" if k.endswith("_SECRET") else v
        for k, v in sorted(os.environ.items())
        if k.startswith("TENSORBUS_")
    }
    settings |= {k: os.environ.get(k, "(unset)") for k in THREADS}
    yield from _section("environment", settings)
    found = devices.answers(timeout)
    yield from _section("devices and overlays", dict(_described(found)))
    others = discovery.records(COMMS) + discovery.records(COMMANDS)
    yield from _section("other plugins", {f"{r.group} {r.name}": r.owner for r in others})
    reports = places(r.distribution for r in discovery.records() if r.group)
    yield from _section("where a report goes", reports)
    for answer in found:
        if answer.traceback:
            yield f"\n{answer.label}: what was raised or printed\n{answer.traceback.rstrip()}"


def _section(title: str, lines: dict[str, str]) -> Iterator[str]:
    yield f"{title}:"
    for name, value in lines.items() or {"(none)": ""}.items():
        yield f"  {name}: {value}".rstrip(": ")


def _versions() -> dict[str, str]:
    def of(distribution: str) -> str:
        try:
            return version(distribution)
        except PackageNotFoundError:
            return "(not installed)"

    # Without metadata a distribution has no name, whatever its type says.
    found = {str(d.name): d.version for d in distributions() if d.name}
    ours = {name: found[name] for name in sorted(found) if name.startswith("tensorbus-")}
    versions = {"tensorbus": __version__, **ours}
    if "tensorbus" in found and "tensorbus-core" in found:
        versions["mixed"] = (
            "the distribution tensorbus holds all that tensorbus-core and the other components "
            "hold: uninstall it and them, then install the one or the others"
        )
    return versions | {name: of(name) for name in ("numpy", "ml_dtypes", "pluggy", "rich")}


def _platform() -> dict[str, str]:
    affinity = getattr(os, "sched_getaffinity", None)
    usable = len(affinity(0)) if affinity else os.cpu_count()
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
        "system": platform.platform(),
        "machine": platform.machine(),
        "processors": f"{usable} usable of {os.cpu_count()}",
    }


def libraries() -> dict[str, str]:
    """What NumPy computes with."""
    import numpy as np

    built = np.show_config(mode="dicts") or {}
    blas = built.get("Build Dependencies", {}).get("blas", {})
    simd = built.get("SIMD Extensions", {})
    return {
        "BLAS": f"{blas.get('name', '(unknown)')} {blas.get('version', '')}".strip(),
        "BLAS configuration": str(blas.get("openblas configuration", "(unknown)")),
        "SIMD": " ".join([*simd.get("baseline", []), *simd.get("found", [])]),
    }


def _described(answers: list[Answer]) -> list[tuple[str, str]]:
    lines = []
    for answer in answers:
        owners = ", ".join(record.owner for record in devices.owners(answer))
        if not answer.devices:
            lines.append((answer.label, f"{answer.state} ({owners}): {answer.reason}"))
        for device in answer.devices:
            details = "".join(f"; {k} {v}" for k, v in device.details.items())
            lines.append((f"{answer.type}:{device.index}", f"{device.name} ({owners}){details}"))
    return lines

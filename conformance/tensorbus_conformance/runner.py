"""Runs cases on a device and says how each came out."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tensorbus import discovery, fallback_counts, get_fallback, set_fallback
from tensorbus.plugin import Backend
from tensorbus_conformance import clones, exceptions, formats, worker
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import select
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.exceptions import KnownGap
from tensorbus_conformance.found import load
from tensorbus_conformance.profile import find
from tensorbus_conformance.report import (
    BLOCKED,
    FAIL,
    FALLBACK,
    PASS,
    QUALITY,
    UNSUPPORTED,
    Report,
    Result,
)
from tensorbus_conformance.reporting import environment
from tensorbus_conformance.trial import Device, Trial, Unsupported


def find_backend(name: str) -> tuple[Backend, int]:
    """The backend and the device index that ``"cpu"`` or ``"cpu:0"`` names."""
    kind, _, index = name.partition(":")
    if index and not index.isdecimal():
        raise ValueError(f"a device is named like 'cpu' or 'cpu:0', got {name!r}")
    return discovery.backend(kind), int(index or 0)


def run(
    backend: str | Backend,
    level: str | Sequence[str] | None = None,
    pattern: str | None = None,
    *,
    profile: str = "full",
    isolate: bool = False,
    jobs: int = 1,
    index: int = 0,
    gaps: Sequence[KnownGap] | None = None,
    samples: str | Path | None = None,
    progress: Callable[[Result, int], None] | None = None,
) -> Report:
    """Run the suite on a backend and return its report.

    *backend* is a device's name or a ``Backend``; *profile* is core, training or full; *level*
    takes one level, or several, out of it; *pattern* is a glob over ids, or a text they contain.
    *isolate* runs the cases in processes of their own, *jobs* of them at a time, which needs a
    name. *gaps* replaces the entries of the package's exceptions file; *samples* is a file of
    calls that exploration found, to be run too. *progress* is called with each result and the
    number of cases. Raises ``ValueError`` for an unknown level or profile and ``ExceptionsError``
    for an unusable file.

    >>> from tensorbus_conformance import run
    >>> run("cpu", level="L1", pattern="L1/add/float32/*").ok
    True
    """
    if isolate and not isinstance(backend, str):
        raise ValueError("isolate needs the name of a device, which the other process looks up")
    if isinstance(backend, str):
        backend, index = find_backend(backend)
    levels = tuple(level.split(",")) if isinstance(level, str) else level
    chosen = select(levels, pattern, profile)
    if samples is not None:
        chosen += [found.case() for found in load(samples)]
    known = exceptions.load(backend) if gaps is None else list(gaps)
    report = Report(
        backend=backend.name,
        index=index,
        device=backend.capabilities(index).name,
        levels=tuple(levels or find(profile).levels),
        pattern=pattern,
        profile=profile,
        versions={},
    )
    environment.complete(report, backend)
    with discovery.plugged(backend) as type:
        begin = time.perf_counter()
        device = Device(backend, index, type)
        if isolate:
            results = worker.run_apart(f"{type}:{index}", chosen, known, jobs=jobs, samples=samples)
        else:
            results = (run_case(case, device, known) for case in chosen)
        for result in results:
            report.results.append(result)
            if progress is not None:
                progress(result, len(chosen))
        device.close()
        report.seconds = time.perf_counter() - begin
    order = {case.id: i for i, case in enumerate(chosen)}
    report.results.sort(key=lambda result: order[result.id])
    report.results[:] = _blocked(report.results)
    return report


def _blocked(results: Sequence[Result]) -> list[Result]:
    """The results, where a failure that a failing primitive explains counts as blocked.

    A known gap of a primitive explains none: a case that fails for it is a gap of its own.
    """
    broken = {"/".join(r.id.split("/")[1:3]) for r in results if r.id.startswith("L1/") and r.bad}
    found = []
    for r in results:
        causes = sorted(broken.intersection(r.used)) if r.outcome == FAIL else []
        if causes:
            text = f"needs the primitive {', '.join(causes)}, which fails; {r.message}"
            r = replace(r, outcome=BLOCKED, message=text)
        found.append(r)
    return found


def run_case(
    case: Case, device: Device, gaps: Sequence[KnownGap] = (), watch: bool = True
) -> Result:
    """Run one case; nothing that the backend raises leaves here.

    One that fails is run again with *watch*, for the kernels that it calls.
    """
    trial = Trial(device)
    before = fallback_counts()
    begin = time.perf_counter()
    outcome, message = _attempt(case, trial)
    seconds = time.perf_counter() - begin
    missing = _fell_back(before, device)
    if missing and outcome in (PASS, QUALITY):
        outcome, message = FALLBACK, f"ran on the CPU: {', '.join(missing)}"
    if watch and outcome == FAIL and case.level not in ("L0", "L1"):
        missing = _kernels_used(case, device)
    reason = exceptions.excuse(gaps, case.id)
    ulp = trial.ulp if trial.ulp is None or np.isfinite(trial.ulp) else None
    return Result(
        case.id, case.family, outcome, message, ulp, seconds, reason, missing, trial.relative
    )


def _kernels_used(case: Case, device: Device) -> tuple[str, ...]:
    """The kernels that a case calls, as ``op/dtype``: it is run again, and watched."""
    used: set[str] = set()
    with discovery.plugged(clones.watched(device.backend, used)) as type:
        watched = Device(discovery.backend(type), device.index, type)
        _attempt(case, Trial(watched))
        watched.close()
    return tuple(sorted(used))


def _fell_back(before: dict[str, int], device: Device) -> tuple[str, ...]:
    """The ops that ran on the CPU for the device since *before* was counted."""
    own = f" on {device.type.partition(':')[0]}"
    return tuple(
        where.removesuffix(own)
        for where, n in fallback_counts().items()
        if where.endswith(own) and n > before.get(where, 0)
    )


def _attempt(case: Case, trial: Trial) -> tuple[str, str]:
    missing = [d for d in case.dtypes if d not in trial.capabilities.dtypes]
    if missing:
        names = ", ".join(d.name for d in missing)
        if formats.MANDATORY.intersection(missing):
            return FAIL, f"the device does not claim {names}, which every device must have"
        return UNSUPPORTED, f"the device does not claim {names}"
    policy = get_fallback()
    try:
        set_fallback("allow")  # it is an outcome here, and needs no warning
        # NumPy's floating point warnings are silenced by the frontend; here they are no matter.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case.check(trial)
            trial.backend.synchronize(trial.index)
    except Unsupported as declared:
        return UNSUPPORTED, str(declared)
    except Mismatch as wrong:
        return FAIL, str(wrong)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        source = f"{where.filename.rpartition('/')[2]}:{where.lineno}"
        return FAIL, f"raised {type(error).__name__}: {error} (at {source})"
    finally:
        set_fallback(policy)
    if trial.notes:
        return QUALITY, trial.notes[0]
    return PASS, ""

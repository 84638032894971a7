"""The suite under pytest: ``pytest --pyargs tensorbus_conformance --backend cpu``."""

from __future__ import annotations

import warnings

import pytest

from tensorbus_conformance import exceptions, runner
from tensorbus_conformance.case import Case
from tensorbus_conformance.report import QUALITY, UNSUPPORTED
from tensorbus_conformance.trial import Device


@pytest.fixture(scope="session")
def conformance_target(request: pytest.FixtureRequest) -> tuple[Device, list[exceptions.KnownGap]]:
    """(device, exceptions) of the device that --backend names."""
    name = request.config.getoption("--backend") or request.config.getini("tensorbus_backend")
    if not name:
        raise pytest.UsageError("say which device to check: --backend cpu")
    backend, index = runner.find_backend(name)
    return Device(backend, index), exceptions.load(backend)


def test_case(
    conformance_case: Case, conformance_target: tuple[Device, list[exceptions.KnownGap]]
) -> None:
    """One case of the suite."""
    device, gaps = conformance_target
    result = runner.run_case(conformance_case, device, gaps)
    if result.outcome == UNSUPPORTED:
        pytest.skip(result.message)
    if result.stale:
        warnings.warn(f"an exception covers {result.id}, which passes", stacklevel=1)
    if result.outcome == QUALITY:
        warnings.warn(f"{result.id}: {result.message}", stacklevel=1)
    if result.outcome not in ("pass", QUALITY):
        if not result.bad:
            pytest.xfail(f"{result.excepted}: {result.message}")
        repro = f"tensorbus conformance {device.backend.name}:{device.index} -k '{result.id}'"
        pytest.fail(f"{result.id}: {result.message}\n    {repro}", pytrace=False)

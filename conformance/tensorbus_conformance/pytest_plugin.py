"""The pytest option ``--backend`` (entry-point group ``pytest11``).

A ``conftest.py`` inside a package is read too late for ``pytest --pyargs`` to know its options,
so this module is installed as a plugin. It imports the suite only when a test asks for a case.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare ``--backend`` and the ini setting of the same name."""
    group = parser.getgroup("tensorbus conformance")
    group.addoption("--backend", metavar="DEVICE", help="the device to check, such as cpu")
    group.addoption("--level", metavar="LEVELS", help="levels to run, such as L0,L1")
    group.addoption("--profile", metavar="NAME", default="full", help="core, training or full")
    parser.addini("tensorbus_backend", "the device that tensorbus_conformance checks")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each case, named by its id."""
    if "conformance_case" not in metafunc.fixturenames:
        return
    from tensorbus_conformance.cases import select

    levels = metafunc.config.getoption("--level")
    profile = metafunc.config.getoption("--profile")
    cases = select(levels.split(",") if levels else None, profile=profile)
    metafunc.parametrize("conformance_case", cases, ids=[case.id for case in cases])

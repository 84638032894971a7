"""JUnit XML, the form in which CI systems read test results."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from tensorbus_conformance.report import BLOCKED, CRASH, FAIL, FALLBACK, UNSUPPORTED, Report, Result
from tensorbus_conformance.reporting.text import printable

_SKIPPED = (UNSUPPORTED, FALLBACK, BLOCKED)


def to_junit(report: Report) -> str:
    """The report as XML: a suite for each level and family, a test case for each result.

    A failure is a ``failure``, a crash an ``error``; what is declared, excused, blocked or fell
    back to the CPU is ``skipped`` with its reason; a warning on quality is a pass with output.
    """
    suites = [_suite(report, family, found) for family, found in report.by_family().items()]
    totals = {
        key: str(sum(int(suite.attrib[key]) for suite in suites))
        for key in ("tests", "failures", "errors", "skipped")
    }
    name = printable(f"tensorbus conformance {report.target}")
    root = ET.Element("testsuites", {"name": name, **totals, "time": f"{report.seconds:.6f}"})
    root.extend(suites)
    declaration = '<?xml version="1.0" encoding="utf-8"?>'
    return f"{declaration}\n{ET.tostring(root, encoding='unicode')}\n"


def _suite(report: Report, family: str, results: list[Result]) -> ET.Element:
    suite = ET.Element(
        "testsuite",
        {
            "name": printable(family),
            "tests": str(len(results)),
            "failures": str(sum(r.bad and r.outcome == FAIL for r in results)),
            "errors": str(sum(r.bad and r.outcome == CRASH for r in results)),
            "skipped": str(sum(r.gap or r.outcome in _SKIPPED for r in results)),
            "time": f"{sum(r.seconds for r in results):.6f}",
            "timestamp": report.started,
        },
    )
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(report):
        ET.SubElement(properties, "property", {"name": printable(key), "value": printable(value)})
    group = printable(f"tensorbus_conformance.{family.replace(' ', '.')}")
    for result in results:
        _case(ET.SubElement(suite, "testcase"), report, result, group)
    return suite


def _case(case: ET.Element, report: Report, result: Result, group: str) -> None:
    case.attrib.update(
        {"classname": group, "name": printable(result.id), "time": f"{result.seconds:.6f}"}
    )
    message = printable(result.message)
    if result.bad:
        found = ET.SubElement(
            case,
            "failure" if result.outcome == FAIL else "error",
            {"type": result.outcome, "message": message},
        )
        found.text = f"{message}\n{printable(report.repro(result))}"
    elif result.gap:
        reason = printable(f"known gap: {result.excepted}: {result.message}")
        ET.SubElement(case, "skipped", {"type": "known gap", "message": reason})
    elif result.outcome in _SKIPPED:
        ET.SubElement(case, "skipped", {"type": result.outcome, "message": message})
    elif message:
        ET.SubElement(case, "system-out").text = f"{result.outcome}: {message}"


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    yield "device", f"{report.target} {report.device}"
    yield "profile", report.profile
    yield "levels", ",".join(report.levels)
    if report.pattern is not None:
        yield "pattern", report.pattern
    yield from ((f"version.{name}", version) for name, version in report.versions.items())
    yield from ((f"seed.{name}", str(seed)) for name, seed in report.seeds.items())
    if report.git is not None:
        yield from ((f"git.{key}", str(value)) for key, value in report.git.items())

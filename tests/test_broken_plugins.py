"""A broken plugin never takes the frontend or another backend down, and says whose it is.

All broken ones are installed at once, each as a distribution on disk, and looked at from processes
of their own. ``tests/test_discovery.py`` has the same failures one by one, with every text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SPEC = """
from tensorbus.plugin import ArrayLibraryBackend, BackendSpec, hookimpl
import numpy

class Mine(ArrayLibraryBackend):
    name = "{name}"
    xp = numpy
{body}

def nothing():
    pass

def fail(error):
    raise error

def missing():
    import no_such_npu_library

def hang():
    import time
    time.sleep(600)

@hookimpl
def tensorbus_backend():
    return BackendSpec("{name}", {arguments})
"""

KERNEL = """
    def kernel(self, op, dtype, index):
        found = super().kernel(op, dtype, index)
        if op not in ("exp", "add"):
            return found
        def broken(*operands, out=None):
            raise OSError("npu: the queue is gone")
        return broken
"""

CAPABILITIES = """
    def capabilities(self, index):
        raise OSError("npu: no answer from the card")
"""


def backend(name: str, arguments: str = "load=Mine", body: str = "") -> str:
    return SPEC.format(name=name, arguments=arguments, body=body)


# device type: (source, what the message says of the cause, what to do)
BROKEN: dict[str, tuple[str, str, str]] = {
    "atimport": (
        "raise OSError('libnpu.so: cannot open')",
        "OSError: libnpu.so: cannot open",
        "reinstall or remove acme-atimport",
    ),
    "atprobe": (
        backend("atprobe", "Mine, lambda: fail(OSError('no card')), install='plug one in'"),
        "OSError: no card",
        "plug one in",
    ),
    "atload": (
        backend("atload", "lambda: fail(ValueError('firmware 0.1'))"),
        "ValueError: firmware 0.1",
        "reinstall or remove acme-atload",
    ),
    "dependency": (
        backend("dependency", "Mine, missing, install='pip install acme-dependency[npu]'"),
        "No module named 'no_such_npu_library'",
        "pip install acme-dependency[npu]",
    ),
    "requires": (
        backend("requires", "missing, requires=('acme-npulib', 'numpy')"),
        "No module named 'no_such_npu_library'",
        "pip install acme-npulib numpy",
    ),
    "toonew": (
        backend("toonew", "Mine, api=99"),
        "acme-toonew 1.0 was written for version 99 of the plugin contract",
        "install a newer tensorbus",
    ),
    "twice": (
        backend("twice"),
        "claimed by 2 distributions, acme-second 1.0 and acme-twice 1.0",
        "uninstall all but one",
    ),
}

FATAL = {
    "hangs": (backend("hangs", "Mine, hang"), "no answer within 1.5 seconds", "wait longer with"),
    "crashes": ("import os\nos.abort()", "was killed by SIGABRT", "reinstall the plugin"),
}
"""What a process that asks for the device cannot survive, but ``tensorbus devices`` does."""

IN_USE = {
    "atkernel": backend("atkernel", body=KERNEL),
    "capabilities": backend("capabilities", body=CAPABILITIES),
}

PROGRAM = """
import json, sys, traceback, warnings
import tensorbus

def error(call):
    try:
        call()
    except Exception as e:
        return [type(e).__name__, str(e), "".join(traceback.format_exception(e))]
    return ["nothing", "", ""]

def cpu():
    return (tensorbus.ones(3) + 1).exp().sum().item()

first = cpu()
found = {name: error(lambda: tensorbus.ones(2, device=name)) for name in sys.argv[1:]}
found["capabilities"] = error(lambda: tensorbus.ones(2, device="capabilities"))
x = tensorbus.ones(2, device="atkernel")
found["atkernel"] = error(x.exp)
found["in place"] = error(lambda: x.add_(1))
x.requires_grad_()
found["gradient"] = error((x * x).exp)
found["works"] = (x * 3).tolist()
found["cpu"] = [first, cpu()]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a process that has all the broken distributions on its path."""
    root = tmp_path_factory.mktemp("broken")
    sources = {n: s for n, (s, *_) in (BROKEN | FATAL).items()} | IN_USE
    for name, source in sources.items():
        distribution(root, name, name, source)
    distribution(root, "second", "twice", backend("twice"))
    return {**os.environ, "PYTHONPATH": str(root), "TENSORBUS_PLUGINS": ",".join(["cpu", *sources])}


def distribution(root: Path, owner: str, device: str, source: str) -> None:
    info = root / f"acme_{owner}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme-{owner}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[tensorbus.backends]\n{device} = acme_{owner}\n")
    (root / f"acme_{owner}.py").write_text(source)


@pytest.fixture(scope="module")
def program(environment: dict[str, str]) -> Any:
    """What a program saw that asked for each device in turn, and for the CPU before and after."""
    command = [sys.executable, "-c", PROGRAM, *BROKEN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def table(environment: dict[str, str]) -> dict[str, list[str]]:
    """The rows of ``tensorbus devices``, by their first cell."""
    program = (
        "import json, os; from tensorbus.cli import devices; found = devices.answers(240.0)\n"
        "os.environ['TENSORBUS_PLUGINS'] = 'hangs'; from tensorbus import discovery\n"
        "discovery.reset(); found += [a for a in devices.answers(1.5) if a.type == 'hangs']\n"
        "print(json.dumps(devices.rows(found)))"
    )
    command = [sys.executable, "-c", program]
    plugins = environment["TENSORBUS_PLUGINS"].replace("hangs,", "")
    variables = {**environment, "TENSORBUS_PLUGINS": plugins}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return {row[0]: row for row in json.loads(done.stdout)}


def test_the_import_and_the_cpu_work_before_and_after(program: Any) -> None:
    first, last = program["cpu"]
    assert first == last == pytest.approx(3 * 7.38905609893065)


@pytest.mark.parametrize("name", BROKEN)
def test_asking_for_it_says_whose_it_is_why_and_what_to_do(name: str, program: Any) -> None:
    _, cause, remedy = BROKEN[name]
    kind, text, _ = program[name]
    assert kind == "RuntimeError"
    assert f"acme-{name} 1.0" in text
    assert cause in text and remedy in text


@pytest.mark.parametrize("name", [*BROKEN, *FATAL])
def test_it_is_a_row_of_the_devices(name: str, table: Any) -> None:
    _, cause, remedy = (BROKEN | FATAL)[name]
    _, _, owner, state, *_, why = table[name]
    assert f"acme-{name} 1.0" in owner
    assert state in ("not usable", "no answer", "crashed")
    assert cause.removeprefix("OSError: ").removeprefix("ValueError: ") in why
    assert remedy in why


def test_the_others_have_their_rows(table: Any) -> None:
    assert table["cpu:0"][3] == "usable" and table["atkernel:0"][3] == "usable"
    assert "no answer from the card" in table["capabilities"][-1]


def test_the_command_prints_that_table_and_succeeds(environment: dict[str, str]) -> None:
    chosen = {**environment, "TENSORBUS_PLUGINS": "atload"}
    command = [sys.executable, "-m", "tensorbus", "devices"]
    done = subprocess.run(command, env=chosen, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "acme-atload 1.0" in done.stdout and "firmware 0.1" in done.stdout


@pytest.mark.parametrize("call", ["atkernel", "in place", "gradient"])
def test_what_a_kernel_raises_arrives_as_it_is(call: str, program: Any) -> None:
    kind, text, trace = program[call]
    assert (kind, text) == ("OSError", "npu: the queue is gone")
    assert "acme_atkernel.py" in trace
    op = "add" if call == "in place" else "exp"
    assert f"{op} on device atkernel:0 ran in the plugin 'atkernel' of acme-atkernel 1.0" in trace
    assert "update or remove acme-atkernel, leave it out with TENSORBUS_PLUGINS" in trace


def test_what_capabilities_raises_arrives_as_it_is(program: Any) -> None:
    kind, text, trace = program["capabilities"]
    assert (kind, text) == ("OSError", "npu: no answer from the card")
    assert "acme_capabilities.py" in trace


def test_the_other_kernels_of_that_device_work_on(program: Any) -> None:
    assert program["works"] == [3.0, 3.0]


WARNING_KERNEL = """
    def kernel(self, op, dtype, index):
        if op == "exp":
            return lambda x, out=None: numpy.exp(x, out=out) + 0
        if op == "add":
            def add(x, y, out=None):
                result = numpy.add(x, y)
                if out is None:
                    return result
                out[...] = result
                return out
            return add
        return super().kernel(op, dtype, index)
"""


def test_float_warnings_as_errors_are_neither_endless_nor_lost(tmp_path: Path) -> None:
    """A plugin's own function warns under a module name that the frontend's filter has not."""
    distribution(tmp_path, "warns", "warns", backend("warns", body=WARNING_KERNEL))
    program = (
        "import warnings; warnings.simplefilter('error'); import tensorbus as t\n"
        "x = t.tensor([1000.0, 1.0], device='warns')\n"
        "assert x.exp()[0].item() == float('inf')\n"
        "y = t.full((2,), 3e38, device='warns')\n"
        "try:\n    y.add_(y)\nexcept RuntimeWarning:\n    pass\n"
        "else:\n    assert y.tolist() == [float('inf')] * 2\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr

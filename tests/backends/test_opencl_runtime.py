"""What only the OpenCL backend has: discovery of devices, its errors, its memory and its queue."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from tensorbus._base import dtypes

FIND = "import tensorbus_opencl.devices as d\ntry: d.probe()\nexcept RuntimeError as e: print(e)\n"


def run(code, **environment):
    import os

    env = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_entry_module_does_not_import_the_library():
    code = (
        "import sys, tensorbus_opencl\n"
        "spec = tensorbus_opencl.tensorbus_backend()\n"
        "print(spec.name, spec.requires, spec.install, 'pyopencl' in sys.modules)\n"
    )
    assert run(code) == "opencl ('pyopencl',) pip install 'tensorbus[opencl]' False\n"


def test_probe_names_the_missing_package_and_the_remedy():
    text = run("import sys; sys.modules['pyopencl'] = None\n" + FIND)
    assert "needs the package pyopencl" in text
    assert "pip install 'tensorbus[opencl]'" in text


def test_probe_names_the_missing_driver_and_the_remedy(tmp_path):
    pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    text = run(FIND, OCL_ICD_VENDORS=str(tmp_path), OCL_ICD_FILENAMES="")
    assert "no OpenCL platform" in text
    assert "pocl-opencl-icd" in text


def test_capabilities(opencl):
    backend = opencl.backend
    assert backend.device_count() >= 1
    found = backend.capabilities(0)
    assert found.name and found.memory_total > 0
    assert {"float32", "int32", "int64", "uint8", "int8", "int16", "bool"} <= {
        d.name for d in found.dtypes
    }
    assert (dtypes.float64 in found.dtypes) == backend.dialect(0).float64
    assert found.details["platform"]


def test_undeclared_dtypes_have_no_kernels(opencl):
    assert opencl.backend.kernel("add", dtypes.complex64, 0) is None
    assert opencl.backend.kernel("add", dtypes.bool, 0) is None
    assert opencl.backend.kernel("no_such_op", dtypes.float32, 0) is None
    with pytest.raises(TypeError, match="no kernels for complex numbers"):
        opencl.backend.scalar(1j, dtypes.complex64)


def test_division_and_roots_are_correctly_rounded(opencl):
    rng = np.random.default_rng(0)
    x, y = (rng.lognormal(0, 8, 20_000).astype("float32") for _ in range(2))
    assert (opencl("div", x, y) == x / y).all()
    assert (opencl("sqrt", x) == np.sqrt(x)).all()
    assert (opencl("mul", x, y) == x * y).all()


def test_transcendentals_are_within_their_bounds(opencl):
    x = np.concatenate([
        np.random.default_rng(1).normal(0, 20, 20_000),
        np.geomspace(1e-30, 1e4, 5000),
        -np.geomspace(1e-30, 80, 5000),
    ]).astype("float32")  # fmt: skip
    for op, bound in [("exp", 3), ("expm1", 3), ("log", 3), ("log1p", 2), ("sin", 4), ("cos", 4),
                      ("tanh", 5)]:  # fmt: skip
        with np.errstate(all="ignore"):
            want = getattr(np, op)(x.astype(np.float64))
            got = opencl(op, x).astype(np.float64)
            kept = np.isfinite(want) & (np.abs(want) < 3e38)
            least = np.finfo(np.float32).tiny
            ulp = np.spacing(np.maximum(np.abs(want[kept]), least).astype("float32"))
        error = np.abs(got[kept] - want[kept]) / ulp
        assert error.max() <= bound, (op, error.max(), x[kept][error.argmax()])


def test_buffers_are_freed_with_their_arrays(opencl):
    backend = opencl.backend
    before = backend.memory_allocated(0)
    array = backend.empty((1 << 20,), dtypes.float32, 0)
    assert backend.memory_allocated(0) - before >= 1 << 22
    view = backend.as_strided(array, (4,), (1,), 9, dtypes.float32, dtypes.float32)
    del array
    assert backend.memory_allocated(0) - before >= 1 << 22
    del view
    assert backend.memory_allocated(0) == before
    backend.empty_cache()


def test_threads_share_kernels(opencl):
    add = opencl.kernel("add", "float32")
    wrong = []

    def work(k):
        x = opencl.put(np.full(100, k, "float32"))
        for _ in range(200):
            result = add(x, x)
        if not (opencl.get(result) == 2 * k).all():
            wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_launches_are_queued_in_order(opencl):
    x = opencl.put(np.zeros(1000, "float32"))
    add = opencl.kernel("add", "float32")
    for _ in range(300):
        add(x, 1.0, out=x)
    assert (opencl.get(x) == 300).all()


def test_a_process_ends_after_its_last_kernel(opencl):
    """What is registered first is called last: after the backend's own waiting."""
    code = (
        "import atexit\n"
        "atexit.register(lambda: print(done(queue.last)))\n"
        "import tensorbus as torch\n"
        "from tensorbus import discovery\n"
        "from tensorbus_opencl.streams import done\n"
        "x = torch.ones(600, 600, device='opencl')\n"
        "queue = discovery.backend('opencl').current_queue(0)\n"
        "for _ in range(20): x = x @ x\n"
        "queue.mark()\n"
        "print(done(queue.last))\n"
    )
    assert run(code) == "False\nTrue\n"


def test_many_elements(opencl):
    n = (1 << 20) + 3
    x = np.arange(n, dtype="int32")
    assert (opencl("add", x, x) == 2 * x).all()
    grid = x[: 1 << 20].reshape(1 << 10, 1 << 10)
    assert (opencl("add", grid.T, grid) == grid.T + grid).all()

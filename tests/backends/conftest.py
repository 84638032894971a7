"""Backends whose kernels are generated: plain C through the host's compiler, and OpenCL."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tensorbus._base import dtypes
from tensorbus.graph.reading import read
from tensorbus.graph.verifying import verify
from tensorbus.plugin import Capabilities, KernelLanguageBackend
from tensorbus.plugin.kernel_language import Dialect
from tensorbus.plugin.kernel_language.vector_maths import POLYNOMIALS

REQUIRED = {name for name in os.environ.get("TENSORBUS_REQUIRE", "").split(",") if name}

PRELUDE = """
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tgmath.h>
typedef int8_t i8; typedef uint8_t u8; typedef int16_t i16; typedef int32_t i32;
typedef uint32_t u32; typedef int64_t i64; typedef uint64_t u64;
typedef float f32; typedef double f64; typedef _Float16 f16;
#define KERNEL
#define GLOBAL
#define FUNCTION static inline
static i64 ITEM, ROW;
#define LOAD_HALF(p, i) ((float)(p)[i])
#define STORE_HALF(p, i, v) ((p)[i] = (_Float16)(v))
static inline u32 BITS32(float x) { u32 u; memcpy(&u, &x, 4); return u; }
static inline u64 BITS64(double x) { u64 u; memcpy(&u, &x, 8); return u; }
static inline float FLOAT32(u32 u) { float x; memcpy(&x, &u, 4); return x; }
static inline double FLOAT64(u64 u) { double x; memcpy(&x, &u, 8); return x; }
#define MULHI(a, b) ((u64)(((unsigned __int128)(a) * (b)) >> 64))
#define CAS32(p, old, new) __sync_val_compare_and_swap(p, old, new)
#define CAS64(p, old, new) __sync_val_compare_and_swap(p, old, new)
typedef float VECTOR __attribute__((vector_size(16), aligned(4), may_alias));
#define VLOAD(p) (*(const VECTOR *)(p))
#define VSTORE(p, v) (*(VECTOR *)(p) = (v))
#define SPLAT(x) ((VECTOR){0} + (x))
#define MULADD(a, b, c) ((a) * (b) + (c))
"""
C_TYPES = {"u8": ctypes.c_uint8, "i8": ctypes.c_int8, "i16": ctypes.c_int16,
           "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64,
           "u64": ctypes.c_uint64, "f32": ctypes.c_float, "f64": ctypes.c_double}  # fmt: skip
FLAGS = ["-O0", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing"]


class CBackend(KernelLanguageBackend):
    """The smallest device there is: host memory, and a loop around each kernel."""

    name = "c"

    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder
        self.launches = 0
        # Compiled once: half of what a kernel takes the compiler are the headers.
        header = folder / "prelude.h"
        header.write_text(PRELUDE)
        subprocess.run(["gcc", "-x", "c-header", header, "-o", f"{header}.gch", *FLAGS], check=True)

    def device_count(self):
        return 2

    def capabilities(self, index):
        return Capabilities("host", self.supported(index))

    def dialect(self, index):
        return Dialect(
            '#include "prelude.h"\n', group=8, atomics64=True, vector=4, units=4,
            polynomials=POLYNOMIALS, tiles=True,
        )  # fmt: skip

    def alloc(self, index, nbytes):
        # 0xA5 everywhere: a kernel that forgets an element is seen.
        return np.full(-(-nbytes // 8), 0xA5A5A5A5A5A5A5A5, np.uint64)

    def upload(self, index, buffer, values):
        ctypes.memmove(buffer.ctypes.data, values.ctypes.data, values.nbytes)

    def download(self, index, buffer, start, values):
        ctypes.memmove(values.ctypes.data, buffer.ctypes.data + start, values.nbytes)

    def build(self, index, source, name, types):
        names = [f"a{k}" for k in range(len(types))]
        listed = ", ".join(f"{t or 'void *'} {a}" for t, a in zip(types, names, strict=True))
        source += (
            f"\nvoid run(i64 columns, i64 rows, {listed}) {{\n"
            f"for (ROW = 0; ROW < rows; ROW++) for (ITEM = 0; ITEM < columns; ITEM++)\n"
            f"{name}({', '.join(names)}); }}\n"
        )
        stem = tempfile.mktemp(dir=self.folder)
        Path(stem + ".c").write_text(source)
        command = ["gcc", stem + ".c", "-o", stem + ".so", *FLAGS, "-shared", "-lm"]
        subprocess.run(command, check=True)
        run = ctypes.CDLL(stem + ".so").run
        run.argtypes = [ctypes.c_int64, ctypes.c_int64] + [
            C_TYPES[t] if t else ctypes.c_void_p for t in types
        ]
        run.restype = None

        def launch(size, *arguments):
            self.launches += 1
            columns, rows = (*size, 1)[:2]
            assert columns % 8 == 0
            pointers = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
            run(columns, rows, *pointers)

        return launch

    def finish(self, index):
        pass


class Device:
    """Short ways to a backend's arrays and kernels, for tests."""

    def __init__(self, backend):
        self.backend = backend

    def kernel(self, op, dtype):
        """The kernel of *op* for a NumPy dtype's name."""
        found = self.backend.kernel(op, dtypes.dtype_by_name(str(dtype)), 0)
        assert found is not None, f"no kernel for {op} on {dtype}"
        return found

    def put(self, x):
        """The array *x* on the device, with *x*'s own strides and an offset."""
        d = dtypes.dtype_by_name(x.dtype.name)
        low, high = 0, 0
        for n, s in zip(x.shape, x.strides, strict=True):
            low += min(0, (n - 1) * s)
            high += max(0, (n - 1) * s)
        if x.size == 0:
            return self.backend.from_host(x, d, 0)
        memory = np.full((high - low) // x.itemsize + 4, 77).astype(x.dtype)
        start = -low // x.itemsize + 3
        strides = tuple(s // x.itemsize for s in x.strides)
        view = np.lib.stride_tricks.as_strided(memory[start:], x.shape, x.strides)
        view[...] = x
        whole = self.backend.from_host(memory, d, 0)
        return self.backend.as_strided(whole, x.shape, strides, start, d, d)

    def get(self, array):
        """The values of a device array."""
        return self.backend.to_host(array, array.dtype)

    def __call__(self, op, *arguments, dtype=None, **options):
        """Run *op* on NumPy arrays (and numbers) and give a NumPy array."""
        first = next(a for a in arguments if isinstance(a, np.ndarray))
        run = self.kernel(op, dtype or first.dtype)
        moved = [self.put(a) if isinstance(a, np.ndarray) else a for a in arguments]
        return self.get(run(*moved, **options))


@pytest.fixture(scope="session", params=["c", "opencl"])
def generated(request, tmp_path_factory):
    """A device whose kernels the generator writes; skips what this machine cannot run."""
    if request.param == "c":
        if shutil.which("gcc") is None:
            pytest.skip("generated C needs gcc")
        return Device(CBackend(tmp_path_factory.mktemp("kernels")))
    return opencl_device()


@pytest.fixture
def compiled(generated):
    """What compiles the text of a graph on a device whose kernels the generator writes."""

    def compile(text):
        graph = read(text.strip())
        verify(graph)
        kernel = generated.backend.compile(graph, 0)
        assert kernel is not None
        return kernel

    return compile


@pytest.fixture(scope="session")
def opencl():
    """The first OpenCL device."""
    return opencl_device()


def opencl_device():
    from tensorbus_opencl.devices import probe

    try:
        probe()
    except RuntimeError as error:
        if "opencl" in REQUIRED:
            pytest.fail(f"TENSORBUS_REQUIRE has opencl: {error}", pytrace=False)
        pytest.skip(str(error))
    from tensorbus_opencl.backend import OpenCLBackend

    return Device(OpenCLBackend())


# Each kernel takes the driver's compiler a tenth of a second. The same texts are compiled as C in
# every dtype; on OpenCL the others follow in the slow lane, as in the suite's profile core.
FAST_DTYPES = ("float32",)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks tests of other dtypes on OpenCL as slow."""
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        dtype = params.get("name", params.get("source"))
        if params.get("generated") == "opencl" and dtype not in (None, *FAST_DTYPES):
            item.add_marker("slow")

"""What ``import tensorbus`` loads: the engine and the ops. Every other room waits to be touched."""

from __future__ import annotations

import subprocess
import sys

ENGINE = """
    _C _base _device _dispatch _tensor autograd discovery op_engine ops plugin random return_types
    rows storage utils version
""".split()
PROGRAM = """
import sys
import numpy
before = set(sys.modules)
import gc
import tensorbus as torch
assert gc.isenabled()
print(*{name.split(".")[1] for name in sys.modules if name.startswith("tensorbus.")})
print(*sys.modules.keys() - before & {
    "cupy", "ml_dtypes", "multiprocessing", "numpy.testing", "pathlib", "pyopencl", "rich", "scipy",
    "socket", "tempfile",
})
torch.ones(2).__array_namespace__()
print("tensorbus.array_api" in sys.modules)
"""


def test_a_program_loads_what_it_touches() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    rooms, libraries, touched = done.stdout.split("\n")[:3]
    assert sorted(rooms.split()) == ENGINE, done.stderr
    assert libraries == "" and touched == "True"

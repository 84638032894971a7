"""What ``import tensorbus`` loads: the engine and some ops. All else waits to be touched."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from tensorbus.ops import families, later

ENGINE = """
    _C _base _device _dispatch _tensor autograd discovery op_engine ops plugin return_types rows
    storage utils version
""".split()
MODULES = 170
"""Each costs a part of a millisecond: what few programs use is imported when it is."""
PROGRAM = """
import sys
import numpy
before = set(sys.modules)
import gc
import tensorbus as torch
assert gc.isenabled()
print(*{name.split(".")[1] for name in sys.modules if name.startswith("tensorbus.")})
print(*sys.modules.keys() - before & {
    "cupy", "ml_dtypes", "multiprocessing", "numpy.testing", "pathlib", "pkgutil",
    "pyopencl", "rich", "scipy",
    "socket", "tempfile",
})
print(len([name for name in sys.modules if name.startswith("tensorbus")]))
torch.ones(2).__array_namespace__()
print("tensorbus.array_api" in sys.modules)
"""


def run(program: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_loads_what_it_touches() -> None:
    rooms, libraries, count, touched = run(PROGRAM).split("\n")[:4]
    assert sorted(rooms.split()) == ENGINE
    assert libraries == "" and touched == "True"
    assert int(count) <= MODULES


def test_no_module_waits_that_is_imported_at_once() -> None:
    waiting = {line.split()[1] for line in later.LATER.splitlines()}
    assert waiting and not waiting.intersection(families.AT_ONCE)


TOUCHES = {
    "function": ("torch.logdet", "linalg.determinants"),
    "method": ("torch.Tensor.logdet", "linalg.determinants"),
    "method of a tensor": ("torch.ones(2, 2).logdet()", "linalg.determinants"),
    "method in place": ("torch.ones(2).index_fill_(0, torch.tensor([0]), 1)", "indexing.gathering"),
    "function in place": ("torch.logit_(torch.ones(2))", "pointwise.special"),
    "namespace": ("torch.linalg.det", "linalg.determinants"),
    "function of a namespace alone": ("torch.special.airy_ai", "pointwise.airy"),
    "kernel": ("torch.ones(2, 2)._k.determinant", "linalg.determinants"),
    "import": ("__import__('tensorbus', fromlist=['lu']).lu", "linalg.lu_functions"),
    "pickled function": ("pickle.loads(b'ctensorbus\\nlogdet\\n.')", "linalg.determinants"),
    "pickled result": ("pickle.loads(b'ctensorbus.return_types\\nslogdet\\n.')",
                       "linalg.determinants"),
    "subclass": ("type('C', (torch.Tensor,), {})().logdet", "linalg.determinants"),
}  # fmt: skip


@pytest.mark.parametrize("touch", TOUCHES)
def test_what_is_touched_is_there(touch: str) -> None:
    expression, module = TOUCHES[touch]
    run(f"""
        import pickle, sys
        import tensorbus as torch
        module = "tensorbus.ops.{module}"
        assert module not in sys.modules
        assert {{"logdet", "lu", "det", "where"}} <= {{*dir(torch)}} & {{*dir(torch.Tensor), "lu"}}
        assert module not in sys.modules
        {expression}
        assert module in sys.modules or {touch == "kernel"}
        """)


def test_a_kernel_of_a_row_that_waits_is_found() -> None:
    run("""
        import sys
        import tensorbus as torch
        k = torch.ones(2)._k
        assert "tensorbus.ops.pointwise.special" not in sys.modules
        assert abs(float(k.erf(torch.tensor([0.5])._a)[0]) - 0.5204998778) < 1e-6
        assert "tensorbus.ops.pointwise.special" in sys.modules
        """)


def test_super_finds_the_method_of_the_class_above() -> None:
    run("""
        import tensorbus as torch

        class Plain(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl
            def logdet(self):
                return super().logdet() + 1

        assert torch.eye(2).as_subclass(Plain).logdet() == 1
        """)


def test_threads_that_touch_a_module_at_once_wait_for_its_end() -> None:
    run("""
        import threading
        import tensorbus as torch
        from tensorbus._base.table import Table
        from tensorbus.op_engine.names import FUNCTIONS, Later

        half_way, touching = threading.Event(), threading.Event()
        plain = Table.__setitem__

        def stopping(self, name, value):
            plain(self, name, value)
            if name == "index_fill" and self is FUNCTIONS:  # of whose module more follows
                half_way.set()
                touching.wait()
                assert type(vars(torch.Tensor)["gather"]) is Later
                assert not dict.__contains__(FUNCTIONS, "gather")

        Table.__setitem__ = stopping
        x, found = torch.ones(3), []

        def first():
            found.append(torch.index_fill(x, 0, torch.tensor([1]), 2.0).tolist())

        def second():
            half_way.wait()
            touching.set()
            found.append(x.gather(0, torch.tensor([1])).tolist())

        threads = [threading.Thread(target=f) for f in (first, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [[1.0], [1.0, 2.0, 1.0]]
        """)


def test_a_module_that_was_interrupted_is_imported_again() -> None:
    run("""
        import sys
        import tensorbus as torch
        from tensorbus._base.table import Table

        plain = Table.__setitem__

        def interrupted(self, name, value):
            plain(self, name, value)
            if name == "logdet":
                raise KeyboardInterrupt

        Table.__setitem__ = interrupted
        for touch in (lambda: torch.logdet, lambda: torch.eye(2).logdet()):
            try:
                touch()
            except KeyboardInterrupt:
                continue
            raise AssertionError
        Table.__setitem__ = plain
        assert torch.eye(2).logdet() == 0 and torch.logdet(torch.eye(2)) == 0
        """)


def test_a_name_that_no_module_declares_after_all_is_missing() -> None:
    run("""
        import tensorbus as torch
        from tensorbus.op_engine.names import FUNCTIONS, METHODS

        for table in (FUNCTIONS, METHODS):
            table.await_names("tensorbus.ops.linalg.lobpcg", ["nothing"])
            try:
                table["nothing"]
            except KeyError:
                continue
            raise AssertionError
        assert not hasattr(torch, "nothing") and "nothing" not in FUNCTIONS
        """)

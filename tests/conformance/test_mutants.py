"""Each mutant of the cpu backend must be caught, by the case whose subject it breaks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorbus import discovery, plugin
from tensorbus.plugin import Backend, Kernel, dtype
from tensorbus_conformance import run

CPU = type(discovery.backend("cpu"))

Mutation = Callable[[Kernel], Kernel]


def mutant(ops: str | tuple[str, ...], mutate: Mutation) -> Backend:
    """The cpu backend with some of its kernels changed."""
    changed = (ops,) if isinstance(ops, str) else ops

    class Mutant(CPU):
        def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
            kernel = super().kernel(op, dtype, index)
            return mutate(kernel) if op in changed and kernel is not None else kernel

    return Mutant()


def wrong_on_strided(kernel: Kernel) -> Kernel:
    def add(x: Any, y: Any, out: Any = None) -> Any:
        if isinstance(x, np.ndarray) and x.ndim and x.base is not None:
            # Reads the memory in its own order, as a kernel that forgets the strides does.
            flat = x.base.reshape(-1)[: x.size]
            x = np.resize(flat, x.shape)
        return kernel(x, y) if out is None else kernel(x, y, out=out)

    return add


def wraps_indices(kernel: Kernel) -> Kernel:
    return lambda x, dim, i, wrap: np.take(x, i % x.shape[dim], axis=dim)


def clamps_indices(kernel: Kernel) -> Kernel:
    def put(out: Any, dim: int, i: Any, src: Any, op: str, wrap: bool) -> Any:
        n = out.shape[dim]
        return kernel(out, dim, np.clip(i, -n if wrap else 0, n - 1), src, op, wrap)

    return put


def drops_last(kernel: Kernel) -> Kernel:
    def total(x: Any, dims: tuple[int, ...], dtype: Any, out: Any = None) -> Any:
        if x.shape[dims[0]] > 1:
            x = np.delete(x, -1, axis=dims[0])
        return kernel(x, dims, dtype) if out is None else kernel(x, dims, dtype, out=out)

    return total


def single_precision(kernel: Kernel) -> Kernel:
    def multiply(x: Any, y: Any, out: Any = None) -> Any:
        narrow = [np.asarray(a, np.float32) for a in (x, y)]
        found = kernel(*narrow).astype(np.float64)
        if out is None:
            return found
        out[...] = found
        return out

    return multiply


def narrow_result(kernel: Kernel) -> Kernel:
    return lambda x, out=None: kernel(x).astype(np.float32) if out is None else kernel(x, out=out)


def ignores_out(kernel: Kernel) -> Kernel:
    return lambda x, y, out=None: kernel(x, y)


def aliases(kernel: Kernel) -> Kernel:
    def absolute(x: Any, out: Any = None) -> Any:
        if out is not None:
            return kernel(x, out=out)
        x[...] = kernel(x)
        return x

    return absolute


def aliased_take(kernel: Kernel) -> Kernel:
    def take(x: Any, dim: int, i: Any, wrap: bool) -> Any:
        whole = i.shape[0] == 1 and int(i[0]) == x.shape[dim] - 1
        return x[x.shape[dim] - 1 :] if whole and x.ndim == 1 else kernel(x, dim, i, wrap)

    return take


def unsteady(kernel: Kernel) -> Kernel:
    calls = itertools.count()

    def product(a: Any, b: Any, dtype: Any, out: Any = None) -> Any:
        if next(calls) % 2:
            a, b = np.flip(a, -1), np.flip(b, -2)
        found = np.zeros((*a.shape[:-1], b.shape[-1]), dtype)
        for k in range(a.shape[-1]):
            found += a[..., k : k + 1].astype(dtype) * b[..., k : k + 1, :].astype(dtype)
        if out is None:
            return found
        out[...] = found
        return out

    return product


def sloppy(kernel: Kernel) -> Kernel:
    def exp(x: Any, out: Any = None) -> Any:
        found = (kernel(x) * np.asarray(1 + 40 * np.finfo(x.dtype).eps, x.dtype)).astype(x.dtype)
        if out is None:
            return found
        out[...] = found
        return out

    return exp


def unstable(kernel: Kernel) -> Kernel:
    def argsort(x: Any, dim: int) -> Any:
        n = x.shape[dim]
        return (n - 1 - kernel(np.flip(x, dim), dim)).astype(np.int64)

    return argsort


def spills(kernel: Kernel) -> Kernel:
    def subtract(x: Any, y: Any, out: Any = None) -> Any:
        if out is None:
            return kernel(x, y)
        kernel(x, y, out=out)
        if out.base is not None and out.ndim:
            out.base.reshape(-1)[-1] = 0
        return out

    return subtract


def early_counter(kernel: Kernel) -> Kernel:
    return lambda key, offset, n: kernel(key, (offset + 1) % 2**256, n)


def c_remainder(kernel: Kernel) -> Kernel:
    return lambda x, y, out=None: np.remainder(x, y, out=out)


def one_nan(kernel: Kernel) -> Kernel:
    return lambda x, y, out=None: np.fmax(x, y, out=out)


def masked_counts(kernel: Kernel) -> Kernel:
    """Shifts by the lower bits of a count, as processors do."""
    return lambda x, y, out=None: kernel(x, np.bitwise_and(y, x.dtype.type(7)), out=out)


def saturating(kernel: Kernel) -> Kernel:
    def add(x: Any, y: Any, out: Any = None) -> Any:
        d = np.result_type(x, y)
        ends = np.iinfo(d) if d.kind in "iu" else np.finfo(d)
        wide = np.add(x, y, dtype=np.float64)
        found = np.clip(wide, ends.min, ends.max).astype(d)
        return found if out is None else np.copyto(out, found) or out

    return add


def by_floats(kernel: Kernel) -> Kernel:
    def compute(x: Any, y: Any, out: Any = None) -> Any:
        d = np.result_type(x, y)
        with np.errstate(all="ignore"):
            found = kernel(np.float64(x), np.float64(y)).astype(d)
        return found if out is None else np.copyto(out, found) or out

    return compute


MUTANTS = {
    "wrong-on-strided": ("add", wrong_on_strided, "L1/add/float32/strided"),
    "wraps-out-of-range-indices": ("take", wraps_indices, "L1/take/float32/fault5"),
    "clamps-out-of-range-indices": ("put", clamps_indices, "L1/put/float32/fault5"),
    "drops-last-element": (("sum", "prod"), drops_last, "L1/sum/int32/contiguous"),
    "float32-for-float64": ("mul", single_precision, "L1/mul/float64/contiguous"),
    "returns-float32-for-float64": ("sqrt", narrow_result, "L1/sqrt/float64/contiguous"),
    "ignores-out": ("add", ignores_out, "L1/add/float32/out"),
    "aliases-its-input": ("abs", aliases, "L1/abs/float32/contiguous"),
    "aliases-a-slice": ("take", aliased_take, "L1/take/float32/one"),
    "not-deterministic": ("matmul", unsteady, "L1/matmul/float32/repeat"),
    "sloppy-exp": ("exp", sloppy, "L1/exp/float32/contiguous"),
    "unstable-argsort": ("argsort", unstable, "L1/argsort/int32/contiguous"),
    "writes-around-out": ("sub", spills, "L1/sub/float32/out-strided"),
    "counter-off-by-one": ("random_bits", early_counter, "L1/random_bits/int64/known0"),
    "remainder-for-fmod": ("fmod", c_remainder, "L1/fmod/float32/edges"),
    "masks-the-counts-of-shifts": ("lshift", masked_counts, "L2/lshift/int16/numbers-right"),
    "masks-counts-in-place": ("rshift", masked_counts, "L2/rshift/int64/numbers-in-place"),
    "counts-that-are-numbers": ("lshift", masked_counts, "L1/lshift/int32/scalar1"),
    "saturates": ("add", saturating, "L2/add/int8/numbers-left"),
    "saturates-with-a-factor": ("add", saturating, "L2/add/int8/alpha-wide"),
    "divides-in-floats": ("floor_divide", by_floats, "L2/floor_divide/int64/numbers-in-place"),
    "powers-of-floats": ("pow", by_floats, "L2/pow/int64/numbers-out"),
    "maximum-drops-nan": ("maximum", one_nan, "L1/maximum/float32/edges"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught_by_its_case(name: str) -> None:
    ops, mutate, case = MUTANTS[name]
    caught = run(mutant(ops, mutate), pattern=case, gaps=()).results
    assert [r.id for r in caught if r.id == case], f"there is no case {case}"
    assert next(r for r in caught if r.id == case).outcome == "fail"
    # The same case passes on what the mutant was made from.
    sound = run("cpu", pattern=case, gaps=()).results
    assert next(r for r in sound if r.id == case).outcome in ("pass", "quality")


class Lacking(CPU):
    """A backend without one primitive."""

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        return None if op == "cumprod" else super().kernel(op, dtype, index)


def test_a_primitive_that_is_not_offered_fails() -> None:
    report = run(Lacking(), pattern="L1/cumprod/float32/*", gaps=())
    assert report.results and all(r.outcome == "fail" for r in report.results)
    assert "not offered" in report.results[0].message
    assert report.exit_code == 1


class Copying(CPU):
    """A backend whose from_host keeps the caller's memory."""

    def from_host(self, array: np.ndarray, dtype: dtype, index: int) -> Any:
        return np.ascontiguousarray(array).reshape(array.shape)


class SmallCasts(CPU):
    """A backend whose casts saturate instead of wrapping."""

    def cast(self, src: Any, src_dtype: dtype, dst_dtype: dtype) -> Any:
        if dst_dtype is plugin.uint8 and src_dtype is plugin.float32:
            return np.clip(src, 0, 255).astype(np.uint8)
        return super().cast(src, src_dtype, dst_dtype)


class ForgetfulViews(CPU):
    """A backend whose as_strided counts the offset from the view it is given."""

    def as_strided(self, array, shape, strides, offset, dtype, new_dtype) -> Any:
        at = self.layout(array, dtype)[1] if dtype is new_dtype else 0
        return super().as_strided(array, shape, strides, offset + at, dtype, new_dtype)


class Boasting(CPU):
    """A backend that claims a dtype of which it keeps half the bits."""

    def to_host(self, array: Any, dtype: dtype) -> np.ndarray:
        values = super().to_host(array, dtype)
        return values & 0xFF00 if dtype is plugin.bfloat16 else values


class Poor(CPU):
    """A backend that does not claim a dtype that every device must have."""

    def capabilities(self, index: int) -> plugin.Capabilities:
        found = super().capabilities(index)
        return plugin.Capabilities(found.name, found.dtypes - {plugin.int16})


@pytest.mark.parametrize(
    ("backend", "case"),
    [
        (Copying, "L0/host/float32/copies"),
        (SmallCasts, "L0/copy_/float32-uint8/contiguous"),
        (SmallCasts, "L2/casts/float32-uint8/setitem"),
        (SmallCasts, "L2/casts/float32-uint8/cumsum"),
        (ForgetfulViews, "L0/as_strided/view-of-view"),
        (Boasting, "L0/host/bfloat16/round-trip"),
        (Poor, "L0/capabilities"),
        (Poor, "L1/add/int16/contiguous"),
    ],
)
def test_mutant_runtime_is_caught(backend: type[Backend], case: str) -> None:
    result = next(r for r in run(backend(), pattern=case, gaps=()).results if r.id == case)
    assert result.outcome == "fail", result


class Raising(CPU):
    """A backend whose kernel raises."""

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        def broken(*args: Any, **kwargs: Any) -> Any:
            raise ZeroDivisionError("the kernel is broken")

        return broken if op == "floor" else super().kernel(op, dtype, index)


def test_a_raising_kernel_fails_its_cases_and_no_other() -> None:
    report = run(Raising(), pattern="L1/*/float32/contiguous", gaps=())
    bad = {r.id for r in report.failures}
    assert bad == {"L1/floor/float32/contiguous"}
    assert "ZeroDivisionError: the kernel is broken" in report.failures[0].message


class SilentlyOnTheHost(CPU):
    """A backend that computes one op on the host and says nothing."""

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        def tanh(x: Any, out: Any = None) -> Any:
            made = self.from_host(np.tanh(self.to_host(x, dtype)), dtype, index)
            if out is None:
                return made
            out[...] = made
            return out

        return tanh if op == "tanh" else super().kernel(op, dtype, index)


def test_a_silent_fallback_is_caught() -> None:
    report = run(SilentlyOnTheHost(), pattern="L1/tanh/float32/contiguous", gaps=())
    assert [r.outcome for r in report.results] == ["fail"]
    assert "reads its operands on the host" in report.results[0].message


def on_rows(kernel: Kernel) -> Kernel:
    """Right along the last dimension, and taken for it along any other."""
    return lambda x, dim: kernel(x, x.ndim - 1)


FUSED_MUTANTS = {
    # name: (op, mutation, the case that catches it, one that passes all the same)
    "fused-kernel-wrong-where-primitives-are-right": (
        "softmax", on_rows, "L4/softmax/float32/dim0", "L4/softmax/float32/dim0/composed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED_MUTANTS)
def test_mutant_of_a_fused_kernel_is_caught(name: str) -> None:
    op, mutate, caught, passed = FUSED_MUTANTS[name]
    _only_this_case_fails(mutant(op, mutate), caught, passed)


def _only_this_case_fails(backend: Backend, caught: str, passed: str) -> None:
    for case, outcome in ((caught, "fail"), (passed, "pass")):
        assert [r.outcome for r in run(backend, pattern=case, gaps=()).results] == [outcome]
    assert [r.outcome for r in run("cpu", pattern=caught, gaps=()).results] == ["pass"]


class FusedGradient(CPU):
    """A backend whose fused derivative is a thousandth too large."""

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        def softmax_backward(g: Any, y: Any, dim: int) -> Any:
            gy = g * y
            return (gy - y * gy.sum(axis=dim, keepdims=True)) * g.dtype.type(1.001)

        return softmax_backward if op == "softmax_backward" else super().kernel(op, dtype, index)


def test_an_error_in_the_gradient_of_a_fused_kernel_alone_is_caught() -> None:
    case = "L3/softmax/float32/dim0/grad1"
    _only_this_case_fails(FusedGradient(), case, "L4/softmax/float32/dim0")
    _only_this_case_fails(FusedGradient(), case, "L3/softmax/float32/dim0/composed-grad1")


class CloneShares(CPU):
    """A backend whose copies are the original."""

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        return (lambda x: x) if op == "clone" else super().kernel(op, dtype, index)


def test_a_copy_that_shares_is_caught() -> None:
    _only_this_case_fails(CloneShares(), "L4/clone/float32/plain", "L4/softmax/float32/dim0")

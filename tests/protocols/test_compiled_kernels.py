"""Kernels that a program wrote: launched on tensors, with arguments checked by their text."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.library import compile_kernel
from tensorbus.library.signatures import parameters

SOURCES = {
    "cpu": """void axpy(float *y, const float *x, double a, long n) {
        for (long i = 0; i < n; i++) y[i] += (float)a * x[i];
    }""",
    "opencl": """
        // void axpy(int not_this_one) {
        __kernel __attribute__((vec_type_hint(float)))
        void axpy(__global float *restrict y, global const float* x, double a, long n) {
            long i = get_global_id(0);
            if (i < n) y[i] += (float)a * x[i];
        }""",
}


@pytest.fixture
def axpy(device):
    """``y += a * x`` and the options of its call for n elements."""
    kernel = compile_kernel(SOURCES[device], "axpy", device)
    return kernel, lambda n: {} if device == "cpu" else {"threads": n}


def test_a_kernel_writes_among_the_other_work_of_its_device(axpy, device):
    kernel, run = axpy
    x = torch.arange(1000.0, device=device) / 8
    y = x * 3
    kernel(y, x, -2, 999, **run(1000))
    z = y + 1
    expected = np.arange(1000.0) / 8 * 3
    expected[:999] -= 2 * np.arange(999.0) / 8
    np.testing.assert_array_equal(z.cpu().numpy(), (expected + 1).astype(np.float32))
    assert (x._version, y._version) == (0, 1)


def test_a_tensor_may_start_inside_its_storage(axpy, device):
    kernel, run = axpy
    storage = torch.zeros(300, device=device)
    kernel(storage[32:], torch.ones(10, device=device), 1, 10, **run(10))  # 128 bytes
    assert storage.nonzero().flatten().tolist() == list(range(32, 42))
    if device == "cpu":
        kernel(storage[1:], torch.ones(10), 1, 10)
        assert storage[1:11].tolist() == [1.0] * 10
    else:
        with pytest.raises(RuntimeError, match=r"starts 4 bytes into .* pass a \.clone\(\)"):
            kernel(storage[1:], torch.ones(10, device=device), 1, 10, **run(10))


def test_a_backward_pass_that_saved_what_a_kernel_wrote_is_refused(axpy, device):
    kernel, run = axpy
    x = torch.ones(3, device=device, requires_grad=True)
    y = torch.ones(3, device=device)
    loss = (x * y).sum()
    kernel(y, x.detach(), 1, 3, **run(3))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_arguments_are_checked_by_the_text(axpy, device):
    kernel, run = axpy
    x, y, n = torch.ones(3, device=device), torch.zeros(3, device=device), run(3)
    other = "meta" if device == "cpu" else "cpu"
    for error, match, arguments in [
        (TypeError, "takes 4 arguments, but 3 were given", (y, x, 1)),
        (TypeError, "points to float32, but the tensor is of torch.int32", (y.int(), x, 1, 3)),
        (TypeError, "takes a tensor, not float", (y, 1.0, 1, 3)),
        (TypeError, "takes a Python number, not a tensor: pass n.item", (y, x, 1, x)),
        (TypeError, "'long n' can't be 1.5", (y, x, 1, 1.5)),
        (OverflowError, "'long n' has no number", (y, x, 1, 2**63)),
        (RuntimeError, "but the kernel was compiled for", (y, x.to(other), 1, 3)),
        (RuntimeError, "records no gradient", (y, x.clone().requires_grad_(), 1, 3)),
        (RuntimeError, "no memory of its own", (y, x.to_sparse(), 1, 3)),
    ]:
        with pytest.raises(error, match=match):
            kernel(*arguments, **n)
    assert y.tolist() == [0, 0, 0]
    with torch.no_grad():
        kernel(y, x.clone().requires_grad_(), 1, 3, **n)
    assert y.tolist() == [1, 1, 1]


def test_threads_and_groups():
    source = """__kernel void places(__global int *out, int width) {
        int at = get_global_id(1) * width + get_global_id(0);
        out[at] = get_local_size(0) * 100 + get_group_id(0);
    }"""
    kernel = compile_kernel(source, "places", "opencl")
    out = torch.zeros(2, 8, dtype=torch.int32, device="opencl")
    kernel(out, 8, threads=(5, 2), group=(4, 1))  # two whole groups
    assert out.tolist() == [[400] * 4 + [401] * 4] * 2
    kernel(out, 8, threads=(0, 2))
    for error, match, options in [
        (ValueError, "say how many run", {}),
        (ValueError, "threads is a number, or up to three of them", {"threads": (1, 1, 1, 1)}),
        (ValueError, "threads is a number", {"threads": -1}),
        (ValueError, "threads has 2 dimensions and group 1", {"threads": (1, 2), "group": 4}),
        (ValueError, "a group of no threads", {"threads": 1, "group": 0}),
    ]:
        with pytest.raises(error, match=match):
            kernel(out, 8, **options)


def test_source_that_is_none():
    with pytest.raises(RuntimeError, match=r"(?s)'f' could not be compiled for device cpu.*error"):
        compile_kernel("void f(int x) { return y; }", "f", "cpu")
    with pytest.raises(RuntimeError, match=r"(?s)'f' could not be compiled for device opencl:0.*y"):
        compile_kernel("__kernel void f(int x) { x = y; }", "f", "opencl")
    with pytest.raises(ValueError, match="the source defines no kernel 'g'"):
        compile_kernel("void f(int x) {}", "g", "cpu")
    with pytest.raises(NotImplementedError, match="device meta takes no source"):
        compile_kernel("void f(int x) {}", "f", "meta")
    with pytest.raises(ValueError, match="called once: leave threads and group out"):
        compile_kernel("void f(int x) {}", "f", "cpu")(1, threads=3)


def test_parameters_are_read_from_the_text():
    text = """
        void helper(float a);
        extern "C" __global__ void __launch_bounds__(256) k(
            const unsigned long long *__restrict__ a, float4 *b, /* , */ unsigned n,
            __half h, half *c, bool flag, uchar *mask, ushort bits[4]) { }
    """
    found = parameters(text, "k")
    assert [p.name for p in found] == ["a", "b", "n", "h", "c", "flag", "mask", "bits"]
    assert [p.type and p.type.name for p in found] == [
        "uint64", None, "uint32", "float16", "float16", "bool", "uint8", "uint16",
    ]  # fmt: skip
    assert [p.written for p in found] == [False, True, False, False, True, False, True, True]
    assert [found[6].takes(d) for d in ("uint8", "bool", "int8")] == [True, True, False]
    assert [found[7].takes(d) for d in ("bfloat16", "int16")] == [True, False]
    assert found[1].takes("float32") and found[1].takes("complex64")
    assert parameters("void f(void) {}", "f") == parameters("void f() {}", "f") == []
    with pytest.raises(ValueError, match="a number of an unknown type 'float4'"):
        parameters("void f(float4 x) {}", "f")
    with pytest.raises(ValueError, match="declare an array inside the kernel"):
        parameters("void f(__local float *x) {}", "f")

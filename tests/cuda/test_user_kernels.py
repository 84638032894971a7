"""Kernels that programs wrote in CUDA C++, on the device ``cuda``."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import cuda
from tensorbus.library import compile_kernel

SOURCE = """
extern "C" __global__ void axpy(float *y, const float *x, double a, long n, int *size) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += (float)a * x[i];
    if (i == 0) { size[0] = gridDim.x; size[1] = blockDim.x; }
}
"""


def test_a_kernel_runs_on_tensors_in_the_current_stream():
    kernel = compile_kernel(SOURCE, "axpy", "cuda")
    x, y = torch.arange(1000.0, device="cuda"), torch.zeros(1001, device="cuda")
    size = torch.zeros(2, dtype=torch.int32, device="cuda")
    kernel(y[1:], x, -2, 999, size, threads=1000)
    assert size.tolist() == [4, 256]
    with cuda.stream(cuda.Stream()):
        kernel(y[1:], x, 1, 999, size, threads=1000, group=100)
        assert size.tolist() == [10, 100]
    expected = np.zeros(1001, np.float32)
    expected[1:1000] = -np.arange(999)
    np.testing.assert_array_equal(y.cpu().numpy(), expected)
    assert y._version == 2


def test_source_that_is_none():
    with pytest.raises(RuntimeError, match=r"(?s)'f' could not be compiled for device cuda:0.*y"):
        compile_kernel('extern "C" __global__ void f(int x) { x = y; }', "f", "cuda")
    kernel = compile_kernel('extern "C" __global__ void f(int x) { }', "f", "cuda")
    with pytest.raises(ValueError, match="say how many run"):
        kernel(1)

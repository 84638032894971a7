"""The sentences of the ``cuda`` probe, each over a library that fails in its own way."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types

import numpy as np
import pytest

import tensorbus_cuda_cupy


def fake_library(count):
    library = types.ModuleType("cupy")
    library.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
    library.__version__ = "14.2.0"
    library.float16, library.float32 = np.float16, np.float32
    library.arange, library.matmul, library.asnumpy = np.arange, np.matmul, np.asarray
    library.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=count))
    return library


def test_a_missing_library_is_named_with_the_way_to_get_it(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs CuPy, which is not installed: pip install"):
        tensorbus_cuda_cupy.tensorbus_backend().probe()


def test_a_missing_gpu_is_told_apart_from_a_hidden_one(monkeypatch):
    def no_driver():
        raise RuntimeError("cudaErrorInsufficientDriver")

    probe = tensorbus_cuda_cupy.tensorbus_backend().probe
    monkeypatch.setitem(sys.modules, "cupy", fake_library(no_driver))
    with pytest.raises(RuntimeError, match=r"no usable GPU \(cudaErrorInsufficientDriver\).*smi"):
        probe()
    monkeypatch.setitem(sys.modules, "cupy", fake_library(lambda: 0))
    with pytest.raises(RuntimeError, match="CUDA_VISIBLE_DEVICES"):
        probe()
    monkeypatch.setitem(sys.modules, "cupy", fake_library(lambda: 1))
    assert probe() is None


def test_a_gpu_that_can_not_compute_is_not_usable(monkeypatch):
    probe = tensorbus_cuda_cupy.tensorbus_backend().probe
    library = fake_library(lambda: 1)
    monkeypatch.setitem(sys.modules, "cupy", library)

    def no_compiler(*_):
        raise ImportError("libnvrtc.so.12: cannot open shared object file")

    library.matmul = lambda x, y: np.matmul(x, y) + 1
    with pytest.raises(
        RuntimeError, match=r"wrong numbers: .* gave \[\[3.0, 4.0\], \[7.0, 12.0\]\]"
    ):
        probe()
    library.matmul = no_compiler
    with pytest.raises(RuntimeError, match=r"can't compute on it \(libnvrtc.*tensorbus\[cuda12\]"):
        probe()
    library.arange = no_compiler
    with pytest.raises(RuntimeError, match=r"needs NVRTC, cuBLAS and CUDA's headers"):
        probe()


def test_a_broken_library_says_why(broken_cupy):
    with pytest.raises(RuntimeError, match=r"can't be imported \(libcudart.*driver"):
        tensorbus_cuda_cupy.tensorbus_backend().probe()

"""Rooms that libraries import for a flag or a label: they answer truly, and change nothing."""

from __future__ import annotations

import importlib

import pytest

import tensorbus as torch


def test_libraries_that_are_not_used_say_so(oracle):
    assert torch.backends.nnpack.is_available() is False
    assert torch.backends.opt_einsum.is_available() is False
    assert torch.backends.opt_einsum.get_opt_einsum() is None

    def program(lib):
        nnpack = importlib.import_module(f"{lib.__name__}.backends.nnpack")
        mha = importlib.import_module(f"{lib.__name__}.backends.mha")
        first = mha.get_fastpath_enabled()
        mha.set_fastpath_enabled(False)
        second = mha.get_fastpath_enabled()
        mha.set_fastpath_enabled(True)
        before = nnpack.set_flags(False)
        with nnpack.flags(enabled=True):
            inside = nnpack.set_flags(True)
        after = nnpack.set_flags(*before)
        return [first, second, *before, *inside, *after]

    assert program(torch) == list(oracle(program))


def test_labels_of_another_profiler_are_those_of_ours():
    nvtx = torch.cuda.nvtx
    with torch.profiler.profile() as profile:
        assert [nvtx.range_push("outer"), nvtx.range_push("inner")] == [0, 1]
        assert [nvtx.range_pop(), nvtx.range_pop(), nvtx.range_pop()] == [1, 0, -1]
        number = nvtx.range_start("started")
        nvtx.mark("marked")
        nvtx.range_end(number)
        with nvtx.range("block {}", 3):
            torch.ones(2)
    found = {event.key for event in profile.key_averages()}
    assert {"outer", "inner", "started", "marked", "block 3"} <= found
    wanted = pytest.warns(UserWarning, match="torch.profiler.profile records what runs")
    with wanted, torch.cuda.profiler.profile():
        pass


@pytest.mark.parametrize(
    ("path", "name", "ours"),
    [
        ("accelerator.memory", "memory_stats", "accelerator.memory_stats"),
        ("cuda.sparse", "FloatTensor", "cuda.sparse.FloatTensor"),
        ("distributed.nn.api.remote_module", "RemoteModule", "distributed.nn.RemoteModule"),
        ("multiprocessing.pool", "Pool", None),
        ("nn.modules.linear_cross_entropy", "LinearCrossEntropyLoss", "nn.LinearCrossEntropyLoss"),
        ("signal.windows.windows", "hann", "signal.windows.hann"),
    ],
)
def test_names_are_found_where_pytorch_keeps_them(path, name, ours):
    found = getattr(importlib.import_module(f"tensorbus.{path}"), name)
    expected = found
    if ours is not None:
        expected = torch
        for part in ours.split("."):
            expected = getattr(expected, part)
    assert found is expected

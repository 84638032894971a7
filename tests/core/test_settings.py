"""Settings that programs make and ask for, and small tools of ``utils``."""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import tensorbus as tb


def read_only() -> np.ndarray:
    x = np.zeros(2)
    x.flags.writeable = False
    return x


def test_warnings_that_are_shown_once_or_always() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tb.from_numpy(read_only())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb.from_numpy(read_only())  # shown before
    assert not tb.is_warn_always_enabled()
    try:
        tb.set_warn_always(True)
        assert tb.is_warn_always_enabled()
        for _ in range(2):
            with pytest.warns(UserWarning, match="is not writable"):
                tb.from_numpy(read_only())
    finally:
        tb.set_warn_always(False)


def test_settings_without_effect() -> None:
    tiny = tb.tensor([1e-323], dtype=tb.float64)
    assert tb.set_flush_denormal(True) is False and (tiny * 1).item() == 1e-323
    assert tb.thread_safe_generator() is None and tb.random.thread_safe_generator() is None
    assert tb.multiprocessing.get_sharing_strategy() == "file_descriptor"
    try:
        tb.multiprocessing.set_sharing_strategy("file_system")
        assert tb.multiprocessing.get_sharing_strategy() == "file_system"
    finally:
        tb.multiprocessing.set_sharing_strategy("file_descriptor")
    x = tb.ones(3, 2).t().requires_grad_()

    @tb.autograd.enforce_grad_layout_policy(False)
    def slopes() -> Any:
        (x * 2).sum().backward()
        return x.grad

    assert slopes().stride() == x.stride()
    assert tb.GradScaler is tb.amp.GradScaler


ERRORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: tb.set_warn_always(1), RuntimeError, "setWarnOnlyOnce expects a bool, but got int"),
    (lambda: tb.set_flush_denormal(1), RuntimeError, "flush_denormal expects a bool, but got int"),
    (lambda: tb.multiprocessing.set_sharing_strategy("x"), AssertionError, "invalid sharing"),
    (lambda: tb.autograd.enforce_grad_layout_policy(1), TypeError, "must be bool, not int"),
    (lambda: tb.utils.set_module(3, 4), TypeError, "The mod argument should be a string"),
    (lambda: tb.utils.swap_tensors(tb.ones(1), 2), TypeError, "'t2' .position 2. must be Tensor"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_swapped_tensors_have_one_anothers_contents() -> None:
    w = tb.nn.Parameter(tb.tensor([1.0, 2.0]))
    w.tag = "mine"
    w.grad = tb.ones(2)
    x = tb.tensor([[3], [4], [5]])
    tb.utils.swap_tensors(w, x)
    assert type(w) is tb.Tensor and w.tolist() == [[3], [4], [5]] and not w.requires_grad
    assert type(x) is tb.nn.Parameter and x.tag == "mine" and not hasattr(w, "tag")
    assert x.requires_grad and x.is_leaf and x.grad.tolist() == [1.0, 1.0] and w.grad is None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]
    tb.utils.swap_tensors(x, x)
    tb.utils.swap_tensors(x, w)
    assert w.grad.tolist() == [4.0, 4.0] and w.tag == "mine"


def test_parameters_of_a_module_are_swapped_in_place() -> None:
    layer = tb.nn.Linear(2, 1)
    held, other = layer.weight, tb.nn.Parameter(tb.zeros(1, 2, dtype=tb.float64))
    tb.utils.swap_tensors(held, other)
    assert layer.weight is held and held.dtype is tb.float64 and other.dtype is tb.float32
    layer.bias = None
    layer(tb.ones(1, 2, dtype=tb.float64)).sum().backward()
    assert held.grad.tolist() == [[1.0, 1.0]] and other.grad is None


def test_a_parameter_whose_gradient_was_switched_off_is_swapped() -> None:
    off = tb.nn.Parameter(tb.ones(2)).requires_grad_(False)
    on = tb.nn.Parameter(tb.zeros(3))
    tb.utils.swap_tensors(off, on)
    assert (off.tolist(), off.requires_grad, on.requires_grad) == ([0, 0, 0], True, False)
    on.requires_grad_(True)
    (on * on).sum().backward()
    (off * 2).sum().backward()
    assert (on.grad.tolist(), off.grad.tolist()) == ([2, 2], [2, 2, 2])


def test_what_others_know_is_not_swapped() -> None:
    x, free = tb.ones(2, requires_grad=True), tb.zeros(2)
    results = [x * 2, x.exp(), x.detach(), weakref.ref(x)]
    while results:
        with pytest.raises(RuntimeError, match="use_count of t1|weakref"):
            tb.utils.swap_tensors(x, free)
        del results[-1]
    with pytest.raises(RuntimeError, match="use_count of t2"):
        tb.utils.swap_tensors(free, x * 2)
    base = tb.ones(3)
    part = base[1:]
    with pytest.raises(RuntimeError, match="use_count"):
        tb.utils.swap_tensors(base, free)
    with pytest.raises(RuntimeError, match="use_count"):
        tb.utils.swap_tensors(free, part)


def test_the_device_type_of_checkpoints_is_kept() -> None:
    from tensorbus.utils.checkpoint import DefaultDeviceType

    try:
        DefaultDeviceType.set_device_type("cpu")
        assert DefaultDeviceType.get_device_type() == "cpu"
    finally:
        DefaultDeviceType.set_device_type()
    assert DefaultDeviceType.get_device_type() == "cuda"

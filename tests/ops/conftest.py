"""What tests of ops share: the same program on PyTorch and on a device of ours, compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle_answers import Tensor

import tensorbus

Program = Callable[[Any], Any]

_FACTORIES = (
    "tensor arange zeros ones full eye empty linspace logspace empty_strided tril_indices "
    "triu_indices"
).split()


class Library:
    """tensorbus with its factories on one device."""

    def __init__(self, device: str):
        self.device = device

    def __getattr__(self, name: str) -> Any:
        found = getattr(tensorbus, name)
        if name in _FACTORIES:
            return lambda *args, **kwargs: found(*args, device=self.device, **kwargs)
        return found


def outcome(program: Program, library: Any) -> Any:
    """What a program returns, as a list, or the type and text of what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = program(library)
    except Exception as error:
        return error
    return list(made) if isinstance(made, (tuple, list)) else [made]


def check_error(ours: Any, theirs: Exception, text: bool) -> None:
    """Both raise one type and, where *text* says so, the same first line."""
    assert isinstance(ours, Exception), f"PyTorch raises {theirs!r}, tensorbus gives {ours}"
    assert isinstance(ours, type(theirs)), f"{ours!r} is no {type(theirs).__name__}: {theirs}"
    if text:
        assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]


def check_value(ours: Any, theirs: Any, strides: bool) -> None:
    """Equal values, shapes, dtypes and, where wanted, strides."""
    if not isinstance(theirs, Tensor):
        assert ours == theirs
        return
    assert tuple(ours.shape) == theirs.shape
    assert str(ours.dtype) == theirs.dtype
    np.testing.assert_array_equal(ours.detach().cpu().numpy(), theirs.values)
    if strides and 0 not in theirs.shape:
        assert tuple(ours.stride()) == theirs.strides


TOLERANCES = {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5, "float64": 1e-12}


def check_close(ours: Any, theirs: Any, strides: bool) -> None:
    """Equal shapes, dtypes, strides where wanted; values equal, or close where floating point."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for x, y in zip(ours, theirs, strict=True):
            check_close(x, y, strides)
        return
    if not isinstance(theirs, Tensor):
        assert str(ours) == str(theirs)
        return
    assert str(ours.dtype) == theirs.dtype
    assert tuple(ours.shape) == theirs.shape
    assert ours.requires_grad == theirs.requires_grad
    tolerance = TOLERANCES.get(theirs.dtype.removeprefix("torch."), 0.0)
    np.testing.assert_allclose(
        ours.detach().cpu().numpy(), theirs.values, rtol=tolerance, atol=tolerance / 10
    )
    if strides and 0 not in theirs.shape:
        assert tuple(ours.stride()) == theirs.strides


@pytest.fixture
def like_torch(device: str, oracle: Callable[..., Any]) -> Callable[..., None]:
    """``like_torch(program)``: values, dtypes, strides and errors are PyTorch's on each device.

    An error has the same type; its text is the same first line where *text* says so.
    """

    def compare(program: Program, *, text: bool = False, strides: bool = True) -> None:
        theirs = oracle(lambda torch: outcome(program, torch))
        ours = outcome(program, Library(device))
        if isinstance(theirs, Exception):
            check_error(ours, theirs, text)
        elif isinstance(ours, Exception):
            raise ours
        else:
            check_close(ours, theirs, strides)

    return compare


@pytest.fixture
def agree(device: str, oracle: Callable[..., Any]) -> Callable[..., None]:
    """``agree(program, text=True, strides=False)``: it does on each device what it does in PyTorch.

    *text* False compares only the type of an error (ours says more, or comes at a later read).
    """

    def compare(program: Program, *, text: bool = True, strides: bool = False) -> None:
        theirs = oracle(lambda torch: outcome(program, torch))
        ours = outcome(program, Library(device))
        if isinstance(theirs, Exception):
            if device != "cpu" and isinstance(ours, list):
                ours = outcome(lambda library: [x.cpu() for x in program(library)], Library(device))
            check_error(ours, theirs, text and device == "cpu")
            return
        if isinstance(ours, Exception):
            raise ours
        assert len(ours) == len(theirs)
        for x, y in zip(ours, theirs, strict=True):
            check_value(x, y, strides and device == "cpu")

    return compare

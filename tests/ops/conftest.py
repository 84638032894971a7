"""What tests of ops share: the same program on PyTorch and on a device of ours, compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus

Program = Callable[[Any], Any]


class Library:
    """tensorbus with its factories on one device."""

    def __init__(self, device: str):
        self.device = device

    def __getattr__(self, name: str) -> Any:
        found = getattr(tensorbus, name)
        if name in ("tensor", "arange", "zeros", "ones", "full", "eye"):
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
    if not hasattr(theirs, "dtype"):
        assert ours == theirs
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype) == str(theirs.dtype)
    np.testing.assert_array_equal(ours.detach().cpu().numpy(), theirs.detach().numpy())
    if strides and 0 not in theirs.shape:
        assert tuple(ours.stride()) == tuple(theirs.stride())


@pytest.fixture
def agree(device: str) -> Callable[..., None]:
    """``agree(program, text=True, strides=False)``: it does on each device what it does in PyTorch.

    *text* False compares only the type of an error (ours says more, or comes at a later read).
    """
    torch = pytest.importorskip("torch", reason="PyTorch is the reference here")

    def compare(program: Program, *, text: bool = True, strides: bool = False) -> None:
        theirs = outcome(program, torch)
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

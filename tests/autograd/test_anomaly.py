"""Anomaly mode: which forward call an error of a backward pass belongs to."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tensorbus as tb
from tensorbus.autograd import detect_anomaly, set_detect_anomaly
from tensorbus.autograd.node import Node


@pytest.fixture(autouse=True)
def _off_afterwards() -> Any:
    yield
    assert not tb.is_anomaly_enabled()
    assert tb.is_anomaly_check_nan_enabled()
    assert "__init__" not in vars(Node)


def told(f: Any) -> tuple[list[str], BaseException | None]:
    """The warnings of a call but the first, and its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error: BaseException | None = None
        try:
            f()
        except Exception as raised:
            error = raised
    assert all(w.filename == __file__ for w in caught)
    texts = [str(w.message) for w in caught]
    assert texts[0].startswith("Anomaly Detection has been enabled.")
    return texts[1:], error


def zero() -> Any:
    return tb.tensor([0.0], requires_grad=True)


def root_of(x: Any) -> Any:
    return x.sqrt()


@pytest.mark.parametrize("how", ["backward", "grad", "create_graph"])
def test_nan_is_told_with_the_call(how: str) -> None:
    def program() -> None:
        with detect_anomaly():
            x = zero()
            y = (root_of(x * 1) * 0).sum()
            if how == "backward":
                y.backward()
            else:
                tb.autograd.grad(y, x, create_graph=how == "create_graph")

    (text,), error = told(program)
    assert type(error) is RuntimeError
    assert str(error) == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert text.startswith(
        "Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n"
    )
    assert text.rstrip().endswith("return x.sqrt()")
    assert "in root_of" in text
    assert "root_of(x * 1)" in text


def test_nan_in_the_second_output() -> None:
    def program() -> None:
        with detect_anomaly():
            x = zero()
            tb.mul(tb.tensor([float("nan")]), x * 1).backward()

    _, error = told(program)
    assert str(error) == "Function 'MulBackward0' returned nan values in its 1th output."


def test_nan_may_pass() -> None:
    x = zero()

    def program() -> None:
        with detect_anomaly(check_nan=False):
            (root_of(x) * 0).backward()

    assert told(program) == ([], None)
    assert x.grad.isnan().all()


class Fails(tb.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise LookupError("not today")


def test_errors_keep_their_type() -> None:
    def program() -> None:
        with detect_anomaly():
            Fails.apply(zero()).backward()

    (text,), error = told(program)
    assert type(error) is LookupError
    assert text.startswith("Error detected in FailsBackward. Traceback")
    assert text.rstrip().endswith("Fails.apply(zero()).backward()")


def test_a_stale_value_is_told_with_its_node() -> None:
    def program() -> None:
        with detect_anomaly():
            y = (zero() + 1).exp()
            y.add_(1)
            y.sum().backward()

    (text,), error = told(program)
    assert "modified by an inplace operation" in str(error)
    assert text.startswith("Error detected in ExpBackward0. Traceback")
    assert text.rstrip().endswith("y = (zero() + 1).exp()")


def test_a_node_from_before() -> None:
    y = root_of(zero()) * 0

    def program() -> None:
        with detect_anomaly():
            y.backward()

    (text,), _ = told(program)
    assert text == (
        "Error detected in SqrtBackward0. No forward pass information available. Enable detect "
        "anomaly during forward pass for more information."
    )


def test_what_induced_the_node() -> None:
    def program() -> None:
        with detect_anomaly():
            x = tb.tensor([2.0], requires_grad=True)
            y = x.exp()
            (g,) = tb.autograd.grad(y, x, create_graph=True)
            g.register_hook(lambda g: g * float("nan"))
            g.backward()

    (first, second), error = told(program)
    name = str(error).split("'")[1]
    assert first.startswith(f"Error detected in {name}. Traceback of forward call that caused")
    assert "create_graph=True" in first
    assert second.startswith("\n\nPrevious calculation was induced by ")
    assert "Traceback of forward call that induced the previous calculation:\n" in second
    assert second.rstrip().endswith("y = x.exp()")


def test_switching() -> None:
    switch = set_detect_anomaly(True, check_nan=False)
    assert tb.is_anomaly_enabled()
    assert not tb.is_anomaly_check_nan_enabled()
    with pytest.raises(KeyError), switch:
        assert tb.is_anomaly_enabled()
        raise KeyError
    assert not tb.is_anomaly_enabled()
    with set_detect_anomaly(True), set_detect_anomaly(False):
        assert (tb.ones(1, requires_grad=True) * 2).grad_fn.metadata == {}
    set_detect_anomaly(True)
    set_detect_anomaly(False)
    x = tb.ones(1, requires_grad=True)
    assert (x * 2).grad_fn.metadata == {}


def test_functions_of_several_results() -> None:
    def program() -> None:
        class Two(tb.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 1, x * 2

            @staticmethod
            def backward(ctx: Any, g: Any, h: Any) -> Any:
                return g * float("nan") + h

        with detect_anomaly():
            a, b = Two.apply(zero())
            (a + b).backward()

    (text,), error = told(program)
    assert str(error) == "Function 'TwoBackward' returned nan values in its 0th output."
    assert text.rstrip().endswith("a, b = Two.apply(zero())")

"""NaN and inf are values: no warning and no error reaches the user, whatever the filters are."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._base.float_warnings import silence

INF, NAN = float("inf"), float("nan")


def values(*xs: float) -> torch.Tensor:
    return torch.tensor(list(xs), dtype=torch.float32)


CASES: dict[str, tuple[Callable[[], Any], list[float]]] = {
    "log": (lambda: values(-1, 0).log(), [NAN, -INF]),
    "sqrt": (lambda: values(-1).sqrt(), [NAN]),
    "division": (lambda: values(1, -1, 0) / values(0, 0, 0), [INF, -INF, NAN]),
    "by a number": (lambda: values(1) / 0, [INF]),
    "overflow": (lambda: values(1e38) * 10, [INF]),
    "exp": (lambda: values(1000).exp(), [INF]),
    "underflow": (lambda: values(1e-38) * 1e-38, [0.0]),
    "composite": (lambda: values(-2).log2(), [NAN]),
    "view": (lambda: torch.tensor([[1.0, 0.0], [0.0, 1.0]]).T[1] / 0, [NAN, INF]),
    "sum": (lambda: values(3e38, 3e38).sum().reshape(1), [INF]),
    "mean of nothing": (lambda: values().mean().reshape(1), [NAN]),
    "matmul": (lambda: values(3e38, 3e38) @ torch.full((2, 1), 3.0), [INF]),
    "softmax": (lambda: values(INF, 0).softmax(0), [NAN, NAN]),
    "var": (lambda: values(INF, 1).var().reshape(1), [NAN]),
    "in place": (lambda: values(1, 2).div_(0), [INF, INF]),
    "out": (lambda: torch.log(values(-1), out=torch.zeros(1)), [NAN]),
    "cast": (lambda: torch.tensor([1e300], dtype=torch.float64).float(), [INF]),
    "cumsum": (lambda: values(3e38, 3e38).cumsum(0), [3e38, INF]),
    "pow": (lambda: values(-8) ** 0.5, [NAN]),
}


def agree(name: str) -> None:
    call, expected = CASES[name]
    np.testing.assert_allclose(call().numpy(), np.array(expected, np.float32))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("action", ["error", "always"])
def test_values_whatever_the_filters(name: str, action: Any) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter(action)
        agree(name)
        agree(name)
    assert [str(w.message) for w in told] == []


def test_a_filter_that_comes_later_finds_values_too() -> None:
    x, y = values(-1, 0), values(1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(x.log().numpy(), np.float32([NAN, -INF]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = y._version
        y.div_(0)
        assert y.tolist() == [INF, INF] and y._version == before + 1


def test_backward() -> None:
    x = torch.zeros(2, requires_grad=True)
    y = x.sqrt().sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.backward()
    assert x.grad.tolist() == [INF, INF]


def test_the_filter_is_put_back_once() -> None:
    with warnings.catch_warnings():
        warnings.resetwarnings()
        silence()
        first = list(warnings.filters)
        silence()
        assert len(first) == 1 and list(warnings.filters) == first
        warnings.simplefilter("error")
        silence()
        assert len(warnings.filters) == 2 and warnings.filters[0] == first[0]


def test_the_users_own_warnings_stay() -> None:
    values(-1).log()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.log(np.zeros(1))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.log(np.zeros(1))


@pytest.mark.parametrize("options", [[], ["-W", "error"], ["-W", "always"]], ids=" ".join)
def test_a_program_of_its_own(options: list[str]) -> None:
    program = (
        "import tensorbus as t\n"
        "x = t.tensor([-1.0, 0.0], requires_grad=True)\n"
        "y = (x.log() + 1 / x).sum(); y.backward()\n"
        "z = t.ones(2); z.div_(0); t.exp(t.full((3, 3), 1e4).T, out=t.zeros(3, 3))\n"
        "print(y.item(), x.grad.tolist(), z.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, timeout=240
    )
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout == "nan [-2.0, nan] [inf, inf]\n"

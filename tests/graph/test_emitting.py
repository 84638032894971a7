"""Generated Python for pieces of large arrays computes the same bits as the composition."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tensorbus as torch
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._dispatch.resolve import composition
from tensorbus.graph.compiled_rows import Compiled
from tensorbus.graph.emitting import emit
from tensorbus.graph.reading import read
from tensorbus.graph.straight_line import straight_line
from tensorbus.rows.registry import ROWS

F = torch.nn.functional
SIZE = 5 * 32768 + 77
RNG = np.random.default_rng(2)

ROWS_AND_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "silu": (), "hardswish": (), "softplus": (1.0, 20.0), "elu": (1.0, 1.0, 1.0),
    "log_sigmoid": (), "logaddexp": (), "xlogy": (), "fmax": (), "heaviside": (),
    "deg2rad": (), "softshrink": (0.5,), "sinc": (), "logical_xor": (), "clamp_min_tensor": (),
}  # fmt: skip


@pytest.fixture
def kind() -> Kind:
    return kind_of(torch.device("cpu"), torch.float32)


def operands(row: Any, size: int = SIZE) -> list[Any]:
    found = [RNG.standard_normal(size).astype("float32") for _ in row.tensors]
    for x in found:
        x[:8] = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 90.0, -90.0]
    return found


def compiled(entry: Any) -> Compiled:
    """What a row's entry runs on its pieces."""
    return next(c.cell_contents for c in entry.__closure__ if type(c.cell_contents) is Compiled)


def bits(x: Any) -> Any:
    x = np.where(np.isnan(x), np.float32(np.nan), x) if x.dtype.kind == "f" else x
    return x.dtype, x.shape, x.tobytes()


@pytest.mark.parametrize("name", ROWS_AND_PARAMETERS)
def test_the_emitted_form_gives_the_same_bits(kind: Kind, name: str) -> None:
    row, parameters = ROWS[name], ROWS_AND_PARAMETERS[name]
    entry = composition(kind, row)
    xs = operands(row)
    with np.errstate(all="ignore"):
        wanted = row.composite(kind, *xs, *parameters)  # type: ignore[misc]
        assert bits(np.asarray(entry(*xs, *parameters))) == bits(np.asarray(wanted))
        patterns = compiled(entry)._by_pattern
        assert [made is not None for made in patterns.values()] == [True]
        again = [x.copy() for x in xs]
        out = np.empty_like(wanted)
        assert entry(*xs, *parameters, out=out) is out and bits(out) == bits(np.asarray(wanted))
        assert [bits(x) for x in xs] == [bits(x) for x in again]  # operands are left alone
        matrix = [x[: 5 * 32768].reshape(5, -1).T for x in xs]
        got = np.asarray(entry(*matrix, *parameters))
        assert bits(np.ascontiguousarray(got.T).ravel()) == bits(np.asarray(wanted)[: 5 * 32768])


def test_an_operand_may_be_where_the_result_goes(kind: Kind) -> None:
    entry = composition(kind, ROWS["hardswish"])
    x = RNG.standard_normal(SIZE).astype("float32")
    wanted = bits(np.asarray(entry(x)))
    assert entry(x, out=x) is x and bits(x) == wanted


def test_numbers_broadcasts_and_halves() -> None:
    x = torch.randn(40, 5000)
    y = torch.rand(5000)
    torch.testing.assert_close(torch.xlogy(x, 2.5), x * float(np.log(2.5)))
    torch.testing.assert_close(torch.xlogy(x, y), x * y.log())
    half = x.to(torch.float16)
    torch.testing.assert_close(F.silu(half), F.silu(half.float()).to(torch.float16))
    row = torch.stack([F.softplus(x[i]) for i in range(40)])
    assert torch.equal(F.softplus(x), row)


def test_threads_have_buffers_of_their_own(kind: Kind) -> None:
    entry = composition(kind, ROWS["logaddexp"])
    inputs = [operands(ROWS["logaddexp"]) for _ in range(4)]
    with np.errstate(all="ignore"):
        wanted = [bits(np.asarray(entry(*xs))) for xs in inputs]
        found: list[Any] = [None] * 4

        def run(i: int) -> None:
            with np.errstate(all="ignore"):
                found[i] = [bits(np.asarray(entry(*inputs[i]))) for _ in range(5)]

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [[one] * 5 for one in wanted]


def test_a_buffer_is_used_again_once_it_is_read(kind: Kind) -> None:
    steps = "".join(f"    v{i + 1}: float32[s0] = exp(v{i})\n" for i in range(9))
    text = f"def graph(v0: float32[s0]):\n{steps}    return v9"
    kernel = emit(kind, read(text))
    assert kernel is not None and straight_line(kind, read(text), [None]).buffers == 1
    x = RNG.uniform(-3, -1, 50).astype("float32")
    wanted = x
    for _ in range(9):
        with np.errstate(over="ignore"):
            wanted = np.exp(wanted)
    np.testing.assert_array_equal(kernel(x), wanted)
    assert kernel(x) is not kernel(x)


@pytest.mark.parametrize("text", [
    "def graph(x: float32[s0]):\n v: float32[s0] = cumsum(x, 0, float32)\n return v",
    "def graph(x: float32[s0]):\n v: float32[()] = sum(x, (0,), float32)\n return v",
    "def graph(x: float32[s0]):\n return x",
    "def graph(x: float32[s0, s1]):\n v: float32[s0, s1] = exp(x)\n return v",
    "def graph(x: float32[s0]):\n" + "".join(f" v{i}: float32[s0] = exp(x)\n" for i in range(40))
    + " return v3",
])  # fmt: skip
def test_other_graphs_are_not_emitted(kind: Kind, text: str) -> None:
    assert emit(kind, read(text)) is None

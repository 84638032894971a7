"""Gathers and scatters of ``cpu`` by many indices: with SciPy's loops, and without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.nn import functional as F
from tensorbus_cpu_numpy import loops as blocks
from tensorbus_cpu_numpy import sparse

RANDOM = np.random.default_rng(0)


@pytest.fixture(params=[True, False], ids=["scipy", "numpy"])
def loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    if request.param:
        assert sparse.loops() is not None
    else:
        monkeypatch.setattr(sparse, "loops", lambda: None)
    yield request.param


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what these shapes have is more than one block."""
    monkeypatch.setattr(blocks, "_OF_ROWS", 1 << 16)


def normal(*shape: int, dtype: str = "f4") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c8", "f2"])
@pytest.mark.parametrize(("of", "n"), [(50, 3000), (70_000, 5000), (3000, 3000)])
def test_rows_added_at_their_indices(loops: bool, of: int, n: int, dtype: str) -> None:
    scale = 100 if dtype == "i4" else 1
    x, values = ((scale * normal(k, 3, 8)).astype(dtype) for k in (of, n))
    i = RANDOM.integers(0, of, n)
    wide = {"i4": "i8", "c8": "c16"}.get(dtype, "f8")
    expected = x.astype(wide)
    np.add.at(expected, i, values.astype(wide))
    found = torch.tensor(x).index_add(0, torch.tensor(i), torch.tensor(values)).numpy()
    tolerance = {"f2": 2e-2 * np.sqrt(n / of + 1), "f4": 1e-4, "c8": 1e-4}.get(dtype, 1e-12)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


def test_other_layouts(loops: bool) -> None:
    x, values, i = normal(400, 90), normal(400, 300), RANDOM.integers(0, 90, 300)
    expected = x.astype("f8")
    np.add.at(expected.T, i, values.T.astype("f8"))
    found = torch.tensor(x).index_add(1, torch.tensor(i), torch.tensor(values))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)
    turned = torch.tensor(x.T.copy()).T.index_add(1, torch.tensor(i), torch.tensor(values))
    np.testing.assert_allclose(turned.numpy(), expected, atol=1e-4)
    one = torch.tensor(values[0]).expand(400, 300)
    expected = x.astype("f8")
    np.add.at(expected.T, i, np.repeat(values[0][:, None], 400, 1))
    found = torch.tensor(x).index_add(1, torch.tensor(i), one)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)


def test_what_is_not_touched_keeps_its_bits_and_what_is_gets_no_other(loops: bool) -> None:
    bits = np.full((500, 64), 0x7FC12345, np.uint32)
    bits[::2] = 0x80000000
    x, values = bits.view("f4"), np.full((300, 64), -0.0, "f4")
    values[:, 1] = 0.0
    values[:, 2] = np.inf
    i = RANDOM.integers(0, 100, 300) * 4
    found = torch.tensor(x).index_add(0, torch.tensor(i), torch.tensor(values)).numpy()
    untouched = np.setdiff1d(np.arange(500), i)
    np.testing.assert_array_equal(found[untouched].view("u4"), bits[untouched])
    touched = found[np.unique(i)]
    assert np.signbit(touched[:, 0]).all() and not np.signbit(touched[:, 1]).any()
    assert np.isinf(touched[:, 2]).all() and (touched[:, 3:] == 0).all()


def test_values_that_are_the_operand_itself(loops: bool) -> None:
    x = normal(300, 80)
    i = RANDOM.integers(0, 300, 300)
    expected = x.astype("f8")
    np.add.at(expected, i, x.astype("f8"))
    t = torch.tensor(x)
    t.index_add_(0, torch.tensor(i), t)
    np.testing.assert_allclose(t.numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("op", ["add", "prod", "amax"])
@pytest.mark.parametrize("shape", [(300, 170), (7, 30, 200), (40_000,)])
def test_elements_along_lines(loops: bool, shape: tuple[int, ...], op: str) -> None:
    lines, m = shape[:-1], shape[-1]
    x, i = normal(*shape), RANDOM.integers(0, m, (*lines, m + 11))
    values = normal(*i.shape)
    expected = x.astype("f8")
    function = {"add": np.add, "prod": np.multiply, "amax": np.maximum}[op]
    for line in np.ndindex(lines):
        function.at(expected[line], i[line], values[line].astype("f8"))
    t, index, source = torch.tensor(x), torch.tensor(i), torch.tensor(values)
    way = {"add": "sum"}.get(op, op)
    found = t.scatter_reduce(-1, index, source, way).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(t.gather(-1, index).numpy(), np.take_along_axis(x, i, -1))
    whole = torch.tensor((x * 10).astype("i8")).gather(-1, index).numpy()
    np.testing.assert_array_equal(whole, np.take_along_axis((x * 10).astype("i8"), i, -1))


def test_an_index_out_of_range_is_refused_in_any_line() -> None:
    i = RANDOM.integers(0, 200, (300, 200))
    for wrong in (200, -1):
        i[250, 3] = wrong
        with pytest.raises((IndexError, RuntimeError), match=f"index {wrong} is out of bounds"):
            torch.tensor(normal(300, 200)).gather(1, torch.tensor(i))


def test_gradient_of_an_embedding(loops: bool) -> None:
    table, i, g = normal(900, 40), RANDOM.integers(0, 900, 2500), normal(2500, 40)
    leaf = torch.tensor(table, requires_grad=True)
    F.embedding(torch.tensor(i), leaf).backward(torch.tensor(g))
    expected = np.zeros((900, 40))
    np.add.at(expected, i, g.astype("f8"))
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad.numpy(), expected, atol=1e-5)


def test_loops_that_are_not_as_known_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.sparse import _sparsetools

    monkeypatch.setattr(_sparsetools, "csc_matvec", lambda *args: None)
    assert sparse.loops.__wrapped__() is None

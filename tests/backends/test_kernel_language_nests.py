"""Graphs that are several loop nests, and nests written by hand, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from graph_interpreter import Interpreter
from graph_strategies import graphs
from hypothesis import HealthCheck, given, settings

from tensorbus import discovery, plugin
from tensorbus.graph.reading import read
from tensorbus.plugin.kernel_language.axes import Declined
from tensorbus.plugin.kernel_language.graphs import compile_graph
from tensorbus.plugin.kernel_language.nests import CompiledNest
from tensorbus.plugin.nest import Affine, Apply, Fold, Nest, Number, Read, Store

RNG = np.random.default_rng(8)
F32 = plugin.float32

NORM_BACKWARD = """
def graph(g: float32[s0, s1], x: float32[s0, s1], w: float32[s1], n: float32):
    v0: float32[s0] = sum(x, (1,), float32)
    v1: float32[s0] = div(v0, n)
    v2: float32[s0, 1] = unsqueeze(v1, 1)
    v3: float32[s0, s1] = sub(x, v2)
    v4: float32[s0, s1] = mul(v3, v3)
    v5: float32[s0] = sum(v4, (1,), float32)
    v6: float32[s0] = div(v5, n)
    v7: float32[s0] = add(v6, 1e-05)
    v8: float32[s0] = sqrt(v7)
    v9: float32[s0, 1] = unsqueeze(v8, 1)
    v10: float32[s0, s1] = div(v3, v9)
    v11: float32[s0, s1] = mul(g, w)
    v12: float32[s0] = sum(v11, (1,), float32)
    v13: float32[s0, s1] = mul(v11, v10)
    v14: float32[s0] = sum(v13, (1,), float32)
    v15: float32[s0] = div(v12, n)
    v16: float32[s0] = div(v14, n)
    v17: float32[s0, 1] = unsqueeze(v15, 1)
    v18: float32[s0, 1] = unsqueeze(v16, 1)
    v19: float32[s0, s1] = mul(v10, v18)
    v20: float32[s0, s1] = add(v19, v17)
    v21: float32[s0, s1] = sub(v11, v20)
    v22: float32[s0, s1] = div(v21, v9)
    v23: float32[s0, s1] = mul(g, v10)
    v24: float32[s1] = sum(v23, (0,), float32)
    v25: float32[s1] = sum(g, (0,), float32)
    return v22, v24, v25
"""
ATTENTION = """
def graph(q: float32[s0, s1], k: float32[s2, s1], v: float32[s2, s3], c: float32):
    v0: float32[s0, s1] = mul(q, c)
    v1: float32[s0, s1] = add(v0, 0.5)
    v2: float32[s1, s2] = permute(k, (1, 0))
    v3: float32[s0, s2] = matmul(v1, v2, float32)
    v4: float32[s0] = amax(v3, (1,))
    v5: float32[s0, 1] = unsqueeze(v4, 1)
    v6: float32[s0, s2] = sub(v3, v5)
    v7: float32[s0, s2] = exp(v6)
    v8: float32[s0] = sum(v7, (1,), float32)
    v9: float32[s0, 1] = unsqueeze(v8, 1)
    v10: float32[s0, s2] = div(v7, v9)
    v11: float32[s0, s3] = matmul(v10, v, float32)
    v12: float32[s0, s3] = mul(v11, 2.0)
    v13: float32[s0, s3] = maximum(v12, 0.1)
    return v13
"""
PICKED = """
def graph(x: float32[s0, s1], i: int64[s0]):
    v0: float32[s0] = amax(x, (1,))
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = sub(x, v1)
    v3: float32[s0, s1] = exp(v2)
    v4: float32[s0] = sum(v3, (1,), float32)
    v5: float32[s0] = log(v4)
    v6: float32[s0, 1] = unsqueeze(v5, 1)
    v7: float32[s0, s1] = sub(v2, v6)
    v8: int64[s0, 1] = view(i, (s0, 1))
    v9: float32[s0, 1] = gather(v7, 1, v8)
    v10: float32[s0] = view(v9, (s0,))
    v11: float32[s0] = mul(v10, -1.0)
    v12: float32[()] = sum(v11, (0,), float32)
    v13: float32[()] = mul(v12, 0.5)
    return v13
"""
GROUPS = """
def graph(x: float32[s0, 4, s1], n: float32):
    v0: float32[s0, 2, 2*s1] = view(x, (s0, 2, 2*s1))
    v1: float32[s0, 2] = sum(v0, (2,), float32)
    v2: float32[s0, 2] = div(v1, n)
    v3: float32[s0, 2, 1] = unsqueeze(v2, 2)
    v4: float32[s0, 2, 2*s1] = sub(v0, v3)
    v5: float32[s0, 4, s1] = view(v4, (s0, 4, s1))
    v6: float32[s0, 4, s1] = mul(v5, x)
    v7: float32[s0, 4, s1] = abs(v6)
    return v7, v2
"""
ERRORS = """
def graph(x: float32[s0, s1], y: float32[s0, s1]):
    v0: float32[s0, s1] = sub(x, y)
    v1: float32[s0, s1] = mul(v0, v0)
    v2: float32[()] = sum(v1, (0, 1), float32)
    v3: float32[()] = mul(v2, 0.5)
    return v3
"""
PARTS = """
def graph(x: float32[s0, s1]):
    v0: float32[s0, 1] = slice(x, 1, 0, 1, 1)
    v1: float32[s0] = select(x, 1, 2)
    v2: float32[s0, 1] = unsqueeze(v1, 1)
    v3: float32[s0, 1] = mul(v0, v2)
    v4: float32[s0, s1] = mul(x, v3)
    v5: float32[s0, s1] = exp(v4)
    v6: float32[s0, s1] = abs(v5)
    return v6, x, v1
"""

REPEATED = """
def graph(x: float32[s0]):
    v0: float32[2, s0] = expand(x, (2, s0))
    v1: float32[2, s0] = exp(v0)
    v2: float32[2] = sum(v1, (1,), float32)
    return v2
"""

SPREAD = """
def graph(g: float32[s0], s1: int64):
    v0: float32[s0] = mul(g, 0.5)
    v1: float32[s0, 1] = unsqueeze(v0, 1)
    v2: float32[s0, s1] = expand(v1, (s0, s1))
    v3: float32[s0, s1] = exp(v2)
    return v3
"""


def norm_backward(g, x, w, n):
    d = x - x.mean(1, keepdims=True)
    s = np.sqrt(x.var(1, keepdims=True) + 1e-5)
    h, a = d / s, g * w
    inner = a - h * (a * h).mean(1, keepdims=True) - a.mean(1, keepdims=True)
    return inner / s, (g * h).sum(0), g.sum(0)


def groups(x, n):
    y = x.reshape(x.shape[0], 2, -1)
    mean = y.mean(2)
    return np.abs((y - mean[:, :, None]).reshape(x.shape) * x), mean


def normal(*shape):
    return RNG.standard_normal(shape).astype("float32")


CASES = {
    "norm backward": (
        NORM_BACKWARD,
        lambda n, m: (normal(n, m), normal(n, m) + 3, normal(m), float(m)),
        norm_backward,
        (2, 2),
    ),
    "attention": (
        ATTENTION,
        lambda n, m: (normal(n, m), normal(n + 1, m), normal(n + 1, 5), 0.1),
        lambda q, k, v, c: np.maximum(scipy.special.softmax((q * c + 0.5) @ k.T, 1) @ v * 2, 0.1),
        (6, 6),
    ),
    "picked": (
        PICKED,
        lambda n, m: (normal(n, m), RNG.integers(0, m, n)),
        lambda x, i: -0.5 * scipy.special.log_softmax(x, 1)[np.arange(len(i)), i.astype(int)].sum(),
        (2, 3),
    ),
    "groups": (GROUPS, lambda n, m: (normal(n, 4, m), 2.0 * m), groups, (2, 2)),
    "errors": (
        ERRORS,
        lambda n, m: (normal(n, m), normal(n, m)),
        lambda x, y: 0.5 * ((x - y) ** 2).sum(),
        (1, 4),
    ),
    "repeated": (
        REPEATED,
        lambda n, m: (normal(m),),
        lambda x: np.exp([x, x]).sum(1),
        (1, 1),
    ),
    "spread": (
        SPREAD,
        lambda n, m: (normal(n), m),
        lambda g, m: np.repeat(np.exp(g / 2)[:, None], m, 1),
        (1, 1),
    ),
    "parts": (
        PARTS,
        lambda n, m: (normal(n, m + 2),),
        lambda x: (np.exp(x * x[:, :1] * x[:, 2:3]), x, x[:, 2]),
        (2, 2),
    ),
}  # fmt: skip


def put(generated, values):
    return [generated.put(x) if isinstance(x, np.ndarray) else x for x in values]


def close(generated, got, wanted):
    got = got if isinstance(got, tuple) else (got,)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    assert len({id(x) for x in got}) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        one, other = generated.get(one), np.asarray(other)
        assert one.shape == other.shape and one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("case", CASES)
def test_values_and_out(generated, compiled, case):
    text, operands, reference, launches = CASES[case]
    kernel = compiled(text)
    for (n, m), count in zip(((40, 6), (600, 33)), launches, strict=True):
        values = operands(n, m)
        double = [x.astype(float) if isinstance(x, np.ndarray) else x for x in values]
        wanted = reference(*double)
        if hasattr(generated.backend, "launches"):
            moved = put(generated, values)
            kernel(*moved)  # which learns what it leaves to other kernels
            before = generated.backend.launches
            kernel(*moved)
            assert generated.backend.launches - before == count
        close(generated, kernel(*put(generated, values)), wanted)
        turned = [x.T.copy().T if isinstance(x, np.ndarray) else x for x in values]
        close(generated, kernel(*put(generated, turned)), wanted)
        results = wanted if isinstance(wanted, tuple) else (wanted,)
        out = tuple(generated.put(np.zeros(np.shape(x)[::-1], "float32").T) for x in results)
        got = kernel(*put(generated, values), out=out)
        got = got if isinstance(got, tuple) else (got,)
        assert all(x is y for x, y in zip(got, out, strict=True))
        close(generated, got, wanted)


COLUMNS = """
def graph(x: float32[s0, s1, s2], i: int64[s0, s1, s2], w: float32[s2], n: float32):
    v0: float32[s0, s2] = sum(x, (1,), float32)
    v1: float32[s0, s2] = div(v0, n)
    v2: float32[s0, s2] = mul(v1, w)
    v3: float32[s0, 1, s2] = unsqueeze(v2, 1)
    v4: float32[s0, s1, s2] = sub(x, v3)
    v5: float32[s0, s2] = amax(x, (1,))
    v6: float32[s0, s2] = prod(v4, (1,), float32)
    v7: int64[s0, s2] = sum(i, (1,), int64)
    return v4, v2, v5, v6, v7
"""


@pytest.mark.parametrize("columns", [3, 16, 261])
def test_results_side_by_side_are_tiles(generated, compiled, columns):
    x, i, w = normal(3, 140, columns), RNG.integers(-9, 9, (3, 140, columns)), normal(columns)
    x[0, 5, 2], x[1, :, 0], x[2, 7, 1] = np.nan, -np.inf, np.inf
    with np.errstate(all="ignore"):
        double = x.astype(float)
        mean = double.sum(1) / 140 * w
        wanted = (double - mean[:, None], mean, double.max(1), (double - mean[:, None]).prod(1))
        got = compiled(COLUMNS)(*put(generated, [x, i, w, 140.0]))
        wide = np.repeat(x, 2, 0)[::2]
        again = compiled(COLUMNS)(*put(generated, [wide, np.asfortranarray(i), w, 140.0]))
        for results in (got, again):
            for one, other in zip(results, wanted, strict=False):
                np.testing.assert_allclose(
                    generated.get(one), other.astype("float32"), rtol=1e-4, atol=2e-6
                )
            np.testing.assert_array_equal(generated.get(results[4]), i.sum(1))
    if columns == 261:
        texts = [key[2] for key in generated.backend.device(0).made if key[0] == "nest"]
        assert any("first + u" in text for text in texts)


def test_sums_of_tiles_keep_their_digits(generated, compiled):
    column = np.full(100 * 128, 1 / 128, "float32")
    column[0] = 1e8
    x = np.repeat(column[:, None], 256, 1)
    text = """def graph(x: float32[s0, s1]):
    v0: float32[s0, s1] = mul(x, 1.0)
    v1: float32[s1] = sum(v0, (0,), float32)
    return v1"""
    got = generated.get(compiled(text)(generated.put(x)))
    np.testing.assert_allclose(got, np.full(256, column.astype(float).sum()), rtol=1e-7)


def test_results_lie_in_memory_of_their_own(generated, compiled):
    kernel = compiled(PARTS)
    x = generated.put(normal(4, 5))
    results = kernel(x)
    assert len({x.storage, *(r.storage for r in results)}) == 4


def test_an_index_outside_is_a_fault(generated, compiled):
    result = compiled(PICKED)(*put(generated, [normal(3, 5), np.array([0, 9, 1])]))
    with pytest.raises(plugin.IndexFault):
        generated.get(result)


@pytest.mark.parametrize("text", [
    # two kernels for two ops
    "def graph(x: float32[s0, s1]):\n v: float32[s0] = sum(x, (1,), float32)\n"
    " w: float32[s1] = sum(x, (0,), float32)\n return v, w",
    "def graph(x: float32[s0, s1], y: float32[s1, s2], b: float32[s2]):\n"
    " v: float32[s0, s2] = matmul(x, y, float32)\n w: float32[s0, s2] = add(v, b)\n return w",
    # one value whose dimensions lie along each other
    "def graph(x: float32[s0, s0]):\n v: float32[s0, s0] = permute(x, (1, 0))\n"
    " w: float32[s0, s0] = add(x, v)\n y: float32[s0] = sum(w, (1,), float32)\n return y",
])  # fmt: skip
def test_what_does_not_pay_or_is_no_nest_is_declined(generated, text):
    assert generated.backend.compile(read(text), 0) is None


INPUTS = [
    np.array([[0.0, -3.0, np.nan], [np.inf, -2.0, 8.0]], "float32"),
    np.array([1.0, -1.0, 3.0], "float32"),
    np.array([[-0.0], [7.0]], "float32"),
    np.array([True, False, True]),
]


@settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(graph=graphs(unary=["abs", "floor"], numbers=[0.0, -0.0, 1.0, 2, -3.0], deep=False))
def test_random_graphs(generated, graph):
    kernel = compile_graph(generated.backend.device(0), graph)
    if kernel is None:
        return
    with np.errstate(all="ignore"):
        wanted = Interpreter(discovery.backend("cpu")).run(graph, INPUTS)
    results = kernel(*put(generated, INPUTS))
    results = results if isinstance(results, tuple) else (results,)
    for one, other in zip(results, wanted, strict=True):
        one = generated.get(one)
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_nest_by_hand_reads_every_second_element(generated):
    """``out[i] = sum over k of x[2 i + k, 1] * c``, and the same points doubled in ``both``."""
    read = Read(0, (Affine(((0, 2), (1, 1))), Affine(offset=1)), F32)
    fold = Fold("sum", Apply("mul", (read, Number(0, F32)), F32), (1,), F32)
    double = Apply("add", (fold, fold), F32)
    stores = (Store((0, None), fold, F32), Store((0,), double, F32))
    nest = Nest(("n", 3), (F32,), (F32,), stores)
    x = normal(81, 2)
    run = CompiledNest(generated.backend.device(0), nest)
    out, both = run([generated.put(x)], [0.5], [None, None], {"n": 40})
    wanted = 0.5 * (x[0:80:2, 1].astype(float) + x[1:80:2, 1] + x[2:81:2, 1])
    np.testing.assert_allclose(generated.get(out)[:, 0], wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(generated.get(both), 2 * wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(Declined):
        CompiledNest(generated.backend.device(0), Nest(("n", 3), (F32,), (F32,), stores, (4, 1)))


def test_nests_of_one_text_share_their_loops(opencl):
    graph = read(ERRORS.strip())
    device = opencl.backend.device(0)
    compile_graph(device, graph)
    count = len(device.made)
    compile_graph(device, read(ERRORS.strip()))
    assert len(device.made) == count

"""Loop nests that read at indices which are values: against NumPy, and against the primitives."""

from __future__ import annotations

import numpy as np
import pytest
from gathering_graphs import (
    BAG,
    CASES,
    COLUMNS,
    EACH,
    ITSELF,
    OF_DISTANCES,
    OF_ELEMENTS,
    OF_PRODUCTS,
    OF_ROWS,
    RNG,
    ROWS,
    SIZES,
    TURNED,
    indices,
    normal,
)
from graph_interpreter import Interpreter
from graph_strategies import graphs
from hypothesis import HealthCheck, given, settings
from nest_interpreter import NestInterpreter

import tensorbus as torch
from tensorbus import discovery, plugin
from tensorbus.graph.reading import read
from tensorbus.plugin.kernel_language.graphs import compile_graph
from tensorbus.plugin.kernel_language.lowering import lower
from tensorbus.plugin.kernel_language.nests import CompiledNest
from tensorbus.plugin.nest import Affine, Apply, Fold, Gathered, Nest, Read, Store

F32, I64 = plugin.float32, plugin.int64


def put(generated, values):
    return [generated.put(x) if isinstance(x, np.ndarray) else x for x in values]


def tuple_of(x):
    return x if isinstance(x, tuple) else (x,)


def close(generated, got, wanted):
    for one, other in zip(tuple_of(got), tuple_of(wanted), strict=True):
        one = generated.get(one)
        assert one.shape == other.shape and one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=3e-5, atol=3e-5)


@pytest.mark.parametrize("case", CASES)
def test_values(generated, compiled, case):
    text, operands, reference, launches = CASES[case]
    kernel = compiled(text)
    for sizes in SIZES:
        values = operands(*sizes)
        wanted = reference(*[x.astype(float) for x in values])
        before = getattr(generated.backend, "launches", 0)
        got = kernel(*put(generated, values))
        if before and launches:
            assert generated.backend.launches - before == launches
        close(generated, got, wanted)
        turned = [np.asfortranarray(x) for x in values]
        close(generated, kernel(*put(generated, turned)), wanted)
        backwards = [x[::-1].copy()[::-1] for x in values]
        close(generated, kernel(*put(generated, backwards)), wanted)


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][0] is not ITSELF])
def test_lowered_nests_say_what_is_computed(case):
    text, operands, reference, _ = CASES[case]
    graph = read(text.strip())
    values = operands(5, 4, 3)
    known = dict(zip(graph.inputs, values, strict=True))
    sizes = {}
    for value, x in known.items():
        sizes |= {n: m for n, m in zip(value.type.shape, x.shape, strict=True) if n != 1}
    for step in lower(graph):
        nest = step.nest
        run = NestInterpreter(
            nest, [known[v] for v in step.arrays], [], [sizes.get(n, n) for n in nest.box]
        )
        known |= zip(step.results, run.run(), strict=True)
        assert not run.faults
    wanted = reference(*[x.astype(float) for x in values])
    for value, other in zip(graph.outputs, tuple_of(wanted), strict=True):
        np.testing.assert_allclose(known[value], other, rtol=1e-5, atol=1e-6)


# The text of a graph, an index, and the primitive that says what is wrong.
WRONG = {
    "a row behind the last": (ROWS.format(wrap=False), 40, ("take", 0, False)),
    "a negative row": (ROWS.format(wrap=False), -1, ("take", 0, False)),
    "before the first": (ROWS.format(wrap=True), -41, ("take", 0, True)),
    "a column": (COLUMNS.format(wrap=False), 37, ("take", 1, False)),
    "a column from the end": (COLUMNS.format(wrap=True), -38, ("take", 1, True)),
    "an element": (EACH, 37, ("gather", 1)),
    "a negative element": (EACH, -1, ("gather", 1)),
    "far away": (EACH, 2**62, ("gather", 1)),
    "in a softmax": (OF_ELEMENTS, 37, ("gather", 1)),
    "a row in a softmax": (OF_ROWS, -(2**63), ("take", 0, False)),
    "in a sum": (BAG, 40, ("take", 0, True)),
    "in a view": (TURNED, 40, ("take", 0, True)),
    "of what is computed": (OF_DISTANCES, 37, ("gather", 1)),
    "of what is computed, far away": (OF_DISTANCES, 2**62, ("gather", 1)),
}


def fault_of(generated, array):
    with pytest.raises(plugin.IndexFault) as found:
        generated.get(array)
    return found.value.args


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("count", [20, 3])
def test_an_index_outside_is_the_fault_of_the_primitive(generated, compiled, case, count):
    text, index, (op, dim, *wrap) = WRONG[case]
    x = normal(40, 37)
    i = np.zeros((40, count) if op == "gather" else count, "int64")
    further = [(37,)] if "b: float32[s1]" in text else [(40, 1)] if "b: " in text else []
    further = [normal(*shape) for shape in further]
    kernel = compiled(text)
    good = kernel(*put(generated, [x, i, *further]))
    assert np.isfinite(generated.get(good)).all()
    i[..., -1] = index
    result = kernel(*put(generated, [x, i, *further]))
    found = fault_of(generated, result)
    generated.get(result)  # it is told once
    x, i = put(generated, [x.T if case == "in a view" else x, i])
    made = generated.kernel(op, "float32")(x, 1 if case == "in a view" else dim, i, *wrap)
    assert found == fault_of(generated, made)


def test_a_compiled_loss_says_of_a_wrong_class_what_the_composed_one_says(generated):
    x, i = torch.from_numpy(normal(9, 5)), torch.from_numpy(indices(5, 9))
    w, wrong = torch.from_numpy(np.abs(normal(5))), i.clone()
    wrong[4] = 5
    with discovery.plugged(generated.backend) as name:
        x, w, i, wrong = (a.to(name) for a in (x, w, i, wrong))
        values, errors = set(), set()
        for _ in range(4):  # composed, and compiled from the third call on
            values.add(round(torch.nn.functional.cross_entropy(x, i, w).item(), 5))
            with pytest.raises(IndexError) as found:
                torch.nn.functional.cross_entropy(x, wrong, w).item()
            errors.add(str(found.value))
        assert len(values) == len(errors) == 1


def test_what_is_outside_is_not_read_and_gives_0(generated, compiled):
    w = normal(3, 20)
    i = np.array([0, -1, 3, 2])  # ``put`` has 77 before and behind the array
    result = compiled(ROWS.format(wrap=False))(*put(generated, [w, i, np.ones(20, "float32")]))
    with pytest.raises(plugin.IndexFault):
        generated.get(result)
    np.testing.assert_allclose(
        generated.get(result), np.exp([w[0], w[0] * 0, w[0] * 0, w[2]]), rtol=1e-5
    )


def test_indices_into_nothing_are_faults(generated, compiled):
    result = compiled(ROWS.format(wrap=True))(
        *put(generated, [normal(0, 20), np.array([0, 1]), normal(20)])
    )
    with pytest.raises(plugin.IndexFault) as found:
        generated.get(result)
    assert found.value.args == plugin.IndexFault(0, 0, 0).args


def test_a_wrong_index_of_what_nothing_uses_is_a_fault(generated, compiled):
    kernel = compiled("""
def graph(x: float32[s0], i: int64[s1]):
    v0: float32[s1] = take(x, 0, i, False)
    v1: float32[s0] = exp(x)
    v2: float32[s0] = mul(v1, 2.0)
    v3: float32[s0] = add(v2, x)
    return v3
""")
    x = normal(5)
    np.testing.assert_allclose(
        generated.get(kernel(*put(generated, [x, np.array([4, 0])]))), 2 * np.exp(x) + x, rtol=1e-5
    )
    result = kernel(*put(generated, [x, np.array([4, 5])]))
    with pytest.raises(plugin.IndexFault):
        generated.get(result)


@pytest.mark.parametrize("wrap", [False, True])
def test_elements_are_computed_where_they_are_picked_if_there_are_no_more(
    generated, compiled, wrap
):
    kernel = compiled(OF_PRODUCTS.format(wrap=wrap))
    w, b, c = normal(9, 20), normal(20), normal(9, 1)
    for count, launches in ((9, 1), (10, 2), (1, 1)):
        i = indices(9, count, low=-wrap)
        before = getattr(generated.backend, "launches", 0)
        got = kernel(*put(generated, [w, i, b, c]))
        if before:
            assert generated.backend.launches - before == launches
        close(generated, got, ((np.exp(w * b) + c)[i].T / 2).astype("float32"))
        i[-1] = -10 if wrap else -1
        result = kernel(*put(generated, [w, i, b, c]))
        # It names the dimension of the view.
        assert fault_of(generated, result) == plugin.IndexFault(int(i[-1]), 1, 9).args


def test_nan_and_inf_are_picked_as_they_are(generated, compiled):
    x = np.array([[np.nan, np.inf, -np.inf, -0.0]], "float32")
    text = """
def graph(x: {d}[1, s0], i: int64[1, s1]):
    v0: {d}[1, s1] = gather(x, 1, i)
    v1: {d}[1, s1] = mul(v0, 1.0)
    v2: {d}[1, s1] = mul(v1, 1.0)
    return v2
"""
    i = np.array([[3, 2, 1, 0, 3] * 5])
    for d in ("float32", "float16"):
        got = generated.get(compiled(text.format(d=d))(*put(generated, [x.astype(d), i])))
        assert got.tobytes() == x.astype(d)[:, i[0]].tobytes() or d == "float16"
        np.testing.assert_array_equal(got, x.astype(d)[:, i[0]])
        np.testing.assert_array_equal(np.signbit(got)[0, ::5], True)


@pytest.mark.parametrize("d", ["int64", "bool", "uint8", "float16", "float64"])
def test_dtypes(generated, compiled, d):
    kernel = compiled(f"""
def graph(x: {d}[s0, s1], i: int64[s2]):
    v0: {d}[s2, s1] = take(x, 0, i, True)
    v1: float32[s2, s1] = cast(v0, float32)
    v2: float32[s2, s1] = mul(v1, 0.5)
    return v2
""")
    x, i = RNG.integers(0, 2 if d == "bool" else 99, (7, 18)).astype(d), indices(7, 9, low=-1)
    got = generated.get(kernel(*put(generated, [x, i])))
    np.testing.assert_array_equal(got, x[i].astype("float32") / 2)


@pytest.mark.parametrize("d", ["float16", "float32", "float64"])
def test_the_sum_of_one_negative_zero_is_zero(generated, compiled, d):
    kernel = compiled(f"""
def graph(x: {d}[s0, 1], y: {d}[s0, s1]):
    v0: {d}[s0] = sum(x, (1,), {d})
    v1: {d}[s0, 1] = unsqueeze(v0, 1)
    v2: {d}[s0, s1] = div(y, v1)
    return v2
""")
    x, y = np.array([[-0.0], [2.0], [0.0]], d), np.full((3, 4), 3.0, d)
    got = generated.get(kernel(*put(generated, [x, y])))
    np.testing.assert_array_equal(got[:, 0], np.array([np.inf, 1.5, np.inf], d))


INPUTS = [
    np.array([[0.0, -3.0, np.nan], [np.inf, -2.0, 8.0]], "float32"),
    np.array([1.0, -1.0, 3.0], "float32"),
    np.array([[-0.0], [7.0]], "float32"),
    np.array([True, False, True]),
    np.array([[0, 2, 1], [1, 1, 0]]),
    np.array([2, 0, 1]),
]


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(graph=graphs(unary=["abs", "floor"], numbers=[0.0, 1.0, 2, -3.0], deep=False, gathers=True))
def test_random_graphs(generated, graph):
    kernel = compile_graph(generated.backend.device(0), graph)
    if kernel is None:
        return
    with np.errstate(all="ignore"):
        wanted = Interpreter(discovery.backend("cpu")).run(graph, INPUTS)
    results = tuple_of(kernel(*put(generated, INPUTS)))
    for one, other in zip(results, wanted, strict=True):
        one = generated.get(one)
        assert one.shape == other.shape and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_nest_by_hand_reads_at_two_indices(generated):
    """``out[b, c] = sum over k of table[i[b, k], 1 + j[c]] * x[c, i[b, k]]``, and its faults."""
    table, i, j, x = normal(6, 5), indices(6, 20, 33), indices(4, 7), normal(7, 6)
    chosen = Read(1, (Affine(((0, 1),)), Affine(((2, 1),))), I64)
    column = Apply("add", (Read(2, (Affine(((1, 1),)),), I64), 1), I64)
    first = Read(0, (Gathered(chosen, 0), Gathered(column, 1)), F32)
    second = Read(3, (Affine(((1, 1),)), Gathered(chosen, 5, wrap=True)), F32)
    fold = Fold("sum", Apply("mul", (first, second), F32), (2,), F32)
    nest = Nest((20, 7, 33), (F32, I64, I64, F32), (), (Store((0, 1), fold, F32),))
    run = CompiledNest(generated.backend.device(0), nest)
    wanted = (table[i][:, :, 1 + j].transpose(0, 2, 1) * x[:, i].transpose(1, 0, 2)).sum(2)
    (out,) = run(put(generated, [table, i, j, x]), [], [None], {})
    np.testing.assert_allclose(generated.get(out), wanted, rtol=1e-4, atol=1e-5)
    (reference,) = NestInterpreter(nest, [table, i, j, x], [], [20, 7, 33]).run()
    np.testing.assert_allclose(reference, wanted, rtol=1e-4, atol=1e-5)
    for array, at, wrong, fault in ((j, 3, 4, (5, 1, 5)), (i, (2, 3), -7, (-7, 0, 6))):
        good, array[at] = array[at], wrong
        (out,) = run(put(generated, [table, i, j, x]), [], [None], {})
        with pytest.raises(plugin.IndexFault) as found:
            generated.get(out)
        reference = NestInterpreter(nest, [table, i, j, x], [], [20, 7, 33])
        reference.run()
        faults = {(*plugin.IndexFault(*f).args,) for f in reference.faults}
        assert found.value.args in faults and fault in reference.faults
        got = generated.get(out)  # what is outside is 0
        np.testing.assert_allclose(got, reference.run()[0], rtol=1e-4, atol=1e-5)
        array[at] = good


def test_a_tile_computes_with_reductions_that_have_none_of_its_axes(generated):
    """``out[c] = sum over k of x[k, c] * (1 + sum of w)``."""
    x, w = normal(33, 40 * 16), normal(33)
    shift = Apply("add", (Fold("sum", Read(1, (Affine(((1, 1),)),), F32), (1,), F32), 1.0), F32)
    value = Read(0, (Affine(((1, 1),)), Affine(((0, 1),))), F32)
    fold = Fold("sum", Apply("mul", (value, shift), F32), (1,), F32)
    nest = Nest((40 * 16, 33), (F32, F32), (), (Store((0,), fold, F32),))
    run = CompiledNest(generated.backend.device(0), nest)
    (out,) = run(put(generated, [x, w]), [], [None], {})
    wanted = x.astype(float).sum(0) * (1 + w.astype(float).sum())
    np.testing.assert_allclose(generated.get(out), wanted, rtol=1e-4, atol=1e-4)


PRODUCTS = """
def graph(x: float32[s0, s1], y: float32[s0, s2], i: int64[s0, s3]):
    v0: float32[s0, s3] = gather(x, 1, i)
    v1: float32[s0, s3] = gather(y, 1, i)
    v2: float32[s0, s3] = mul(v0, v1)
    v3: float32[s0] = sum(v2, (1,), float32)
    return v3
"""


def texts(device):
    return {key[2] for key in device.made if key[0] == "nest"}


def test_reads_at_indices_leave_vectors_to_what_is_computed(generated, compiled):
    device = generated.backend.device(0)
    rows, elements, plain = (
        text.replace("exp", "tanh")
        for text in (
            ROWS.format(wrap=False),
            OF_ELEMENTS,
            EACH.replace("gather(x, 1, i)", "abs(x)"),
        )
    )
    plain = plain.replace("s2", "s1").replace("i: int64[s0, s1], ", "")
    w, i, b = normal(64, 48), indices(48, 64, 48), normal(48)
    before = texts(device)
    compiled(rows)(*put(generated, [w, i[:, 0], b]))
    # Tiles of 16 results, whose row is looked up once.
    (tiled,) = (text for text in texts(device) - before if "first + u" in text)
    lookup = next(line for line in tiled.splitlines() if "index_at" in line)
    assert lookup.startswith("i64 ") and "[u]" not in lookup
    before = texts(device)
    compiled(elements)(*put(generated, [w, i]))
    # Each of the three loops looks up in lanes of their own, once for many and once for one.
    (text,) = texts(device) - before
    assert text.count("index_at") == 6 and text.count("_of[u] = ") == 6
    before = texts(device)
    compiled(PRODUCTS)(*put(generated, [w, normal(64, 48), i]))
    # An index of two arrays is read once, and checked for each.
    (text,) = texts(device) - before
    assert text.count("i64 inner") == 2 * 3
    before = texts(device)
    compiled(plain)(*put(generated, [w, normal(64, 1)]))
    assert not any("first + u" in text for text in texts(device) - before)

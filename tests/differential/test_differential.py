"""Random programs: what they are seen to do here is what they are seen to do in PyTorch.

The fast lane runs some whose answers are recorded; the long lane runs 50,000 beside PyTorch. The
latter by hand, in other numbers or from other seeds: ``python -m tests.differential.hunt --help``.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkout import ROOT
from tests.differential.comparison import difference
from tests.differential.conditioning import roundings, wobbled
from tests.differential.drawing import drawn
from tests.differential.explained import explained, mended, unpromised
from tests.differential.hunt import FAMILIES, compared, rule, shrunk
from tests.differential.programs import Program, run
from tests.differential.seen import Seen

import tensorbus

SAMPLE = 43

# Their numbers are badly conditioned: how much so, PyTorch itself has to be asked.
MEASURED = {
    "linalg": {37},
    "autograd": {3, 11, 14, 15, 21, 26, 41, 42},
    "functions": {1, 31},
}

LONG = 50_000


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    yield
    for library in {tensorbus, sys.modules.get("torch", tensorbus)}:
        library.set_printoptions(profile="default")


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_do_as_recorded(family: str, oracle: Any) -> None:
    seeds = [seed for seed in range(SAMPLE) if seed not in MEASURED.get(family, ())]

    def program(torch: Any) -> Any:
        found = []
        for seed in seeds:
            drawn_program, seen = drawn(family, seed, torch, rule(family))
            found.append([drawn_program.lines, [s.data() for s in seen]])
        return found

    for seed, (lines, seen) in zip(seeds, oracle(program), strict=True):
        made = Program(family, seed, lines)
        found = compared(made, run(made, tensorbus), [Seen.of_data(data) for data in seen])
        assert not found, f"{made.script()}\n--> {found}"


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_thousands_of_programs_do_as_pytorch(family: str, live_torch: Any, capsys: Any) -> None:
    count = -(-LONG // len(FAMILIES))
    command = [sys.executable, "-m", "tests.differential.hunt", family, "--count", str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    with capsys.disabled():
        print(f"\n{done.stdout.splitlines()[-1] if done.stdout else done.stderr}")
    assert not done.returncode, done.stdout + done.stderr


def test_a_difference_is_found_and_shrunk() -> None:
    lines = ["a = torch.ones(3)", "b = a * 2", "c = a.roll(1)", "d = b.flip(0)", "e = torch.eye(2)"]

    class Library:
        """tensorbus, but that one function is wrong."""

        def __getattr__(self, name: str) -> Any:
            return (lambda n: tensorbus.ones(n) * 3) if name == "ones" else getattr(tensorbus, name)

    wrong = Library()
    program, found = shrunk(
        Program("indexing", 0, lines), lambda p: compared(p, run(p, wrong), run(p, tensorbus))
    )
    assert program.lines == ["a = torch.ones(3)"]
    assert "instead of" in found
    assert "seed 0" in program.script()


def test_programs_around_faults_of_pytorch_have_the_same_values() -> None:
    made = Program("autograd", 0, [
        "a = torch.tensor([[0.5, -1.0, 2.0], [1.0, 3.0, -0.5]], requires_grad=True)",
        "b = a.logcumsumexp(-1)",
        "z = a.sum()",
        "c = b.logcumsumexp(0) + z.logcumsumexp(0)",
        "d = torch.sgn(c)",
        "g = torch.autograd.grad((c * c).sum(), [a], create_graph=True)",
        "h = torch.autograd.grad((g[0] * g[0]).sum(), [a])",
    ])  # fmt: skip
    parts = Program("autograd", 0, ["a = torch.tensor([0j, 3 - 4j])", "b = torch.sgn(a)"])
    numbers = "a = torch.tensor([0j, complex(-0.0, 0.0), 3 - 4j])"
    angles = Program("autograd", 0, [numbers, "b = torch.angle(a)"])
    seen = run(made, tensorbus)
    assert [s.kind for s in seen[:7]] == ["tensor"] * 5 + ["parts"] * 2
    fails = Seen("error", {"type": ["RuntimeError"], "text": "ZeroTensors are immutable."})
    for one, met, gone in (
        (made, seen[6], "cumsum"),
        (made, fails, "sgn"),
        (parts, seen[6], "sgn"),
        (angles, seen[6], "torch.angle"),
    ):
        other = mended(one, met)
        assert other is not None and gone not in "".join(other.lines)
        # The same to rounding: each number beside that of the largest size.
        same = Program("linalg", 0, other.lines)
        assert not compared(same, run(other, tensorbus), run(one, tensorbus))
        assert mended(other, met) is None
    assert mended(made, seen[5]) is None


@pytest.mark.slow
def test_what_moves_in_place_is_not_rounded(live_torch: Any) -> None:
    lines = ["a = torch.tensor([0.5, -2.0]).sigmoid_()", "v = a.expand([2, 1, 2])", "a += 1"]
    made = Program("views", 0, [*lines, "v.squeeze_()", "v.transpose_(0, 1)", "v.unsqueeze_(0)"])
    seen = run(made, live_torch)
    for other in wobbled(made, live_torch):
        assert [s.kind for s in other] == [s.kind for s in seen]
        assert [s.facts for s in other] == [s.facts for s in seen]


def test_infinite_numbers_are_not_rounded(live_torch: Any) -> None:
    made = Program("autograd", 0, [
        "x = torch.tensor([2.5, float('-inf'), 0.5]).exp()",
        "y = torch.tensor([complex(1.0, float('inf')), 2 - 1j]) * 1",
        "z = x.log()",
    ])  # fmt: skip
    seen = run(made, live_torch)
    for other in wobbled(made, live_torch):
        for a, b in zip(other, seen, strict=True):
            np.testing.assert_allclose(a.values, b.values, rtol=1e-5)


def test_complex_sums_may_differ_where_alpha_spreads_nan_alone() -> None:
    def seen(*values: complex) -> Seen:
        facts = {"dtype": "complex64", "shape": [len(values)], "stride": [1], "view": False}
        return Seen("tensor", facts, np.asarray(values, np.complex64))

    made = Program("promotion", 0, ["y = torch.sub(x, z)", "y = torch.mul(x, z)"])
    nan = float("nan")
    ours, theirs = seen(complex(nan, 2.25), 1j), seen(complex(nan, nan), 1j)
    assert explained(made, 0, "", ours, theirs)
    assert not explained(made, 1, "", ours, theirs)
    assert not explained(made, 0, "", ours, seen(complex(nan, nan), 2j))
    assert not explained(made, 0, "", seen(1 + 2.25j, 1j), theirs)


def test_a_gradient_of_no_elements_may_be_a_constant() -> None:
    text = "element 0 of tensors does not require grad and does not have a grad_fn"
    ours = Seen("error", {"type": ["RuntimeError"], "text": text})
    lines = ["y = x.cummax(0)[0]", "g = torch.autograd.grad(y.sum(), [x], create_graph=True)"]
    made = Program("autograd", 0, [*lines, "h = torch.autograd.grad(g[0].sum(), [x])"])

    def parts(*values: float) -> Seen:
        return Seen("parts", parts=(Seen("tensor", {}, np.asarray(values)),))

    assert explained(made, 2, "", ours, parts(0.0, 0.0))
    assert explained(made, 2, "", ours, parts())
    assert not explained(made, 2, "", ours, parts(0.0, 1.0))
    other = Program("autograd", 0, [line.replace("cummax", "cumsum") for line in made.lines])
    assert not explained(other, 2, "", ours, parts(0.0, 0.0))


def test_constant_gradients_of_products_may_be_roundings() -> None:
    def parts(*values: float) -> Seen:
        return Seen("parts", parts=(Seen("tensor", {}, np.asarray(values)),))

    lines = ["y = x.prod(1)", "h = torch.autograd.grad(g[0].sum(), [x])"]
    made = Program("autograd", 0, lines)
    assert explained(made, 1, "", parts(0.0, 1.0), parts(-3.4e-16, 1.0))
    assert not explained(made, 1, "", parts(0.0, 1.0), parts(-3.4e-14, 1.0))
    other = Program("autograd", 0, ["y = x.sum(1)", lines[1]])
    assert not explained(other, 1, "", parts(0.0, 1.0), parts(-3.4e-16, 1.0))


def test_only_infinities_are_as_good_as_nan() -> None:
    def one(value: float) -> Seen:
        facts = {"dtype": "float64", "shape": [], "view": False}
        return Seen("tensor", facts, np.asarray(value))

    without = unpromised(
        Program("linalg", 0, ["x = torch.linalg.solve_triangular(a, b, upper=True)"]), 0, "x"
    )
    nan, inf = float("nan"), float("inf")
    assert not difference(one(nan), one(inf), (), without)
    assert not difference(one(-inf), one(nan), (), without)
    assert difference(one(nan), one(1.0), (), without)
    assert difference(one(1.0), one(inf), (), without)
    assert difference(one(nan), one(inf), (), without - {"infinite or NaN"})


def test_solutions_of_least_squares_may_be_off_by_their_condition_number() -> None:
    lines = ["t = torch.tensor([[8.0, 0.0], [0.0, 2.0]])", "y = torch.linalg.lstsq(t, t)[0]"]
    made = Program("linalg", 0, lines)
    wide = Program("linalg", 0, [line.replace("]])", "]]).double()") for line in made.lines])
    for program, neglected in ((made, 5.0), (wide, 2 ** (53 / 8) / 2)):
        seen = run(program, tensorbus)
        room = roundings(program, "y", seen)
        assert room == pytest.approx(16 + neglected * 4)  # the matrix's condition number is 4
        assert roundings(program, "t", seen) == 16
        x, without = seen[1], unpromised(program, 1, "y")
        epsilon = np.finfo(x.values.dtype).eps
        near, far = (replace(x, values=x.values + f * room * epsilon) for f in (0.9, 1.2))
        assert difference(near, x, (), without)
        assert not difference(near, x, (), without, room)
        assert difference(far, x, (), without, room)


def _seen(*values: complex) -> Seen:
    array = np.asarray(values)
    facts = {"dtype": array.dtype.name, "shape": [len(values)], "stride": [1], "view": False}
    return Seen("tensor", facts, array)


def test_logarithms_may_be_whole_turns_apart() -> None:
    made = Program("reductions", 0, ["y = torch.logcumsumexp(x, 0)", "y = torch.log(x)"])
    theirs, turn = _seen(1 - 2.25j, 0.5j), 2j * np.pi
    assert explained(made, 0, "", _seen(1 - 2.25j + turn, 0.5j), theirs)
    assert explained(made, 0, "", _seen(1 - 2.25j, 0.5j - 2 * turn), theirs)
    assert not explained(made, 1, "", _seen(1 - 2.25j + turn, 0.5j), theirs)
    assert not explained(made, 0, "", _seen(1 - 2.25j + turn, 0.5j + 0.01), theirs)
    assert not explained(made, 0, "", _seen(1 - 2.25j + turn / 2, 0.5j), theirs)


def test_angles_on_the_negative_axis_are_pi_or_less() -> None:
    made = Program("autograd", 0, ["y = torch.neg(x)", "z = torch.angle(y)", "w = torch.sin(z)"])
    theirs = _seen(np.pi, 0.5)
    assert explained(made, 1, "", _seen(-np.pi, 0.5), theirs)
    assert not explained(made, 2, "", _seen(-np.pi, 0.5), theirs)
    assert not explained(made, 1, "", _seen(-np.pi, -0.5), theirs)
    assert not explained(made, 1, "", _seen(np.pi, -0.5), theirs)


def test_views_of_what_has_two_readings_of_an_order_have_them_too() -> None:
    def seen(name: str, shape: list[int], stride: list[int], view: bool) -> Seen:
        facts = {"dtype": "int64", "shape": shape, "stride": stride, "offset": 0, "view": view}
        return Seen("tensor", facts, np.zeros(shape, np.int64), name=name)

    made = Program("indexing", 0, ["x = a[i]", "y = x.t()", "z = b.t()"])
    fresh = seen("x", [1, 2, 2], [4, 1, 2], False), seen("x", [1, 2, 2], [4, 2, 1], False)
    views = seen("y", [2, 2], [2, 1], True), seen("y", [2, 2], [1, 2], True)
    assert not compared(made, [fresh[0], views[0]], [fresh[1], views[1]])
    assert "stride" in compared(made, [fresh[0], views[0]], [fresh[0], views[1]])
    last = [seen("z", [2, 2], s, True) for s in ([2, 1], [1, 2])]
    assert "stride" in compared(made, [fresh[0], views[0], last[0]], [fresh[1], views[0], last[1]])


def test_i0_of_infinite_numbers_is_infinite() -> None:
    made = Program("promotion", 0, ["y = torch.i0(x)", "z = torch.exp(x)"])
    inf, nan = float("inf"), float("nan")
    assert explained(made, 0, "", _seen(inf, 1.5), _seen(nan, 1.5))
    assert not explained(made, 1, "", _seen(inf, 1.5), _seen(nan, 1.5))
    assert not explained(made, 0, "", _seen(nan, 1.5), _seen(inf, 1.5))
    assert not explained(made, 0, "", _seen(inf, 1.5), _seen(nan, 1.0))


def test_condition_numbers_of_singular_matrices_are_those_of_roundings() -> None:
    made = Program("linalg", 0, ["y = torch.linalg.cond(x)", "z = torch.linalg.det(x)"])
    theirs = _seen(2.0, 1e17)
    assert explained(made, 0, "", _seen(2.0, 1e15), theirs)
    assert not explained(made, 0, "", _seen(2.0, 1e12), theirs)
    assert not explained(made, 0, "", _seen(2.5, 1e15), theirs)
    assert not explained(made, 1, "", _seen(2.0, 1e15), theirs)


@pytest.mark.slow
def test_quotients_by_what_is_0_but_for_roundings_are_not_compared(live_torch: Any) -> None:
    lines = [
        "x = torch.tensor([-1.0], dtype=torch.bfloat16)",
        "y = torch.logaddexp2(x, x)",
        "z = torch.zeros(1) / y",
    ]
    made = Program("promotion", 0, lines)
    ours, theirs = run(made, tensorbus), run(made, live_torch)
    assert compared(made, ours, theirs)
    assert not compared(made, ours, theirs, live_torch)
    ours[2] = replace(ours[2], facts={**(ours[2].facts or {}), "dtype": "float64"})
    assert "dtype" in compared(made, ours, theirs, live_torch)


def test_zeros_of_remainder_may_have_another_sign() -> None:
    made = Program("promotion", 0, ["y = a % b", "z = x / y"])
    inf = float("inf")
    assert explained(made, 1, "", _seen(inf, 1.0), _seen(-inf, 1.0))
    assert not explained(made, 0, "", _seen(inf, 1.0), _seen(-inf, 1.0))
    assert not explained(made, 1, "", _seen(inf, 1.5), _seen(-inf, 1.0))
    assert not explained(made, 1, "", _seen(inf, 1.0), _seen(float("nan"), 1.0))

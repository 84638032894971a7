"""``x[...]``, get and set, against PyTorch: values, errors, views, versions and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus.autograd import gradcheck, gradgradcheck


def numbers(lib: Any, *shape: int) -> Any:
    return lib.arange(int(np.prod(shape))).reshape(*shape)


def ints(lib: Any, *values: int) -> Any:
    return lib.tensor(list(values))


VIEWS = {
    "int": lambda lib: 1,
    "negative": lambda lib: -1,
    "pair": lambda lib: (1, -2),
    "all": lambda lib: (0, 2, 3),
    "slice": lambda lib: slice(1, None),
    "step": lambda lib: slice(None, -1, 2),
    "far": lambda lib: slice(-100, 100),
    "crossed": lambda lib: slice(2, 1),
    "behind": lambda lib: slice(100, None),
    "columns": lambda lib: (slice(None), slice(1, None)),
    "everything": lambda lib: slice(None),
    "ellipsis": lambda lib: (Ellipsis, 0),
    "only ellipsis": lambda lib: Ellipsis,
    "two ellipses": lambda lib: (Ellipsis, Ellipsis),
    "none": lambda lib: (None, slice(1), None),
    "mixture": lambda lib: (0, None, Ellipsis, slice(1, 3)),
    "nothing": lambda lib: (),
    "0-dim tensor": lambda lib: lib.tensor(1),
    "two 0-dim tensors": lambda lib: (lib.tensor(1), lib.tensor(0)),
    "NumPy int": lambda lib: np.int64(1),
}
TENSORS = {
    "list": lambda lib: [0, 1],
    "nested list": lambda lib: [[0, 1], [1, 0]],
    "tensor": lambda lib: ints(lib, 0, -1, 0),
    "second": lambda lib: (slice(None), ints(lib, 1, 1)),
    "two": lambda lib: (ints(lib, 0, 1), ints(lib, 1, 2)),
    "apart": lambda lib: (ints(lib, 0, 1), slice(None), ints(lib, 1, -2)),
    "last two": lambda lib: (slice(None), ints(lib, 0, 1), ints(lib, 1, 2)),
    "after an int": lambda lib: (0, slice(None), ints(lib, 1)),
    "broadcast": lambda lib: (ints(lib, 0, 1).reshape(2, 1), ints(lib, 0, 1, 2)),
    "none between": lambda lib: (ints(lib, 0, 1).reshape(2, 1), None, ints(lib, 0, 1, 2)),
    "slice between": lambda lib: (
        ints(lib, 0, 1).reshape(2, 1), slice(1, None), ints(lib, 0, 1, 2)
    ),
    "three": lambda lib: (
        ints(lib, 0, 1)[:, None, None], ints(lib, 0, 2)[None, :, None], ints(lib, 1, 3)
    ),
    "matrix": lambda lib: ints(lib, 0, 1).reshape(2, 1),
    "int32": lambda lib: lib.tensor([1], dtype=lib.int32),
    "empty list": lambda lib: [],
    "empty second": lambda lib: (slice(None), []),
    "array": lambda lib: np.array([1, 0]),
    "mask": lambda lib: numbers(lib, 2, 3, 4) % 3 == 0,
    "row mask": lambda lib: lib.tensor([True, False]),
    "list of bools": lambda lib: [True, False],
    "column mask": lambda lib: (slice(None), lib.tensor([True, False, True])),
    "leading mask": lambda lib: numbers(lib, 2, 3) % 2 == 0,
    "trailing mask": lambda lib: (Ellipsis, numbers(lib, 3, 4) % 2 == 0),
    "mask and tensor": lambda lib: (lib.tensor([True, False]), ints(lib, 0, 1)),
    "wide mask and tensor": lambda lib: (numbers(lib, 2, 3) % 2 == 0, ints(lib, 1)),
    "tensor behind mask": lambda lib: (
        slice(None), lib.tensor([True, True, False]), ints(lib, 1, 2)
    ),
    "bytes": lambda lib: lib.tensor([1, 0], dtype=lib.uint8),
    "true": lambda lib: True,
    "false": lambda lib: False,
    "true and tensor": lambda lib: (True, ints(lib, 0, 1)),
    "0-dim mask": lambda lib: lib.tensor(True),
}  # fmt: skip
WRONG = {
    "out of bounds": lambda lib: 5,
    "second out of bounds": lambda lib: (0, 9),
    "negative out of bounds": lambda lib: -3,
    "too many": lambda lib: (0, 0, 0, 0),
    "too many slices": lambda lib: (slice(None),) * 4,
    "negative step": lambda lib: slice(None, None, -1),
    "negative step behind": lambda lib: (0, slice(None, None, -1)),
    "step zero": lambda lib: slice(None, None, 0),
    "float": lambda lib: 1.5,
    "float behind": lambda lib: (0, 1.5),
    "dict": lambda lib: {1: 2},
    "float tensor": lambda lib: lib.tensor([1.0]),
    "int8 tensor": lambda lib: lib.tensor([1], dtype=lib.int8),
    "no broadcast": lambda lib: (ints(lib, 0, 1), ints(lib, 0, 1, 2)),
    "short mask": lambda lib: lib.tensor([True]),
    "long mask": lambda lib: (slice(None), lib.tensor([True] * 4)),
}
BEYOND = {
    "tensor": lambda lib: ints(lib, 7),
    "pair of tensors": lambda lib: (ints(lib, 0), ints(lib, -9)),
    "second": lambda lib: (slice(None), ints(lib, 3)),
}
ALL = {**VIEWS, **TENSORS}


@pytest.fixture(params=["row-major", "permuted"])
def base(request: pytest.FixtureRequest) -> Any:
    if request.param == "row-major":
        return lambda lib: numbers(lib, 2, 3, 4)
    return lambda lib: numbers(lib, 4, 3, 2).permute(2, 1, 0)


@pytest.mark.parametrize("case", ALL)
def test_get(case: str, base: Any, agree: Any) -> None:
    agree(lambda lib: base(lib)[ALL[case](lib)])


@pytest.mark.parametrize("case", [*WRONG])
def test_get_refuses(case: str, base: Any, agree: Any) -> None:
    agree(lambda lib: base(lib)[WRONG[case](lib)])


@pytest.mark.parametrize("case", BEYOND)
def test_get_finds_indices_out_of_bounds(case: str, base: Any, agree: Any) -> None:
    agree(lambda lib: [base(lib)[BEYOND[case](lib)]], text=False)


def test_index_faults_name_the_dimension() -> None:
    x = tensorbus.zeros(2, 3, 4)
    with pytest.raises(IndexError, match="index 9 is out of bounds for dimension 2 with size 4"):
        x[0, :, [1, 9]]
    with pytest.raises(IndexError, match="index -4 is out of bounds for dimension 1 with size 3"):
        x[[0, 1], [0, -4]]
    with pytest.raises(IndexError, match="index 0 is out of bounds for dimension 0 with size 0"):
        tensorbus.zeros(0, 2)[[0]]


@pytest.mark.parametrize("index", [0, slice(None), (0, 0), None])
def test_get_of_0_dim(index: Any, agree: Any) -> None:
    agree(lambda lib: lib.tensor(5)[index])


def value_of(kind: str, lib: Any, part: Any) -> Any:
    shape = tuple(part.shape)
    if kind == "number":
        return 7
    if kind == "0-dim":
        return lib.tensor(9)
    if kind == "whole":
        return numbers(lib, *shape) + 100 if shape else lib.tensor(3)
    if kind == "broadcast":
        return (numbers(lib, *shape[-1:]) + 50)[None] if shape else lib.tensor(3)
    return lib.arange(17)


# PyTorch words values that do not fit a 0-dim mask as for views, and fills by byte masks never.
SETS = [
    (case, kind)
    for kind in ("number", "0-dim", "whole", "broadcast", "unfit")
    for case in ALL
    if not (kind == "unfit" and case in ("true", "false", "0-dim mask"))
    and not (case == "bytes" and kind in ("number", "0-dim"))
]


@pytest.mark.parametrize(("case", "kind"), SETS)
def test_set(case: str, kind: str, base: Any, agree: Any) -> None:
    def program(lib: Any) -> Any:
        x = base(lib)
        index = ALL[case](lib)
        x[index] = value_of(kind, lib, x[index])
        return x

    agree(program)


@pytest.mark.parametrize("case", {**WRONG, **BEYOND})
def test_a_refused_set_changes_nothing(case: str) -> None:
    x = numbers(tensorbus, 2, 3, 4)
    with pytest.raises((IndexError, ValueError)):
        x[{**WRONG, **BEYOND}[case](tensorbus)] = 7
    np.testing.assert_array_equal(x.numpy(), np.arange(24).reshape(2, 3, 4))
    assert x._version == 0


VALUES = {
    "list": lambda lib: [1, 2, 3],
    "string": lambda lib: "a",
    "300": lambda lib: 300,
    "-1": lambda lib: -1,
    "-300": lambda lib: -300,
    "2.7": lambda lib: 2.7,
    "True": lambda lib: True,
    "floats": lambda lib: lib.tensor([1.5, 2.5, 3.5]),
    "one float": lambda lib: lib.tensor([1.5]),
    "leading ones": lambda lib: lib.ones(1, 1, 3).to(lib.uint8),
    "too wide": lambda lib: lib.ones(2, 3).to(lib.uint8),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "index", [0, slice(None), [0, 1], Ellipsis], ids=["int", "slice", "list", "ellipsis"]
)
def test_set_converts_or_refuses(value: str, index: Any, agree: Any) -> None:
    def program(lib: Any) -> Any:
        x = lib.zeros(2, 3).to(lib.uint8)
        x[index] = VALUES[value](lib)
        return x

    agree(program)


def test_basic_indices_share_memory_and_versions() -> None:
    x = tensorbus.zeros(3, 4)
    parts = [x[1], x[1:], x[..., 0], x[None], x[0, 1], x[...], x[:, 1:]]
    assert all(part._base is x for part in parts)
    x[1:].fill_(5)
    assert parts[0].tolist() == [5.0] * 4
    assert [part._version for part in parts] == [1] * len(parts)
    assert x[1:][0]._base is x
    assert x[[0]]._base is None and x[x > 9]._base is None


@pytest.mark.parametrize("case", TENSORS)
def test_index_tensors_copy(case: str) -> None:
    x = numbers(tensorbus, 2, 3, 4)
    part = x[TENSORS[case](tensorbus)]
    part.fill_(-1)
    np.testing.assert_array_equal(x.numpy(), np.arange(24).reshape(2, 3, 4))


def double(lib: Any, *shape: int) -> Any:
    return numbers(lib, *shape).to(lib.float64) * 0.5 - 3


@pytest.mark.parametrize("case", ALL)
def test_gradient_of_get(case: str, agree: Any) -> None:
    def program(lib: Any) -> Any:
        x = double(lib, 2, 3, 4).requires_grad_()
        part = (x * 1)[ALL[case](lib)]
        (part * part * part).sum().backward()
        return x.grad

    agree(program)


# Which of several values for one element stays is not promised; nothing written, no gradient.
DISTINCT = [c for c in ALL if c not in ("tensor", "second", "empty list", "empty second")]


@pytest.mark.parametrize("case", DISTINCT)
def test_gradient_of_set(case: str, agree: Any) -> None:
    def program(lib: Any) -> Any:
        x = double(lib, 2, 3, 4).requires_grad_()
        y = x * 1
        index = ALL[case](lib)
        shape = tuple(y[index].shape)
        v = (double(lib, *shape) if shape else lib.tensor(3).to(lib.float64)).requires_grad_()
        y[index] = v * 2
        (y * y).sum().backward()
        return x.grad, v.grad

    agree(program)


@pytest.mark.parametrize("case", ["pair", "step", "tensor", "apart", "broadcast", "mask"])
def test_gradients_by_finite_differences(case: str) -> None:
    index = ALL[case](tensorbus)
    x = double(tensorbus, 2, 3, 4).requires_grad_()

    def get(x: Any) -> Any:
        return x[index] * x[index]

    def put(x: Any, v: Any) -> Any:
        y = x * x
        y[index] = v * v * x[0, 0, 0]
        return y * y

    v = (x.detach()[index] * 0.1 + 1).requires_grad_()
    assert gradcheck(get, (x,)) and gradgradcheck(get, (x,))
    if case != "tensor":
        assert gradcheck(put, (x, v)) and gradgradcheck(put, (x, v))


def test_set_refuses_leaves_that_require_grad() -> None:
    x = tensorbus.ones(3, requires_grad=True)
    for index in (0, [0, 1], slice(None), x.detach() > 0):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            x[index] = 2.0
    assert x.tolist() == [1.0] * 3
    with tensorbus.no_grad():
        x[[0]] = 5.0
    assert x.tolist() == [5.0, 1.0, 1.0] and x._version == 1


def test_set_makes_saved_values_stale() -> None:
    x = tensorbus.ones(3, requires_grad=True)
    for index in (0, [0], slice(1, None)):
        y = x * 2
        z = y * y
        y[index] = 7.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


def test_set_refuses_overlapping_memory() -> None:
    x = tensorbus.zeros(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x[1:] = 1.0


@pytest.mark.parametrize(
    ("write", "first_row"),
    [
        (lambda x: x.__setitem__([0], 5.0), [5.0, 5.0, 5.0]),
        (lambda x: x.__setitem__(tensorbus.tensor([False, True]), 5.0), [5.0, 5.0, 5.0]),
        (lambda x: x.__setitem__((slice(None), [0, 2]), 5.0), [5.0, 1.0, 5.0]),
        (lambda x: x.__setitem__(([1], [2]), 5.0), [1.0, 1.0, 5.0]),
        (lambda x: x.__setitem__([-1], tensorbus.tensor([2.0, 3.0, 4.0])), [2.0, 3.0, 4.0]),
        (lambda x: x.masked_fill_(tensorbus.tensor([True, False, True]), 5.0), [5.0, 1.0, 5.0]),
        (lambda x: x.masked_fill_(tensorbus.tensor([[True], [False]]), 5.0), [5.0, 5.0, 5.0]),
        (lambda x: x.index_fill_(1, tensorbus.tensor([1]), 5.0), [1.0, 5.0, 1.0]),
        (
            lambda x: x.index_put_(
                (tensorbus.tensor([0, 1]),), tensorbus.tensor(5.0), accumulate=True
            ),
            [11.0, 11.0, 11.0],
        ),
    ],
)
def test_writes_by_index_to_an_expanded_tensor_reach_what_it_has(
    write: Any, first_row: list[float]
) -> None:
    storage = tensorbus.ones(2, 3)
    with pytest.warns(UserWarning, match="Write to a clone"):
        write(storage[:1].expand(2, 3))
    assert storage.tolist() == [first_row, [1.0, 1.0, 1.0]]


def test_an_index_beyond_an_expanded_dimension_is_refused() -> None:
    x = tensorbus.ones(1, 3).expand(2, 3)
    with (
        pytest.warns(UserWarning, match="Write to a clone"),
        pytest.raises(IndexError, match="index 2 is out of bounds for dimension 0 with size 2"),
    ):
        x[[2]] = 1.0

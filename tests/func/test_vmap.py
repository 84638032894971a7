"""``vmap``: values, dimensions, trees, gradients, random numbers, and what it refuses."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus import Tensor, nn, vmap


def x32() -> Tensor:
    return tensorbus.arange(6.0).reshape(3, 2)


def test_an_element_at_a_time_in_one_call():
    seen = []

    def f(row: Tensor) -> Tensor:
        seen.append((tuple(row.shape), row.dim(), type(row), str(row.device)))
        return (row * 2).sum()

    assert vmap(f)(x32()).tolist() == [2.0, 10.0, 18.0]
    assert seen == [((2,), 1, Tensor, "cpu")]


@pytest.mark.parametrize(
    ("in_dims", "out_dims", "shape"),
    [
        (0, 0, (3, 2, 5)),
        (0, 1, (2, 3, 5)),
        (0, -1, (2, 5, 3)),
        (-3, 2, (2, 5, 3)),
        (1, 0, (2, 3, 5)),
        (2, 1, (3, 5, 2)),
        (-1, -2, (3, 5, 2)),
    ],
)
def test_dimensions_in_and_out(in_dims: int, out_dims: int, shape: tuple[int, ...]):
    x = tensorbus.arange(30.0).reshape(3, 2, 5)
    made = vmap(lambda v: v + 1, in_dims, out_dims)(x)
    assert tuple(made.shape) == shape
    assert made.tolist() == x.movedim(in_dims, 0).add(1).movedim(0, out_dims).tolist()


def test_trees_of_arguments_and_results():
    def f(d: dict[str, Any], pair: tuple[Tensor, Tensor]) -> Any:
        return {"sum": d["a"] + d["b"], "rest": (pair[0] * pair[1], d["n"])}

    x = x32()
    given = {"a": x, "b": x[0], "n": 7}, (x, x.T)
    dims = {"a": 0, "b": None, "n": None}, (0, 1)
    made = vmap(f, dims, {"sum": 1, "rest": (0, None)})(*given)
    assert made["sum"].tolist() == [[0.0, 2.0, 4.0], [2.0, 4.0, 6.0]]
    assert made["rest"][0].tolist() == (x * x).tolist()
    assert made["rest"][1] == 7
    assert vmap(lambda d: d["a"] - d["b"])({"a": x, "b": x}).tolist() == [[0.0, 0.0]] * 3
    assert vmap(lambda v, *, k: v * k)(x, k=x[1]).tolist() == (x * x[1]).tolist()


def test_what_is_the_same_for_all_elements():
    x, w = x32(), tensorbus.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert vmap(lambda v: v @ w)(x).tolist() == (x @ w).tolist()
    assert vmap(lambda v: tensorbus.ones(2))(x).tolist() == [[1.0, 1.0]] * 3
    assert vmap(lambda v, u: u.sum(), (0, None))(x, x).tolist() == [15.0] * 3
    assert vmap(lambda i: w[:, i])(tensorbus.tensor([2, 0])).tolist() == [[3.0, 6.0], [1.0, 4.0]]
    rows = vmap(lambda i: w[i])(tensorbus.tensor([[-1, 0], [0, 0]]))
    assert rows.tolist() == [w[[1, 0]].tolist(), w[[0, 0]].tolist()]


def test_nested():
    x, y = x32(), tensorbus.tensor([10.0, 20.0])
    outer = vmap(lambda a: vmap(lambda b: a * b)(y))(x)
    assert outer.tolist() == (x[:, None, :] * y[None, :, None]).tolist()
    pairs = vmap(vmap(lambda a, b: a * b, (0, None)), (None, 0))(y, y)
    assert pairs.tolist() == [[100.0, 200.0], [200.0, 400.0]]
    inner_alone = vmap(lambda a: vmap(lambda b: b + 1)(y))(x)
    assert inner_alone.tolist() == [[11.0, 21.0]] * 3


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 4, 7])
def test_chunks_change_nothing(chunk_size: int):
    x = tensorbus.arange(12.0).reshape(4, 3)
    sizes = []

    def f(v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        sizes.append(v.shape)
        return v * w, v.sum()

    whole, sums = vmap(f, (0, None), (1, 0), chunk_size=chunk_size)(x, x[0])
    assert whole.tolist() == (x * x[0]).T.tolist()
    assert sums.tolist() == x.sum(1).tolist()
    assert len(sizes) == -(-4 // chunk_size)


def test_an_empty_batch():
    assert vmap(lambda v: v * 2)(tensorbus.ones(0, 2)).shape == (0, 2)


# -- gradients -------------------------------------------------------------------------------
def test_gradients_through_it_and_within():
    x = x32().requires_grad_()
    w = tensorbus.tensor([[1.0], [3.0]], requires_grad=True)
    made = vmap(lambda v: (v @ w).square().sum())(x)
    gx, gw = tensorbus.autograd.grad(made.sum(), (x, w), create_graph=True)
    reference = (x @ w).square().sum()
    rx, rw = tensorbus.autograd.grad(reference, (x, w), create_graph=True)
    assert gx.tolist() == rx.tolist()
    assert gw.tolist() == rw.tolist()
    second = tensorbus.autograd.grad(gw.sum() + gx.sum(), (x, w))
    wanted = tensorbus.autograd.grad(rw.sum() + rx.sum(), (x, w))
    assert [g.tolist() for g in second] == [g.tolist() for g in wanted]

    def slope(v: Tensor) -> Tensor:
        v = v.detach().requires_grad_()
        return tensorbus.autograd.grad((v**3).sum(), v)[0]

    assert vmap(slope)(x32()).tolist() == (3 * x32() ** 2).tolist()


def test_each_element_has_its_own_gradient_of_what_they_share():
    from tensorbus.op_engine.batches import in_current_batches

    model = nn.Linear(2, 3)
    x = x32()

    def slope(v: Tensor) -> Tensor:
        w = in_current_batches(model.weight.detach()).requires_grad_()
        return tensorbus.autograd.grad(nn.functional.linear(v, w).tanh().sum(), w)[0]

    made = vmap(slope)(x)
    assert made.shape == (3, 3, 2)
    for i in range(3):
        w = model.weight.detach().requires_grad_()
        (wanted,) = tensorbus.autograd.grad(nn.functional.linear(x[i], w).tanh().sum(), w)
        tensorbus.testing.assert_close(made[i], wanted)


# -- writes ----------------------------------------------------------------------------------
def test_writes_inside():
    x = x32()

    def f(v: Tensor) -> Tensor:
        made = tensorbus.zeros_like(v)
        made[0] = v[1]
        made.add_(1).mul_(v)
        return made

    assert vmap(f)(x).tolist() == [[0.0, 1.0], [8.0, 3.0], [24.0, 5.0]]
    assert vmap(lambda v: v.new_zeros(2).copy_(v))(x).tolist() == x.tolist()
    vmap(lambda v: v.add_(1))(x)  # into the input itself
    assert x.tolist() == (x32() + 1).tolist()


def test_a_result_is_no_view_of_an_input():
    x = x32()
    made = vmap(lambda v: v)(x)
    made.zero_()
    assert x.tolist() == x32().tolist()


# -- random numbers --------------------------------------------------------------------------
def test_random_numbers_the_same_for_all():
    x = x32()
    tensorbus.manual_seed(3)
    alone = tensorbus.rand(2)
    for f in (lambda v: tensorbus.rand(2), lambda v: tensorbus.rand_like(v)):
        tensorbus.manual_seed(3)
        assert vmap(f, randomness="same")(x).tolist() == [alone.tolist()] * 3


@pytest.mark.parametrize(
    "draw",
    [
        lambda v: tensorbus.rand_like(v),
        lambda v: tensorbus.randn(5) + 0 * v.sum(),
        lambda v: tensorbus.randint(0, 1000, (3,)),
        lambda v: tensorbus.randperm(7),
        lambda v: v.clone().normal_(),
        lambda v: tensorbus.bernoulli(v / 10),
        lambda v: nn.functional.dropout(v),
        lambda v: tensorbus.multinomial(v + 1, 2),
    ],
)
def test_random_numbers_of_each_its_own_are_those_of_a_loop(draw: Any):
    x = x32()
    tensorbus.manual_seed(5)
    loop = tensorbus.stack([draw(v) for v in x])
    state = tensorbus.get_rng_state().tolist()
    tensorbus.manual_seed(5)
    assert vmap(draw, randomness="different")(x).tolist() == loop.tolist()
    assert tensorbus.get_rng_state().tolist() == state


def test_random_numbers_of_nested_batches():
    x = tensorbus.zeros(2, 3, 4)
    tensorbus.manual_seed(9)
    loop = [[tensorbus.rand_like(v).tolist() for v in rows] for rows in x]

    def both(outer: str, inner: str) -> Any:
        tensorbus.manual_seed(9)
        f = vmap(tensorbus.rand_like, randomness=inner)
        return vmap(f, randomness=outer)(x).tolist()

    assert both("different", "different") == loop
    assert both("same", "different") == [loop[0], loop[0]]
    same = both("different", "same")
    assert same == [[loop[0][0]] * 3, [loop[0][1]] * 3]
    assert both("same", "same") == [[loop[0][0]] * 3] * 2


# -- what is refused -------------------------------------------------------------------------
READS = "vmap: It looks like you're calling .item\\(\\) on a Tensor"
WRITES = r"vmap: inplace arithmetic\(self, \*extra_args\) is not possible"
DECIDES = "attempting to use a Tensor in some data-dependent control flow"
COUNTS = "We do not support batching operators that can output dynamic shape"
REFUSED: list[tuple[str, type[Exception], str]] = [
    ("vmap(f, randomness='foo')(x)", RuntimeError, "Only allowed values for randomness are"),
    ("vmap(f, chunk_size=0)(x)", ValueError, r"chunk_size should be None or greater than 0. \(g"),
    ("vmap(f)()", ValueError, r"vmap\(f\)\(<inputs>\): got no inputs"),
    ("vmap(f, in_dims='a')(x)", ValueError, "expected `in_dims` to be int or a"),
    ("vmap(f, in_dims=None)(x)", ValueError, "expected `in_dims` to be int or a"),
    ("vmap(f, in_dims=[0])(x)", ValueError, "expected `in_dims` to be int or a"),
    ("vmap(f, in_dims=(None,))(x)", ValueError, "Expected at least one Tensor to vmap over"),
    ("vmap(f, in_dims=(0, 0))(x)", ValueError, "in_dims is not compatible with the structure of"),
    ("vmap(f, in_dims=({'a': 0},))(x)", ValueError, "in_dims is not compatible with the struct"),
    ("vmap(f, in_dims=(0.5,))(x)", ValueError, "Got in_dim=0.5 for an input but in_dim must be"),
    ("vmap(f, in_dims=2)(x)", ValueError, "satisfy -2 <= in_dim < 2"),
    ("vmap(f, in_dims=-3)(x)", ValueError, "satisfy -2 <= in_dim < 2"),
    ("vmap(f)(torch.tensor(1.0))", ValueError, "dimensionality 0"),
    ("vmap(f)(3)", ValueError, "the input is of type <class 'int'>. We cannot vmap over non-Ten"),
    ("vmap(lambda a, b: a + b)(x, x.T)", ValueError, r"got sizes \[3, 2\] for the mapped dimens"),
    ("vmap(lambda v: 3)(x)", ValueError, "must only return Tensors, got type <class 'int'>"),
    ("vmap(lambda v: None)(x)", ValueError, "must only return Tensors, got type"),
    ("vmap(f, out_dims=None)(x)", ValueError, "can not return a BatchedTensor when out_dim is N"),
    ("vmap(f, out_dims=5)(x)", IndexError, r"expected to be in range of \[-2, 1\], but got 5"),
    ("vmap(f, out_dims='a')(x)", ValueError, "`out_dims` must be an int, None or a python coll"),
    ("vmap(lambda v: (v, v), out_dims=(0, 0, 0))(x)", ValueError, "out_dims is not compatible w"),
    ("vmap(lambda v: v.sum().item())(x)", RuntimeError, READS),
    ("vmap(lambda v: v if v.sum() > 0 else -v)(x)", RuntimeError, DECIDES),
    ("vmap(lambda v: float(v.sum()))(x)", RuntimeError, READS),
    ("vmap(lambda v: v.tolist())(x)", RuntimeError, READS),
    ("vmap(lambda v: v.numpy())(x)", RuntimeError, READS),
    ("vmap(lambda v: v.nonzero())(x)", RuntimeError, COUNTS),
    ("vmap(lambda v: v[v > 0])(x)", RuntimeError, COUNTS),
    ("vmap(lambda v: v.masked_select(v > 0))(x)", RuntimeError, COUNTS),
    ("vmap(torch.unique)(x)", RuntimeError, READS),
    ("vmap(lambda v: torch.equal(v, v))(x)", RuntimeError, READS),
    ("vmap(lambda v: v.untyped_storage())(x)", NotImplementedError, "Cannot access storage"),
    ("vmap(lambda v: v.data_ptr())(x)", RuntimeError, "Cannot access data pointer"),
    ("vmap(lambda v: torch.zeros(2).add_(v))(x)", RuntimeError, WRITES),
    ("vmap(lambda v: torch.zeros(2).copy_(v))(x)", RuntimeError, WRITES),
    ("vmap(lambda v: torch.zeros(2).__setitem__(0, v[0]))(x)", RuntimeError, WRITES),
    ("vmap(lambda v: torch.zeros(2).index_add_(0, i, v))(x)", RuntimeError, WRITES),
    ("vmap(lambda v: torch.zeros(2).masked_fill_(v > 1, 2))(x)", RuntimeError, WRITES),
    ("vmap(lambda v: torch.add(v, 1, out=torch.zeros(2)))(x)", RuntimeError, WRITES),
    ("vmap(lambda v: torch.rand(2) + v)(x)", RuntimeError, "randomness error mode"),
    ("vmap(torch.rand_like)(x)", RuntimeError, "randomness error mode"),
    (
        "vmap(lambda v: torch.zeros(2).normal_(), randomness='different')(x)",
        RuntimeError,
        "Cannot ask for different inplace randomness on an unbatched tensor",
    ),
    ("vmap(torch.linalg.inv)(torch.zeros(3, 2, 2))", RuntimeError, "Batch element 0.*singular"),
    ("vmap(lambda v: v[i + 2])(x)", IndexError, "index 2 is out of bounds for dimension 0 with"),
]


@pytest.mark.parametrize(("program", "error", "text"), REFUSED, ids=[p for p, _, _ in REFUSED])
def test_refused(program: str, error: type[Exception], text: str):
    def f(v: Tensor) -> Tensor:
        return v

    names = {"torch": tensorbus, "vmap": vmap, "x": x32(), "f": f, "i": tensorbus.tensor([0, 1])}
    with pytest.raises(error, match=text):
        eval(program, names)
    assert tensorbus.rand(1).shape == (1,)  # the mode was left


def test_a_tensor_that_escaped_is_refused_elsewhere():
    kept: list[Tensor] = []
    vmap(lambda v: kept.append(v) or v)(x32())
    with pytest.raises(RuntimeError, match="has escaped"):
        vmap(lambda v: v + kept[0])(tensorbus.ones(5, 2))


def test_another_thread_is_in_no_batch():
    found = []

    def f(v: Tensor) -> Tensor:
        thread = threading.Thread(target=lambda: found.append(tensorbus.rand(2).shape))
        thread.start()
        thread.join(60)
        return v

    vmap(f)(x32())
    assert found == [(2,)]


def test_printing_shows_the_whole_batch():
    texts: list[str] = []
    vmap(lambda v: texts.append(repr(v)) or v)(x32())
    assert texts == [
        "BatchedTensor(lvl=1, bdim=0, value=\n"
        "    tensor([[0., 1.],\n            [2., 3.],\n            [4., 5.]])\n)"
    ]


def test_ldl_solve_runs_on_a_batch_and_checks_the_pivots_of_each_element() -> None:
    a = np.array([[[4.0, 1.0], [1.0, 3.0]], [[0.0, 0.5], [0.5, 0.0]]])
    b = np.array([[1.0], [2.0]])
    factors = tensorbus.linalg.ldl_factor(tensorbus.tensor(a))

    def solve(ld: Any, pivots: Any) -> Any:
        return tensorbus.linalg.ldl_solve(ld, pivots, tensorbus.tensor(b))

    np.testing.assert_allclose(tensorbus.vmap(solve)(*factors).numpy(), np.linalg.solve(a, b))
    wrong = tensorbus.tensor([[1, 2], [1, 3]], dtype=tensorbus.int32)
    with pytest.raises(RuntimeError, match=r"must all satisfy \|pivot\| <= LD.size"):
        tensorbus.vmap(solve)(factors[0], wrong)

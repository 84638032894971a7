"""What ``torch.func`` means, by PyTorch 2.13: nesting, captured tensors, grad modes, errors."""

from __future__ import annotations

from collections import namedtuple

import pytest

import tensorbus as torch
from tensorbus.func import (
    debug_unwrap,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)

ONE = torch.tensor(1.0)
Pair = namedtuple("Pair", "a b")


def t(*values):
    return torch.tensor(values)


def number(value):
    return torch.tensor(float(value))


# -- levels do not mix ---------------------------------------------------------------------------
def slope(f, x):
    return jvp(f, (x,), (torch.ones_like(x),))[1]


def reverse(f, x):
    return grad(f)(x)


WAYS = [slope, reverse]


@pytest.mark.parametrize("inner", WAYS)
@pytest.mark.parametrize("outer", WAYS)
@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        # d/dx x * (d/dy (x + y)) = d/dx x
        (lambda d, x: x * d(lambda y: x + y, ONE), 2.0, 1.0),
        # d/dx x * (d/dy xy) = d/dx x^2
        (lambda d, x: x * d(lambda y: x * y, ONE), 3.0, 6.0),
        # d/dx (d/dy x y^2 at y = x) = d/dx 2 x^2
        (lambda d, x: d(lambda y: x * y**2, x), 3.0, 12.0),
        # d/dx (d/dy (y sin x) at y = x^2) = cos x
        (lambda d, x: d(lambda y: y * x.sin(), x**2), 0.0, 1.0),
        # the same through ops that are not pointwise
        (lambda d, x: d(lambda y: torch.stack([x, y, y]).prod(), x), 3.0, 12.0),
        (lambda d, x: x * d(lambda y: torch.stack([x, y]).logsumexp(0), x), 3.0, 0.5),
        # what was detached is a constant of all levels
        (lambda d, x: x * d(lambda y: x.detach() * y, ONE), 3.0, 3.0),
        # d/dx of a third level inside
        (lambda d, x: d(lambda y: d(lambda z: x * y * z**2, y), x), 2.0, 16.0),
    ],
)  # fmt: skip
def test_perturbations_are_not_confused(outer, inner, f, at, expected):
    found = outer(lambda x: f(inner, x), number(at))
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_an_inner_result_goes_on_being_differentiated_after_its_level():
    x = number(2)

    def f(x):
        value, pull = vjp(lambda y: y**3 * x, x)
        (pulled,) = pull(x)
        made, push = linearize(lambda y: y**2 * x, x)
        return value + pulled + made + push(x)  # x^4 + 3 x^4 + x^3 + 2 x^3

    assert f(x).item() == 88.0
    assert grad(f)(x).item() == 4 * 4 * 8 + 3 * 3 * 4
    assert jvp(f, (x,), (ONE,))[1].item() == 164.0
    assert grad(grad(f))(x).item() == 4 * 12 * 4 + 3 * 6 * 2


# -- what is around --------------------------------------------------------------------------
def test_captured_tensors_are_constants_and_keep_their_history():
    x, w = t(1.0, 2.0), t(3.0, 4.0).requires_grad_()
    g = grad(lambda x: (x * x * w).sum())(x)
    assert g.requires_grad
    g.sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    assert x.grad is None
    for f in (lambda x: x * w, lambda x: (x * w).view(2, 1)):
        value, pull = vjp(f, x)
        assert value.requires_grad and pull(torch.ones_like(value))[0].requires_grad
    value, pull = vjp(lambda x: (x * 2).view(2, 1), x)
    assert not value.requires_grad and not value.exp().requires_grad
    assert not pull(torch.ones(2, 1))[0].requires_grad
    assert jvp(lambda x: x * w, (x,), (x,))[1].requires_grad
    assert not jvp(lambda x: x * 2, (x,), (x,))[1].requires_grad


def test_inputs_that_require_gradients_are_followed_outside():
    w = t(3.0, 4.0).requires_grad_()
    g = grad(lambda x: (x**3).sum())(w)
    (second,) = torch.autograd.grad(g.sum(), w)
    assert second.tolist() == [18.0, 24.0]
    assert w.grad is None
    value, pull = vjp(lambda x: x**2, w)
    v = t(1.0, 10.0).requires_grad_()
    (product,) = pull(v)
    found = torch.autograd.grad(product.sum(), (w, v))
    assert [x.tolist() for x in found] == [[2.0, 20.0], [6.0, 8.0]]
    (found,) = torch.autograd.grad(value.sum(), w)
    assert found.tolist() == [6.0, 8.0]
    (found,) = torch.autograd.grad(jvp(lambda x: x**3, (w,), (t(1.0, 1.0),))[1].sum(), w)
    assert found.tolist() == [18.0, 24.0]


def test_no_grad_inside_makes_constants_and_outside_only_cuts_the_result():
    def f(x):
        with torch.no_grad():
            c = x**2
        return (x - c).sum()

    x, w = t(1.0, 2.0), t(3.0, 4.0).requires_grad_()
    assert grad(f)(x).tolist() == [1.0, 1.0]
    with torch.no_grad():
        g = grad(lambda x: (x * x * w).sum())(x)
        assert g.tolist() == [6.0, 16.0] and not g.requires_grad
        assert grad(f)(x).tolist() == [1.0, 1.0]
        assert vjp(lambda x: x * w, x)[1](x)[0].tolist() == [3.0, 8.0]
        assert jvp(lambda x: x * w, (x,), (x,))[1].tolist() == [3.0, 8.0]
    # Forward mode knows nothing of no_grad.
    assert jvp(f, (x,), (t(1.0, 1.0),))[1].item() == -4.0


def test_writes_inside():
    x = t(1.0, 2.0)

    def f(x):
        y = x.clone()
        y[0] = y[1] * 3
        y.mul_(x)
        return y.sum()  # 3 b a + b^2

    assert grad(f)(x).tolist() == [6.0, 7.0]
    assert jvp(f, (x,), (t(1.0, 10.0),))[1].item() == 76.0
    assert hessian(f)(x).tolist() == [[0.0, 3.0], [3.0, 2.0]]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in"):
        grad(lambda x: x.add_(1).sum())(x)
    assert x.tolist() == [1.0, 2.0] and not x.requires_grad


def test_inputs_are_leaves_inside():
    seen = []

    def f(x):
        seen.append((x.requires_grad, x.is_leaf, x.grad_fn, debug_unwrap(x).requires_grad))
        return x.sum()

    x = t(1.0, 2.0)
    grad(f)(x)
    grad(f)((x * 2).requires_grad_())
    assert seen == [(True, True, None, False)] * 2
    assert debug_unwrap(x) is x


# -- arguments and results -----------------------------------------------------------------------
def test_trees_of_arguments():
    tree = {"a": t(1.0, 2.0), "b": [number(3), Pair(number(4), number(5))]}

    def f(tree, k):
        first, pair = tree["b"]
        return (tree["a"] * first * pair.a * k).sum() - pair.b

    g = grad(f)(tree, 2)
    assert type(g["b"][1]) is Pair
    assert (g["a"].tolist(), g["b"][0].item()) == ([24.0, 24.0], 24.0)
    assert (g["b"][1].a.item(), g["b"][1].b.item()) == (18.0, -1.0)
    j = jacrev(lambda d: {"o": d["a"] * 2, "p": (d["b"],)})({"a": t(1.0), "b": t(2.0)})
    k = jacfwd(lambda d: {"o": d["a"] * 2, "p": (d["b"],)})({"a": t(1.0), "b": t(2.0)})
    for found in (j, k):
        assert found["o"]["a"].tolist() == [[2.0]] and found["o"]["b"].tolist() == [[0.0]]
        assert found["p"][0]["b"].tolist() == [[1.0]]
    _, push = linearize(lambda d: [d["x"] ** 2], {"x": t(3.0)})
    assert push({"x": t(2.0)})[0].tolist() == [12.0]


def test_chosen_arguments_and_aux():
    x, y = t(1.0, 2.0), t(3.0, 4.0)

    def f(x, y, k=1):
        return (x * y).sum() * k

    assert grad(f, argnums=1)(x, y, k=2).tolist() == [2.0, 4.0]
    assert [g.tolist() for g in grad(f, argnums=(-1, 0))(x, y)] == [[1.0, 2.0], [3.0, 4.0]]
    assert isinstance(grad(f, argnums=(0,))(x, y), tuple)
    _, (value, aux) = grad_and_value(lambda x: (x.sum(), {"x": x * 2, "n": 5}), has_aux=True)(x)
    assert (value.item(), aux["x"].tolist(), aux["n"]) == (3.0, [2.0, 4.0], 5)
    assert not aux["x"].requires_grad and not value.requires_grad
    assert grad(lambda x: (x.sum(), x), has_aux=True)(x)[1].tolist() == [1.0, 2.0]
    for jacobian in (jacrev, jacfwd):
        matrix, aux = jacobian(lambda x: (x * 2, x + 1), has_aux=True)(x)
        assert matrix.tolist() == [[2.0, 0.0], [0.0, 2.0]] and aux.tolist() == [2.0, 3.0]
        both = jacobian(f, argnums=(1, 0))(x, y)
        assert [m.tolist() for m in both] == [[1.0, 2.0], [3.0, 4.0]]
    assert jvp(lambda x: (x * 2, x), (x,), (y,), has_aux=True)[2].tolist() == [1.0, 2.0]
    assert vjp(lambda x: (x * 2, x), x, has_aux=True)[2].tolist() == [1.0, 2.0]


def test_results_that_do_not_hang_on_the_inputs_have_zeros():
    x = t(1.0, 2.0)
    assert grad(lambda x: torch.tensor(1.0))(x).tolist() == [0.0, 0.0]
    assert grad(lambda x: torch.tensor(1))(x).tolist() == [0.0, 0.0]
    _, product = jvp(lambda x: (x * 2, x > 1, torch.ones(1)), (x,), (x,))
    assert [p.tolist() for p in product] == [[2.0, 4.0], [False, False], [0.0]]
    assert vjp(lambda x: torch.ones(2), x)[1](x)[0].tolist() == [0.0, 0.0]
    assert linearize(lambda x: (x * 2, torch.ones(1), 5), x)[1](x)[1].tolist() == [0.0]
    assert jacfwd(lambda x: x.new_zeros(0))(x).shape == (0, 2)
    assert jacrev(lambda x: x.new_zeros(0))(x).shape == (0, 2)
    assert jacrev(lambda x: x.sum())(torch.zeros(0)).shape == (0,)
    assert jacfwd(lambda x: x * 2)(torch.zeros(0)).shape == (0, 0)


def test_complex_functions():
    x = torch.tensor([1 + 2j, 3 - 1j])
    v = torch.tensor([1j, 2.0])
    found = jvp(lambda x: x**2, (x,), (v,))[1]
    torch.testing.assert_close(found, 2 * x * v)
    found = jvp(lambda x: x.abs() ** 2, (x,), (v,))[1]
    torch.testing.assert_close(found, 2 * (x.conj() * v).real)
    torch.testing.assert_close(grad(lambda x: (x.abs() ** 2).sum())(x), 2 * x)
    found = jvp(lambda r: torch.exp(1j * r), (torch.tensor(0.5),), (torch.tensor(2.0),))[1]
    torch.testing.assert_close(found, 2j * torch.exp(torch.tensor(0.5j)))


class Cube(torch.autograd.Function):
    """x^3, with rules of its own for both modes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g

    @staticmethod
    def jvp(ctx, v):
        return 3 * ctx.saved_tensors[0] ** 2 * v


def test_functions_of_the_user():
    x = number(2)
    assert grad(Cube.apply)(x).item() == 12.0
    assert grad(grad(Cube.apply))(x).item() == 12.0
    assert slope(Cube.apply, x).item() == 12.0
    assert slope(lambda x: slope(Cube.apply, x), x).item() == 12.0
    assert slope(grad(Cube.apply), x).item() == 12.0
    assert grad(lambda x: slope(Cube.apply, x))(x).item() == 12.0
    assert jacfwd(Cube.apply)(t(1.0, 2.0)).tolist() == [[3.0, 0.0], [0.0, 12.0]]


X = t(1.0, 2.0)
ERRORS = [
    (lambda: grad(lambda x: x)(X), RuntimeError, "return a scalar Tensor, got tensor with 1 dims"),
    (lambda: grad(lambda x: 5)(X), RuntimeError, r"return a Tensor, got <class 'int'>"),
    (lambda: grad(lambda x: x.sum(), has_aux=True)(X), RuntimeError, r"a tuple: \(output, aux\)"),
    (lambda: grad(torch.sum, argnums=1)(X), RuntimeError, "Got argnum=1, but only 1 positional"),
    (lambda: grad(torch.sum, argnums=-2)(X), RuntimeError, "Got argnum=-2, but only 1 positional"),
    (lambda: grad(torch.dot, argnums=(0, -2))(X, X), RuntimeError, r"must be unique, got \(0, 0\)"),
    (lambda: grad(torch.sum, argnums="a")(X), RuntimeError, "must be int or Tuple.* 'str'"),
    (lambda: grad(torch.sum, argnums=())(X), RuntimeError, "argnums must be non-empty"),
    (lambda: grad(torch.sum, argnums=(0.5,))(X), RuntimeError, "argnum must be int, got: .*float"),
    (lambda: grad(torch.sum)(5.0), ValueError, "must be Tensor, got <class 'float'>"),
    (lambda: grad(torch.sum)(X.long()), RuntimeError, "only Tensors of floating point dtype can r"),
    (lambda: grad(lambda x: (x * 1j).sum())(X), RuntimeError, "real scalar outputs but got torch."),
    (lambda: vjp(lambda x: 5, X), RuntimeError, "only tensors, got unsupported type <class 'int'>"),
    (lambda: vjp(lambda x: x, X)[1](torch.ones(3)), RuntimeError, "Mismatch in shape: grad_output"),
    (lambda: vjp(lambda x: (x, x), X)[1](X), RuntimeError, "Expected pytree structure of cotangen"),
    (lambda: vjp(lambda x: x, X)[1](5), TypeError, "either Tensors or None, but got int"),
    (lambda: jvp(torch.sin, X, X), RuntimeError, "Expected primals to be a tuple"),
    (lambda: jvp(torch.sin, (), ()), RuntimeError, "primals to contain at least one Tensor"),
    (lambda: jvp(torch.sin, (X,), (X, X)), RuntimeError, "to have the same python structure"),
    (lambda: jvp(torch.sin, (X,), (torch.ones(3),)), RuntimeError, r"of size \[2\] while the give"),
    (lambda: jvp(torch.sin, (5,), (X,)), RuntimeError, "primals to only contain Tensors"),
    (lambda: jvp(torch.sin, (X.long(),), (X,)), ValueError, "primal to be floating point or compl"),
    (lambda: jvp(lambda x: 5, (X,), (X,)), RuntimeError, "only tensors, got unsupported type"),
    (lambda: jvp(lambda x: X, (X,), (X,), strict=True), RuntimeError, "is independent of the inpu"),
    (lambda: jacrev(lambda x: x.long())(X), RuntimeError, "All outputs of f must be floating-poin"),
    (lambda: jacrev(torch.sin, chunk_size=-1), ValueError, "`chunk_size` should be greater than 0"),
    (lambda: jacfwd(torch.sin, randomness="no")(X), RuntimeError, "Only allowed values for random"),
    (lambda: linearize(torch.sin, X)[1](torch.ones(3)), RuntimeError, "doesn't match the shape"),
    (lambda: linearize(torch.sin, X)[1](X.double()), RuntimeError, "doesn't match the dtype"),
    (lambda: linearize(torch.sin, X)[1](X, X), RuntimeError, "same argspec as the primals"),
    (lambda: functionalize(torch.sin, remove="all"), RuntimeError, "invalid argument for remove=a"),
    (lambda: debug_unwrap(5), TypeError, "must be Tensor, not int"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "error", "text"), ERRORS, ids=range(len(ERRORS)))
def test_refusals(f, error, text):
    with pytest.raises(error, match=text):
        f()


@pytest.mark.parametrize(
    "transform", [grad, jacrev, jacfwd, hessian, lambda f: lambda x: vjp(f, x)]
)
def test_an_error_inside_leaves_nothing_behind(transform):
    def broken(x):
        x.sum()
        raise ZeroDivisionError

    x = t(1.0, 2.0)
    with pytest.raises(ZeroDivisionError):
        transform(broken)(x)
    assert torch.is_grad_enabled()
    assert not (x * 2).requires_grad
    assert slope(lambda x: x**2, x).tolist() == [2.0, 4.0]
    assert functionalize(lambda x: x.clone().add_(1))(x).tolist() == [2.0, 3.0]

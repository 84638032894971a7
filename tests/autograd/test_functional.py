"""``autograd.functional`` and batches of gradients, against derivatives made by hand."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
Y = np.array([2.0, -3.0, 0.5])
_RNG = np.random.default_rng(5)
V_X, V_Y, W = _RNG.normal(size=(2, 3)), _RNG.normal(size=3), _RNG.normal(size=2)


def double(values):
    return torch.tensor(np.asarray(values).tolist(), dtype=torch.float64)


def rows(x, y):
    """From (2, 3) and (3,) to (2,): its Jacobians are below."""
    return (x**2 * y).sum(1)


J_X = np.einsum("ij,ia,jb->iab", 2 * X * Y, np.eye(2), np.eye(3))
J_Y = X**2


def energy(x, y):
    """One number; its Hessians are below."""
    return (x**3 * y).sum()


H_XX = np.einsum("ij,ia,jb->ijab", 6 * X * Y, np.eye(2), np.eye(3))
H_XY = np.einsum("ij,jb->ijb", 3 * X**2, np.eye(3))
H_YX = np.einsum("ij,jb->bij", 3 * X**2, np.eye(3))
H_YY = np.zeros((3, 3))


def close(got, want):
    assert isinstance(got, torch.Tensor) and got.shape == np.shape(want)
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobian_of_two_inputs(strategy):
    got = jacobian(rows, (double(X), double(Y)), vectorize=True, strategy=strategy)
    assert isinstance(got, tuple) and not any(t.requires_grad for t in got)
    close(got[0], J_X)
    close(got[1], J_Y)


def test_jacobian_of_several_outputs_is_a_tuple_of_tuples():
    got = jacobian(lambda x, y: (rows(x, y), x.sum()), (double(X), double(Y)))
    (a, b), (c, d) = got
    close(a, J_X)
    close(b, J_Y)
    close(c, np.ones((2, 3)))
    close(d, np.zeros(3))
    ((alone,),) = jacobian(lambda x: (x * 2,), (double(Y),))
    close(alone, 2 * np.eye(3))


def test_products_are_those_with_the_jacobian():
    x, y = double(X), double(Y)
    out, product = vjp(rows, (x, y), double(W))
    close(out, (X**2 * Y).sum(1))
    close(product[0], np.einsum("i,iab->ab", W, J_X))
    close(product[1], W @ J_Y)
    out, product = jvp(rows, (x, y), (double(V_X), double(V_Y)))
    close(product, np.einsum("iab,ab->i", J_X, V_X) + J_Y @ V_Y)


def test_a_vector_may_be_left_out_where_there_is_one_element():
    _, slope = vjp(lambda x: (x**2).sum(), double(Y))
    close(slope, 2 * Y)
    _, speed = jvp(lambda t: double(Y) * t**2, double(3.0))
    close(speed, 6 * Y)
    with pytest.raises(RuntimeError, match="v can only be None if the user-provided function ret"):
        vjp(lambda x: x, double(Y))
    for product in (jvp, vhp, hvp):
        with pytest.raises(RuntimeError, match="v can only be None if the input to the user-prov"):
            product(lambda x: x.sum(), double(Y))


def test_the_hessian_and_products_with_it():
    x, y = double(X), double(Y)
    (xx, xy), (yx, yy) = hessian(energy, (x, y))
    close(xx, H_XX)
    close(xy, H_XY)
    close(yx, H_YX)
    close(yy, H_YY)
    forward = hessian(energy, (x, y), vectorize=True, outer_jacobian_strategy="forward-mode")
    close(forward[0][1], H_XY)
    v = (double(V_X), double(V_Y))
    in_x = np.einsum("ijab,ab->ij", H_XX, V_X) + H_XY @ V_Y
    in_y = np.einsum("bij,ij->b", H_YX, V_X) + H_YY @ V_Y
    for product in (vhp, hvp):
        out, got = product(energy, (x, y), v)
        close(out, (X**3 * Y).sum())
        close(got[0], in_x)
        close(got[1], in_y)


def test_results_can_be_differentiated_where_a_graph_is_wanted():
    y = double(Y).requires_grad_()
    whole = jacobian(lambda t: t**3, y, create_graph=True)
    assert whole.requires_grad
    whole.sum().backward()
    close(y.grad, 6 * Y)
    _, product = hvp(lambda t: (t**4).sum(), y, double(V_Y), create_graph=True)
    (third,) = torch.autograd.grad(product.sum(), y)
    close(third, 24 * Y * V_Y)


def test_the_users_tensors_stay_as_they_were():
    y = double(Y).requires_grad_()
    out, product = vjp(lambda t: t * y, y, double(V_Y))
    assert not out.requires_grad and not product.requires_grad and y.grad is None
    close(product, V_Y * Y)  # by the argument, not by the y that the function holds
    with torch.no_grad():
        close(jacobian(lambda t: t**2, y), np.diag(2 * Y))
        close(hessian(lambda t: (t**3).sum(), y), np.diag(6 * Y))
    assert y.grad is None


def test_of_nothing():
    assert jacobian(lambda x: x[:0], double(Y)).shape == (0, 3)
    assert jacobian(lambda x: x.sum().reshape(1), torch.ones(0)).shape == (1, 0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: jacobian(lambda x: x.detach(), double(Y), strict=True), "does not require grad"),
        (lambda: vjp(lambda x, y: x * 1, (double(Y), double(Y)), double(Y), strict=True),
         "independent of input 1"),
        (lambda: jacobian(lambda x, y: x * 1, (double(Y), double(Y)), strict=True),
         "Output 0 of the user-provided function is independent of input 1"),
        (lambda: hessian(lambda x: x.sum(), double(Y), strict=True), "jacobian of the user-prov"),
        (lambda: vjp(lambda x: x * 2, double(Y), double(Y), create_graph=True, strict=True),
         "create_graph=True"),
        (lambda: jacobian(lambda x: x, double(Y), strict=True, vectorize=True), "vectorize"),
        (lambda: vjp(lambda x: x, double(Y), double(W)), r"v has invalid size: should be"),
        (lambda: vjp(lambda x: (x, x), double(Y), (double(Y), double(W))), "Entry 1 in v has"),
        (lambda: vjp(lambda x: (x, x), double(Y), double(Y)), "invalid length: should be 2 but"),
        (lambda: vjp(lambda x: x, double(Y), (double(Y),) * 2), "v should contain a single Tens"),
        (lambda: hessian(lambda x: x, double(Y)), "should contain a single element"),
        (lambda: vhp(lambda x: (x.sum(),), double(Y), double(Y)), "return a single Tensor"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_a_runtime_error(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_what_is_no_tensor_and_unknown_strategies():
    with pytest.raises(TypeError, match="inputs given to jacobian must be .* value at index 1 has"):
        jacobian(lambda x, y: x, (double(Y), 3.0))
    with pytest.raises(TypeError, match="outputs of the user-provided function given to vjp"):
        vjp(lambda x: [x], double(Y))
    with pytest.raises(AssertionError, match='"forward-mode" or "reverse-mode"'):
        jacobian(lambda x: x, double(Y), strategy="sideways")
    for more in ({"create_graph": True}, {}):
        with pytest.raises(NotImplementedError, match="forward-mode"):
            jacobian(lambda x: x, double(Y), strategy="forward-mode", **more)


def test_a_batch_of_gradients():
    x = double(Y).requires_grad_()
    eye, twos = double(np.eye(3)), double(np.full((3, 3), 2.0))
    (got,) = torch.autograd.grad(x**2, x, eye, is_grads_batched=True)
    close(got, np.diag(2 * Y))
    (got,) = torch.autograd.grad((x**2, 3 * x), x, (eye, twos), is_grads_batched=True)
    close(got, np.diag(2 * Y) + 6)
    (got,) = torch.autograd.grad(x**3, x, eye, create_graph=True, is_grads_batched=True)
    (second,) = torch.autograd.grad(got.sum(), x)
    close(second, 6 * Y)
    other = double(W).requires_grad_()
    both = torch.autograd.grad(x**2, (x, other), eye, is_grads_batched=True, allow_unused=True)
    close(both[0], np.diag(2 * Y))
    assert both[1] is None
    both = torch.autograd.grad(x**2, (x, other), eye, is_grads_batched=True, materialize_grads=True)
    close(both[1], np.zeros(2))


def test_the_graph_is_freed_after_the_last_row():
    x = double(Y).requires_grad_()
    z = x**2
    torch.autograd.grad(z, x, double(np.eye(3)), retain_graph=True, is_grads_batched=True)
    torch.autograd.grad(z, x, double(np.eye(3)), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(z, x, double(np.eye(3)), is_grads_batched=True)


@pytest.mark.parametrize(
    ("grads", "error", "words"),
    [
        (None, ValueError, "dimension"),
        (double(1.0), ValueError, "no dimensions"),
        (double(np.zeros((2, 4))), RuntimeError, "is_grads_batched=True"),
        (double(Y), RuntimeError, "is_grads_batched=True"),
        (torch.zeros(0, 3), IndexError, "size 0"),
        (3.0, TypeError, "not iterable"),
    ],
)
def test_batches_that_do_not_fit(grads, error, words):
    x = double(Y).requires_grad_()
    with pytest.raises(error, match=words):
        torch.autograd.grad(x**2, x, grads, is_grads_batched=True)


def test_batches_of_different_sizes():
    x = double(Y).requires_grad_()
    with pytest.raises(ValueError, match=r"first dimensions differ: \[3, 2\]"):
        torch.autograd.grad(
            (x**2, x), x, (double(np.eye(3)), double(np.ones((2, 3)))), is_grads_batched=True
        )

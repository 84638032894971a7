"""``vmap`` of derivatives and derivatives of ``vmap``: what a loop over the batch gives."""

from __future__ import annotations

import pytest

import tensorbus as torch
from tensorbus.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

X = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.5, 1.5]], dtype=torch.float64)
V = torch.tensor([[0.3, -1.0], [2.0, 0.1], [-0.7, 0.4]], dtype=torch.float64)
W = torch.tensor([2.0, 5.0], dtype=torch.float64)


def number(x):
    return (x.softmax(0) * x.sin() * W).sum()


def vector(x):
    return torch.outer(x, x.exp()) @ W


def written(x):
    y = x.clone()
    y[0] = y[1] * x[0]
    return y.prod()


def each(f, *batches):
    made = [f(*row) for row in zip(*batches, strict=True)]
    if isinstance(made[0], tuple):
        return tuple(torch.stack(part) for part in zip(*made, strict=True))
    return torch.stack(made)


OF_EACH = [
    ("grad", grad(number), (X,)),
    ("grad of grad", grad(lambda x: (grad(number)(x) ** 2).sum()), (X,)),
    ("hessian", hessian(number), (X,)),
    ("jacrev", jacrev(vector), (X,)),
    ("jacfwd", jacfwd(vector), (X,)),
    ("jacrev of jacrev", jacrev(jacrev(vector)), (X,)),
    ("jacfwd of jacfwd", jacfwd(jacfwd(vector)), (X,)),
    ("jacrev of jacfwd", jacrev(jacfwd(vector)), (X,)),
    ("vjp", lambda x, v: vjp(vector, x)[1](v)[0], (X, V)),
    ("vjp at one point", lambda v: vjp(vector, W)[1](v)[0], (V,)),
    ("pull", lambda v: PULL(v)[0], (V,)),
    ("jvp", lambda x, v: jvp(vector, (x,), (v,)), (X, V)),
    ("jvp at one point", lambda v: jvp(vector, (W,), (v,)), (V,)),
    ("jvp along one tangent", lambda x: jvp(vector, (x,), (W,)), (X,)),
    ("jvp of writes", lambda x: jvp(written, (x,), (W,)), (X,)),
    ("linearize", lambda x: linearize(vector, x)[1](W), (X,)),
    ("push", lambda v: PUSH(v), (V,)),
    ("captured", grad(lambda x: (x * W.detach() * number(x)).sum()), (X,)),
    ("by a captured tensor", lambda x: grad(lambda w: (w * x).sin().sum())(W), (X,)),
]
PULL, PUSH = vjp(vector, W)[1], linearize(vector, W)[1]


@pytest.mark.parametrize(("name", "f", "batches"), OF_EACH, ids=[name for name, *_ in OF_EACH])
def test_derivatives_of_each(name, f, batches):
    torch.testing.assert_close(vmap(f)(*batches), each(f, *batches), rtol=1e-10, atol=1e-12)


SIZES = [(2, 2), (2, 3), (3, 2)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("outer", [jacfwd, jacrev])
@pytest.mark.parametrize("inner", [jacfwd, jacrev])
def test_batches_of_one_size_are_not_confused(inner, outer, sizes):
    """Second derivatives are made in two batches, that of rows in that of rows."""
    m, n = sizes
    a = torch.arange(float(m * n * n)).reshape(m, n, n).double().cos()
    x = torch.arange(1.0, n + 1).double()
    found = outer(inner(lambda x: torch.stack([x @ a[i] @ x for i in range(m)])))(x)
    torch.testing.assert_close(found, a + a.mT, rtol=1e-12, atol=1e-12)


def test_derivatives_of_a_batch():
    whole = vmap(number)
    torch.testing.assert_close(grad(lambda x: whole(x).sum())(X), each(grad(number), X))
    expected = each(lambda x, v: jvp(number, (x,), (v,)), X, V)
    torch.testing.assert_close(jvp(whole, (X,), (V,)), expected)
    for jacobian in (jacrev, jacfwd):
        found = jacobian(lambda w: vmap(lambda x: (x * w).sum())(X))(W)
        torch.testing.assert_close(found, X)
        torch.testing.assert_close(
            jacobian(jacobian(lambda w: vmap(lambda x: (x * w).prod())(X)))(W)[:, 0, 1], X.prod(1)
        )


def test_gradients_of_each_sample_and_an_ensemble():
    net = torch.nn.Linear(2, 1).double()
    with torch.no_grad():
        net.weight.fill_(0.5)
        net.bias.fill_(0.1)

    def loss(parameters, x):
        return functional_call(net, parameters, x).pow(2).sum()

    parameters = dict(net.named_parameters())
    found = vmap(grad(loss), in_dims=(None, 0))(parameters, X)
    out = X.sum(1) * 0.5 + 0.1
    torch.testing.assert_close(found["weight"], (2 * out[:, None] * X)[:, None, :])
    torch.testing.assert_close(found["bias"], 2 * out[:, None])
    models = [torch.nn.Linear(2, 1).double() for _ in range(3)]
    together = vmap(lambda p, b, x: functional_call(models[0], (p, b), x), in_dims=(0, 0, None))
    torch.testing.assert_close(
        together(*stack_module_state(models), X), torch.stack([m(X) for m in models])
    )


def test_random_numbers_in_columns():
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="random"):
        jacfwd(lambda x: x * torch.rand(3))(x)
    torch.manual_seed(0)
    found = jacfwd(lambda x: x * torch.rand(3), randomness="same")(x)
    torch.manual_seed(0)
    torch.testing.assert_close(found, torch.diag(torch.rand(3)))


def test_rows_are_computed_in_chunks():
    for size in (1, 2, 5):
        torch.testing.assert_close(jacrev(vector, chunk_size=size)(W), jacfwd(vector)(W))

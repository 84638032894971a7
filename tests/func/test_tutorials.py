"""The programs of PyTorch's tutorials on ``torch.func``, with fixed weights."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tensorbus


def spread(torch: Any, *shape: int, step: float = 0.37) -> Any:
    """Numbers between -1 and 1 without a pattern."""
    count = int(np.prod(shape))
    return torch.sin(torch.arange(count, dtype=torch.float64) * step + 0.1).reshape(shape)


def network(torch: Any, seed: float = 0.0) -> Any:
    """A convolution and two layers, with weights that hang on *seed*."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 5), nn.Tanh(),
        nn.Linear(5, 3),
    ).double()  # fmt: skip
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(spread(torch, *p.shape, step=0.7 + 0.3 * i + seed))
    return net


def inputs(torch: Any, n: int = 4) -> tuple[Any, Any]:
    return spread(torch, n, 1, 6, 6, step=1.3), torch.arange(n) % 3


def of_each_sample(torch: Any) -> Any:
    """Per-sample gradients: ``vmap`` of ``grad`` of a loss, and of its value."""
    net = network(torch)
    params = {name: p.detach() for name, p in net.named_parameters()}
    data, targets = inputs(torch)

    def loss(params: Any, sample: Any, target: Any) -> Any:
        predicted = torch.func.functional_call(net, params, (sample.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(predicted, target.unsqueeze(0))

    each = torch.func.grad_and_value(loss)
    grads, losses = torch.vmap(each, in_dims=(None, 0, 0))(params, data, targets)
    one = torch.func.grad(loss)(params, data[2], targets[2])
    assert all(torch.allclose(grads[name][2], g) for name, g in one.items())
    return [losses, *(grads[name] for name in sorted(grads))]


def of_an_ensemble(torch: Any) -> Any:
    """Model ensembling: several models' parameters, stacked, on one batch or on each its own."""
    models = [network(torch, seed) for seed in (0.0, 0.2, 0.5)]
    params, buffers = torch.func.stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    data, _ = inputs(torch, 6)

    def call(params: Any, buffers: Any, x: Any) -> Any:
        return torch.func.functional_call(base, (params, buffers), (x,))

    same = torch.vmap(call, in_dims=(0, 0, None))(params, buffers, data)
    own = torch.vmap(call)(params, buffers, data.reshape(3, 2, 1, 6, 6))
    assert torch.allclose(same[1], models[1](data))
    return [same, own]


def jacobians_and_hessians(torch: Any) -> Any:
    """Jacobians and Hessians of a layer, by all the ways that there are."""
    func = torch.func
    weight, bias = spread(torch, 3, 4), spread(torch, 3, step=0.9)
    batch = spread(torch, 2, 4, step=1.1)

    def predict(weight: Any, bias: Any, x: Any) -> Any:
        return torch.nn.functional.linear(x, weight, bias).tanh()

    x = batch[0]
    backward = func.jacrev(predict, argnums=2)(weight, bias, x)
    forward = func.jacfwd(predict, argnums=2)(weight, bias, x)
    _, pull = func.vjp(lambda x: predict(weight, bias, x), x)
    (rows,) = torch.vmap(pull)(torch.eye(3, dtype=torch.float64))
    for other in (forward, rows):
        assert torch.allclose(backward, other)
    hessian = func.hessian(predict, argnums=2)(weight, bias, x)
    reverse = func.jacrev(func.jacrev(predict, argnums=2), argnums=2)(weight, bias, x)
    assert torch.allclose(hessian, reverse)
    per_sample = torch.vmap(func.jacrev(predict, argnums=2), in_dims=(None, None, 0))
    tangent = func.jvp(lambda x: predict(weight, bias, x), (x,), (spread(torch, 4, step=2.0),))[1]
    summed = func.hessian(lambda x: predict(weight, bias, x).sum())
    product = func.jvp(func.grad(lambda x: predict(weight, bias, x).sum()), (x,), (batch[1],))[1]
    assert torch.allclose(product, summed(x) @ batch[1])
    both = func.jacrev(predict, argnums=(0, 1))(weight, bias, x)
    return [backward, hessian, per_sample(weight, bias, batch), tangent, *both]


def tangent_kernel(torch: Any) -> Any:
    """Neural tangent kernels: by contracting Jacobians, and by products with vectors."""
    func = torch.func
    net = network(torch)
    params = {name: p.detach() for name, p in net.named_parameters()}
    left, right = inputs(torch, 3)[0], spread(torch, 2, 1, 6, 6, step=0.8)

    def call(params: Any, x: Any) -> Any:
        return func.functional_call(net, params, (x.unsqueeze(0),)).squeeze(0)

    def contracted(by: str) -> Any:
        jacobians = [
            [j.flatten(2) for j in torch.vmap(func.jacrev(call), (None, 0))(params, x).values()]
            for x in (left, right)
        ]
        return sum(torch.einsum(by, a, b) for a, b in zip(*jacobians))  # noqa: B905

    def products(x: Any, y: Any) -> Any:
        def along(v: Any) -> Any:
            _, pull = func.vjp(lambda p: call(p, x), params)
            return func.jvp(lambda p: call(p, y), (params,), pull(v))[1]

        return torch.vmap(along)(torch.eye(3, dtype=torch.float64))

    whole = contracted("Naf,Mbf->NMab")
    same = torch.vmap(torch.vmap(products, (None, 0)), (0, None))(left, right)
    assert torch.allclose(whole, same)
    return [whole, contracted("Naf,Maf->NM"), contracted("Naf,Maf->NMa")]


PROGRAMS = (of_each_sample, of_an_ensemble, jacobians_and_hessians, tangent_kernel)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_the_program_gives_what_it_gives_on_pytorch(program: Any, oracle: Any) -> None:
    found = [np.asarray(t.tolist()) for t in program(tensorbus)]
    want = oracle(lambda torch: [t.tolist() for t in program(torch)])
    for ours, theirs in zip(found, want, strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-10, atol=1e-12)

"""How many generated kernels norms and losses launch, both ways, and what they give."""

from __future__ import annotations

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import discovery
from tensorbus.nn import functional as F

RNG = np.random.default_rng(3)
CLASSES = torch.tensor([2, 0, -100, 1])
STEPS = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (6,), w, b), [(4, 6), (6,), (6,)], 1, 4),
    "rms_norm": (lambda x, w: F.rms_norm(x, (6,), w), [(4, 6), (6,)], 1, 4),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True), [(4, 6), (6,), (6,)], 1, 3,
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x, CLASSES.to(x.device)), [(4, 6)], 6, 13,
    ),
    "smoothed": (
        lambda x: F.cross_entropy(x, CLASSES.to(x.device), label_smoothing=0.1), [(4, 6)], 6, 13,
    ),
}  # fmt: skip
"""Programs with the shapes of their operands, and the most launches forward and in all.

One fills the gradient that the pass begins with.
"""


def _gradients(name, device, operands):
    leaves = [x.to(device).detach().requires_grad_() for x in operands]
    y = STEPS[name][0](*leaves)
    forward = _launches(device)
    y.backward(torch.ones(y.shape, device=device) if y.dim() else None)
    return forward, [y.detach().cpu(), *[x.grad.cpu() for x in leaves]]


def _launches(device):
    return getattr(discovery.backend(device), "launches", 0)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_a_few_kernels(generated, name):
    _, shapes, most_forward, most = STEPS[name]
    operands = [torch.from_numpy(RNG.standard_normal(shape).astype("float32")) for shape in shapes]
    _, expected = _gradients(name, "cpu", operands)
    with discovery.plugged(generated.backend) as device:
        for _ in range(4):
            moved = [x.to(device) for x in operands]
            before = _launches(device)
            forward, found = _gradients(name, device, moved)
            spent = _launches(device) - before
        for ours, right in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, right, rtol=1e-5, atol=1e-5)
        assert (forward - before <= most_forward, spent <= most) == (True, True), (
            forward - before, spent,
        )  # fmt: skip

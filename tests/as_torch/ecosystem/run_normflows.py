"""normflows: densities of two flows, their gradients, and samples."""

# /// script
# dependencies = ["numpy", "tqdm"]
# [tool.ecosystem]
# alone = ["normflows==1.7.3"]
# ///
from __future__ import annotations

import normflows as nf
import torch
from recorded import filled, numbers, same

x = numbers(6, 2)
coupling = [nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 8, 2])), nf.flows.Permute(2, mode="swap")]
flows = {
    "coupling": coupling,
    "planar": [nf.flows.Radial((2,)), nf.flows.ActNorm(2)],
    "spline": [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8)],
}
for name, layers in flows.items():
    model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), layers)
    filled(model)
    if name == "planar":
        samples, density = model.sample(5)
        assert samples.shape == (5, 2) and torch.isfinite(density).all()
        continue
    loss = model.forward_kld(x)
    loss.backward()
    same(name, loss)
    same(f"{name} density", model.log_prob(x), rtol=1e-3)
    gradient = next(p.grad for p in model.parameters() if p.grad is not None)
    same(f"{name} gradient", gradient.norm(), rtol=1e-3)

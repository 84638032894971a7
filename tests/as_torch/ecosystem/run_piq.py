"""piq: how like two images are by eight measures, with gradients."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["piq==0.8.0", "torchvision"]
# ///
from __future__ import annotations

import piq
import torch
from recorded import numbers, same

x = torch.sigmoid(numbers(2, 3, 64, 64).double()).requires_grad_()
y = torch.sigmoid(numbers(2, 3, 64, 64, seed=1).double())
for measure in (piq.ssim, piq.psnr, piq.gmsd, piq.vif_p, piq.fsim, piq.mdsi, piq.haarpsi, piq.vsi):
    value = measure(x, y, data_range=1.0)
    same(measure.__name__, value, rtol=1e-3)
    if measure is not piq.psnr:
        (gradient,) = torch.autograd.grad(value, x)
        same(f"{measure.__name__} gradient", gradient.norm(), rtol=1e-3)
same("variation", piq.total_variation(x), rtol=1e-3)

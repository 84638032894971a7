"""pytorch-msssim, lpips: how like two images are, with gradients."""

# /// script
# dependencies = ["numpy", "scipy", "tqdm", "pillow"]
# [tool.ecosystem]
# alone = ["pytorch-msssim==1.0.0", "lpips==0.1.4", "torchvision==0.29.1"]
# ///
from __future__ import annotations

import lpips
from pytorch_msssim import MS_SSIM, ms_ssim, ssim
from recorded import filled, numbers, same

x = numbers(1, 3, 192, 192).sigmoid().requires_grad_()
y = (x.detach() + 0.05 * numbers(1, 3, 192, 192, seed=1)).clamp(0, 1)
same("ssim", ssim(x, y, data_range=1.0))
loss = 1 - ms_ssim(x, y, data_range=1.0)
loss.backward()
same("ms-ssim", loss, rtol=1e-3)
same("gradient", x.grad[0, :, ::48, ::48], rtol=1e-2, atol=1e-7)
same("module", MS_SSIM(data_range=1.0)(x, y), rtol=1e-3)
distance = filled(lpips.LPIPS(net="alex", pretrained=False, pnet_rand=True, verbose=False)).eval()
same("lpips", distance(x[..., :64, :64], y[..., :64, :64]), rtol=5e-3)

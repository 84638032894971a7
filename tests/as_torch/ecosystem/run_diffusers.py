"""diffusers: a small net that removes noise, a training step, and two schedulers."""

# /// script
# dependencies = [
#   "numpy", "huggingface_hub", "filelock", "regex", "requests", "safetensors",
#   "importlib_metadata", "Pillow", "httpx",
# ]
# [tool.ecosystem]
# alone = ["diffusers==0.42.1"]
# ///
from __future__ import annotations

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMScheduler, UNet2DModel
from recorded import filled, numbers, same
from torch.nn import functional as F

blocks = dict(block_out_channels=(8, 8), layers_per_block=1, norm_num_groups=4)
net = filled(
    UNet2DModel(
        8, 1, 1, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), **blocks,
    )
)  # fmt: skip
noisy, noise, steps = numbers(2, 1, 8, 8), numbers(2, 1, 8, 8, seed=1), torch.tensor([3, 20])
scheduler = DDPMScheduler(50)
loss = F.mse_loss(net(scheduler.add_noise(noisy, noise, steps), steps).sample, noise)
loss.backward()
same("loss", loss)
same("gradient", net.conv_in.weight.grad.flatten()[:9], rtol=1e-3)
sampler, picture = DDIMScheduler(50), numbers(1, 1, 8, 8, seed=2)
sampler.set_timesteps(4)
with torch.no_grad():
    for step in sampler.timesteps:
        picture = sampler.step(net(picture, step).sample, step, picture).prev_sample
same("picture", picture[0, 0, :2], rtol=1e-3, atol=1e-4)
coder = filled(AutoencoderKL(1, 1, **blocks, latent_channels=2))
code = coder.encode(noisy).latent_dist.mode()
same("code", code[0, :, 0], rtol=1e-3)
same("decoded", coder.decode(code).sample[0, 0, :2], rtol=1e-3, atol=1e-4)

"""Accelerate: a training loop that its Accelerator prepares."""

# /// script
# dependencies = [
#     "numpy",
#     "packaging",
#     "psutil",
#     "pyyaml",
#     "safetensors",
#     "tqdm",
#     "filelock",
#     "fsspec",
#     "typer",
#     "httpx2",
#     "hf-xet",
# ]
# [tool.ecosystem]
# alone = ["accelerate==1.15.0", "huggingface_hub==2.4.0"]
# ///
from __future__ import annotations

import torch
import torch.nn.functional as F
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_seed
from recorded import filled, numbers, same
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
net = filled(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
x = numbers(16, 4)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
net, optimizer, loader, schedule = accelerator.prepare(net, optimizer, loader, schedule)
losses = []
for _ in range(2):
    for batch, wanted in loader:
        with accelerator.accumulate(net):
            loss = F.mse_loss(net(batch), wanted)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss).item())
same("losses", losses, rtol=1e-3)
with init_empty_weights():
    assert nn.Linear(10, 10).weight.device.type == "meta"

"""MONAI: a net for volumes, a loss, a metric and transforms."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["monai==1.6.1"]
# ///
from __future__ import annotations

import numpy as np
import torch
from monai.inferers import sliding_window_inference
from monai.losses import DiceLoss
from monai.metrics import DiceMetric
from monai.networks.nets import UNet
from monai.transforms import Compose, EnsureChannelFirst, Resize, ScaleIntensity
from recorded import filled, numbers, same

volume = numbers(1, 1, 16, 16, 16)
net = UNet(3, 1, 2, channels=(4, 8, 16), strides=(2, 2), norm="batch", act="relu")
net = filled(net).eval()
with torch.no_grad():
    out = net(volume)
    tiles = sliding_window_inference(volume, (8, 8, 8), 2, net)
same("net", (out / out.abs().max())[0, :, ::5, ::5, ::5], rtol=2e-3, atol=5e-4)
same("tiles", (tiles / tiles.abs().max())[0, :, ::5, ::5, ::5], rtol=2e-3, atol=5e-4)
wanted = (volume > 0).float()
loss = DiceLoss(to_onehot_y=True, softmax=True)(net(volume), wanted)
loss.backward()
same("loss", loss, rtol=1e-3)
metric = DiceMetric()
metric(y_pred=(out > 0).float()[:, :1], y=wanted)
same("dice", metric.aggregate(), rtol=1e-2)
steps = Compose([EnsureChannelFirst(channel_dim="no_channel"), ScaleIntensity(), Resize((4, 4))])
same("transforms", steps(np.arange(64, dtype=np.float32).reshape(8, 8)))

"""segmentation_models_pytorch: nets with encoders, a loss and a training step."""

# /// script
# dependencies = [
#     "numpy",
#     "pillow",
#     "pyyaml",
#     "safetensors",
#     "tqdm",
#     "fsspec",
#     "filelock",
#     "packaging",
#     "httpx2",
#     "hf-xet",
# ]
# [tool.ecosystem]
# alone = [
#     "segmentation_models_pytorch==0.6.0",
#     "timm==1.0.31",
#     "torchvision==0.29.1",
#     "huggingface_hub==2.4.0",
# ]
# ///
from __future__ import annotations

import segmentation_models_pytorch as smp
import torch
from recorded import filled, numbers, same

images = numbers(2, 3, 64, 64)
masks = (numbers(2, 1, 64, 64, seed=1) > 0).long()
for architecture in ("Unet", "FPN", "Linknet", "DeepLabV3Plus"):
    model = filled(smp.create_model(architecture, "resnet18", encoder_weights=None, classes=1))
    with torch.no_grad():
        out = model.eval()(images)
    same(architecture, (out / out.abs().max())[:, 0, ::16, ::16], rtol=2e-3, atol=5e-4)
model = filled(smp.Unet("resnet18", encoder_weights=None, classes=1)).train()
loss = smp.losses.DiceLoss("binary")(model(images), masks)
loss.backward()
same("loss", loss, rtol=1e-3)
focal = smp.losses.FocalLoss("binary")
same("focal", focal(images[:, :1], masks))
counts = smp.metrics.get_stats(images[:, :1] > 0.3, masks, mode="binary")
same("iou", smp.metrics.iou_score(*counts, reduction="micro"))

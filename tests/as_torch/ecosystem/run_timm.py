"""timm: models by name, features, and a training step with its optimiser and schedule."""

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
#     "typing_extensions",
#     "httpx2",
#     "hf-xet",
# ]
# [tool.ecosystem]
# alone = ["timm==1.0.31", "torchvision==0.29.1", "huggingface_hub==2.4.0"]
# ///
from __future__ import annotations

import timm
import torch
from PIL import Image
from recorded import filled, numbers, same
from timm.data import create_transform, resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler

assert "resnet18" in timm.list_models("resnet*")
images = numbers(2, 3, 64, 64)
for name, options in {
    "resnet18": {},
    "mobilenetv3_small_050": {},
    "efficientnet_b0": {},
    "vit_tiny_patch16_224": {"img_size": 64},
    "convnext_atto": {},
    "swin_tiny_patch4_window7_224": {"img_size": 64, "window_size": 2},
}.items():
    model = filled(timm.create_model(name, num_classes=5, **options)).eval()
    with torch.no_grad():
        out = model(images)
    same(name, out / out.abs().max(), rtol=2e-3, atol=2e-4)
features = filled(timm.create_model("resnet18", features_only=True)).eval()
with torch.no_grad():
    same("features", [float(f.shape[1]) for f in features(images)])
model = filled(timm.create_model("resnet18", num_classes=5))
optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
scheduler = CosineLRScheduler(optimizer, t_initial=10, warmup_t=2, warmup_lr_init=1e-5)
losses = []
for epoch in range(2):
    loss = LabelSmoothingCrossEntropy(0.1)(model(images), torch.tensor([1, 3]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step(epoch + 1)
    losses.append(loss.item())
same("losses", losses, rtol=5e-3)
same("rates", [g["lr"] for g in optimizer.param_groups])
transform = create_transform(**resolve_data_config({}, model=model))
picture = Image.linear_gradient("L").convert("RGB")
same("transformed", transform(picture).mean((1, 2)), rtol=1e-3)

"""vit-pytorch: transformers of images, forward and backward."""

# /// script
# dependencies = ["numpy", "pillow"]
# [tool.ecosystem]
# alone = ["vit-pytorch==1.26.11", "einops==0.8.2", "torchvision==0.29.1"]
# ///
from __future__ import annotations

from recorded import filled, numbers, same
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cct import CCT

images = numbers(2, 3, 32, 32)
sizes = {"image_size": 32, "patch_size": 8, "num_classes": 5, "heads": 2}
for model in (
    ViT(**sizes, dim=16, depth=2, mlp_dim=32),
    SimpleViT(**sizes, dim=16, depth=2, mlp_dim=32),
    CCT(img_size=(32, 32), embedding_dim=16, n_conv_layers=1, num_layers=2, num_heads=2,
        mlp_ratio=2, num_classes=5, kernel_size=3),
):  # fmt: skip
    name = type(model).__name__
    model = filled(model).eval()
    out = model(images)
    same(name, out, rtol=1e-3, atol=1e-4)
    out.square().mean().backward()
    same(f"{name} gradient", next(model.parameters()).grad.abs().sum(), rtol=1e-3)

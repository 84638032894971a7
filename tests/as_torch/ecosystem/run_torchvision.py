"""torchvision: models, transforms of both versions and datasets, without its extension."""

# /// script
# dependencies = ["numpy", "pillow"]
# [tool.ecosystem]
# alone = ["torchvision==0.29.1"]
# ///
from __future__ import annotations

import numpy as np
import torch
import torchvision
from PIL import Image
from recorded import filled, numbers, same
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms
from torchvision.transforms import functional as F
from torchvision.transforms import v2
from torchvision.utils import make_grid

images = numbers(2, 3, 64, 64)
for name in ("resnet18", "mobilenet_v2", "squeezenet1_1", "shufflenet_v2_x0_5", "efficientnet_b0"):
    model = filled(models.get_model(name, weights=None, num_classes=4)).eval()
    with torch.no_grad():
        out = model(images)
    same(name, out / out.abs().max(), rtol=2e-3, atol=2e-4)
segmentation = filled(
    models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None)
).eval()
with torch.no_grad():
    out = segmentation(images)["out"]
same("segmentation", (out / out.abs().max())[0, :3, ::16, ::16], rtol=2e-3, atol=2e-4)

stripes = np.random.RandomState(0).randint(0, 255, (40, 50, 3), dtype=np.uint8)
picture = Image.fromarray(stripes)
old = transforms.Compose(
    [
        transforms.Resize(32),
        transforms.CenterCrop(24),
        transforms.ToTensor(),
        transforms.Normalize([0.5] * 3, [0.2] * 3),
    ]
)
same("transforms", old(picture)[:, ::6, ::6])
tensor = F.pil_to_tensor(picture)
new = v2.Compose(
    [v2.Resize(32, antialias=True), v2.CenterCrop(24), v2.ToDtype(torch.float32, True)]
)
same("transforms v2", new(tensor)[:, ::6, ::6], atol=5e-3)
for name, changed in {
    "flip": F.hflip(tensor),
    "brightness": F.adjust_brightness(tensor, 1.3),
    "contrast": F.adjust_contrast(tensor, 0.7),
    "hue": F.adjust_hue(tensor, 0.1),
    "gray": F.rgb_to_grayscale(tensor),
    "blur": F.gaussian_blur(tensor, [5, 5], [1.0, 1.0]),
    "rotate": F.rotate(tensor, 30.0),
    "pad": F.pad(tensor, [2, 3], padding_mode="reflect"),
    "equalize": F.equalize(tensor),
}.items():
    same(name, changed.float()[:, ::13, ::13], atol=1.01)
boxes = torchvision.tv_tensors.BoundingBoxes([[5, 5, 20, 20]], format="XYXY", canvas_size=(40, 50))
flipped, moved = v2.RandomHorizontalFlip(p=1.0)(tensor, boxes)
same("boxes", moved.float())
fake = datasets.FakeData(8, (3, 16, 16), 4, transform=transforms.ToTensor())
for x, y in DataLoader(fake, batch_size=4):
    assert x.shape == (4, 3, 16, 16) and y.dtype == torch.int64
same("grid", make_grid(images[:, :, :8, :8], nrow=2, normalize=True).mean((1, 2)))
same("iou", torchvision.ops.box_iou(boxes.float(), torch.tensor([[10.0, 10.0, 30.0, 30.0]])))

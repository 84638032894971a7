"""kornia: filters, colours, geometry and augmentation of images, with gradients."""

# /// script
# dependencies = ["numpy", "packaging"]
# [tool.ecosystem]
# alone = ["kornia==0.9.0", "kornia_rs==0.2.0"]
# ///
from __future__ import annotations

import kornia
import torch
from recorded import numbers, same

images = numbers(2, 3, 16, 16).sigmoid()
same("gray", kornia.color.rgb_to_grayscale(images)[:, 0, ::4, ::4])
same("hsv", kornia.color.rgb_to_hsv(images)[:, :, ::5, ::5], rtol=1e-3, atol=1e-4)
same("lab", kornia.color.rgb_to_lab(images)[:, :, ::5, ::5], rtol=1e-3, atol=1e-3)
same("blur", kornia.filters.gaussian_blur2d(images, (3, 3), (1.0, 1.0))[:, :, ::5, ::5])
same("sobel", kornia.filters.sobel(images)[:, :, ::5, ::5])
same("median", kornia.filters.median_blur(images, (3, 3))[:, :, ::5, ::5])
angle = torch.tensor([20.0, -10.0], requires_grad=True)
turned = kornia.geometry.rotate(images, angle)
same("rotate", turned[:, :, ::5, ::5], atol=1e-4)
turned.mean().backward()
same("gradient", angle.grad, rtol=1e-2, atol=1e-5)
points = numbers(1, 4, 2) * 8
same("points", kornia.geometry.transform_points(torch.eye(3)[None] * 2, points))
same("homography", kornia.geometry.get_perspective_transform(points, points + 1.0), atol=1e-3)
same("harris", kornia.feature.harris_response(images)[:, :, ::5, ::5], atol=1e-4)
same("ssim", kornia.losses.ssim_loss(images, images.flip(-1), 5))
same("canny", kornia.filters.canny(images)[0].mean())
augment = kornia.augmentation.AugmentationSequential(
    kornia.augmentation.RandomHorizontalFlip(p=1.0),
    kornia.augmentation.RandomVerticalFlip(p=1.0),
    data_keys=["input", "mask"],
)
x, mask = augment(images, images[:, :1])
same("augmented", x[:, :, ::5, ::5])
same("mask", mask[:, :, ::5, ::5])

"""einops: rearrange, reduce and einsum, and its layers in a model."""

# /// script
# dependencies = ["einops==0.8.2", "numpy"]
# ///
from __future__ import annotations

from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import Rearrange, Reduce
from recorded import filled, numbers, same
from torch import nn

images = numbers(2, 3, 8, 8)
patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
same("patches", patches.mean(-1))
same("pooled", reduce(images, "b c (h 2) (w 2) -> b c h w", "max")[0, 0])
same("repeated", repeat(images[:, 0, 0], "b w -> b (w n)", n=2))
same("einsum", einsum(patches, patches, "b i d, b j d -> b i j"))
packed, shapes = pack([images, numbers(2, 5, 3, seed=1)], "b *")
same("packed", [packed.sum().item(), unpack(packed, shapes, "b *")[1].sum().item()])
net = filled(
    nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        Rearrange("b c h w -> b (h w) c"),
        nn.Linear(4, 5),
        Reduce("b n c -> b c", "mean"),
    )
)
loss = net(images).square().mean()
loss.backward()
same("loss", loss)
same("gradient", net[0].weight.grad.sum((1, 2, 3)))

"""A small GPT over the characters of sixteen sonnets.

    $ python examples/gallery/small_gpt.py
    step 400: loss 1.70

Reaches loss below 1.8.
"""

import sys

from char_lstm import CHARS, train

import tensorbus as torch
from tensorbus import nn

WIDTH, CONTEXT = 64, 48


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 256), nn.GELU(), nn.Linear(256, WIDTH))

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(len(CHARS), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(Block(), Block(), nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, len(CHARS))

    def forward(self, x):
        return self.head(self.blocks(self.embed(x) + self.place.weight[: x.shape[1]]))


def main(device="cpu", steps=400):
    torch.manual_seed(0)
    train(GPT().to(device), device, steps, length=CONTEXT)


if __name__ == "__main__":
    main(*sys.argv[1:])

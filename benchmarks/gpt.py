"""A small GPT's training step, for the benchmarks and, with its imports swapped, on PyTorch."""

from __future__ import annotations

import math

import tensorbus as torch
import tensorbus.nn.functional as F
from tensorbus import nn

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 65, 64, 128, 4, 4, 16


class Attention(nn.Module):
    """Causal self-attention, by one fused call or by its parts."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.fused = fused
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("future", torch.ones(CONTEXT, CONTEXT).triu(1).bool())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, c = x.shape
        q, k, v = (
            y.view(n, t, HEADS, c // HEADS).transpose(1, 2) for y in self.qkv(x).split(c, dim=2)
        )
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(c // HEADS)
            y = scores.masked_fill(self.future[:t, :t], -math.inf).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Block(nn.Module):
    """Attention and two linear layers around an exact GELU, each behind a norm."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(fused)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Scores of the next token at each place."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block(fused) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class Trainer:
    """A GPT with its optimiser and one batch."""

    def __init__(self, fused: bool) -> None:
        torch.manual_seed(0)
        self.net = GPT(fused)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=3e-4)
        self.tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT))
        self.targets = torch.randint(VOCABULARY, (BATCH, CONTEXT))

    def step(self) -> torch.Tensor:
        """Forward, backward and AdamW."""
        scores = self.net(self.tokens)
        loss = F.cross_entropy(scores.view(-1, VOCABULARY), self.targets.view(-1))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

"""Char-LSTM: sixteen of Shakespeare's sonnets, character by character.

    $ python examples/gallery/char_lstm.py
    step 100: loss 2.06
    step 200: loss 1.68
    step 300: loss 1.47

Reaches loss below 1.6.
"""

import sys
from pathlib import Path

import tensorbus as torch
from tensorbus import nn

TEXT = Path(__file__).with_name("data").joinpath("sonnets.txt").read_text("utf-8")
CHARS = sorted(set(TEXT))


class CharLSTM(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.embed = nn.Embedding(len(CHARS), 32)
        self.lstm = nn.LSTM(32, hidden, batch_first=True)
        self.head = nn.Linear(hidden, len(CHARS))

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0])


def train(net, device, steps, size=16, length=64):
    """Let *net* learn which character follows those before it."""
    data = torch.tensor([CHARS.index(c) for c in TEXT], device=device)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(1, int(steps) + 1):
        starts = torch.randint(len(data) - length, (size, 1), device=device)
        batch = data[starts + torch.arange(length + 1, device=device)]
        loss = nn.functional.cross_entropy(net(batch[:, :-1]).mT, batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.2f}")


def main(device="cpu", steps=300):
    torch.manual_seed(0)
    train(CharLSTM().to(device), device, steps)


if __name__ == "__main__":
    main(*sys.argv[1:])

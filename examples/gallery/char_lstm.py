"""Char-LSTM: sixteen of Shakespeare's sonnets, character by character.

    $ python examples/gallery/char_lstm.py
    loss 1.26

Reaches loss below 1.5.
"""

import sys

from data.sonnets import batches

import tensorbus as torch
from tensorbus import nn

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
embed, lstm, head = nn.Embedding(128, 32), nn.LSTM(32, 128, batch_first=True), nn.Linear(128, 128)
net = nn.ModuleList([embed, lstm, head])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for seen, coming in batches(int(sys.argv[2]) if sys.argv[2:] else 300, length=64):
    logits = head(lstm(embed(seen))[0])
    loss = nn.functional.cross_entropy(logits.mT, coming)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}")

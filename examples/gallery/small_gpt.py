"""A small GPT over the characters of sixteen sonnets. Reaches loss below 1.8.

$ python examples/gallery/small_gpt.py
loss 1.68
"""

import sys

from data.sonnets import batches

import tensorbus as torch
from tensorbus import nn

torch.set_default_device(sys.argv[1] if sys.argv[1:] else "cpu")
torch.manual_seed(0)
embed, place, head = nn.Embedding(128, 64), nn.Embedding(48, 64), nn.Linear(64, 128)
layer = nn.TransformerEncoderLayer(64, 4, 256, 0.0, "gelu", batch_first=True, norm_first=True)
blocks = nn.TransformerEncoder(layer, 2, nn.LayerNorm(64), enable_nested_tensor=False)
causal = nn.Transformer.generate_square_subsequent_mask(48)
net = nn.ModuleList([embed, place, blocks, head])
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for seen, coming in batches(int(sys.argv[2]) if sys.argv[2:] else 500, length=48):
    x = embed(seen) + place.weight
    logits = head(blocks(x, causal, is_causal=True))
    loss = nn.functional.cross_entropy(logits.mT, coming)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}")

"""x-transformers: a decoder that is trained for a step, with rotary positions."""

# /// script
# dependencies = ["numpy", "sympy", "packaging", "typing_extensions"]
# [tool.ecosystem]
# alone = [
#     "x-transformers==2.31.10",
#     "einops==0.8.2",
#     "einx==0.4.3",
#     "torch_einops_utils==0.2.0",
#     "loguru==0.7.3",
#     "frozendict==2.5.1",
# ]
# ///
from __future__ import annotations

import torch
from recorded import filled, same
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

words = torch.tensor([[2, 7, 1, 9, 4, 3], [3, 3, 8, 5, 0, 1]])
for options in ({}, {"rotary_pos_emb": True, "use_rmsnorm": True}, {"alibi_pos_bias": True}):
    layers = Decoder(dim=16, depth=2, heads=2, **options)
    model = TransformerWrapper(num_tokens=20, max_seq_len=8, attn_layers=layers)
    model = AutoregressiveWrapper(filled(model))
    loss = model(words)
    loss.backward()
    same(f"loss {sorted(options)}", loss, rtol=1e-3)
made = model.generate(words[:1, :3], 3, temperature=0.0)
same("generated", made)
layers = Encoder(dim=16, depth=1, heads=2, ff_glu=True)
encoder = TransformerWrapper(num_tokens=20, max_seq_len=8, attn_layers=layers)
same("encoder", filled(encoder)(words, return_embeddings=True)[:, 0], rtol=1e-3, atol=1e-4)

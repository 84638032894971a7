"""peft: low-rank adapters of a small GPT-2, trained for a step and merged."""

# /// script
# dependencies = ["numpy", "transformers", "psutil", "huggingface_hub", "PyYAML", "tqdm"]
# [tool.ecosystem]
# alone = ["peft==0.21.2", "accelerate"]
# ///
from __future__ import annotations

import torch
from peft import IA3Config, LoraConfig, get_peft_model
from recorded import filled, same
from transformers import GPT2Config, GPT2LMHeadModel

shape = dict(n_layer=2, n_head=2, n_embd=16, vocab_size=50, n_positions=16, attn_pdrop=0.0)
config = GPT2Config(**shape, resid_pdrop=0.0, embd_pdrop=0.0, bos_token_id=0, eos_token_id=0)
words = torch.arange(12).reshape(2, 6) * 4
lora = LoraConfig(r=2, lora_alpha=4, target_modules=["c_attn"], task_type="CAUSAL_LM")
ia3 = IA3Config(target_modules=["c_attn"], feedforward_modules=[], task_type="CAUSAL_LM")
for name, adapter in {"lora": lora, "ia3": ia3}.items():
    model = filled(get_peft_model(filled(GPT2LMHeadModel(config)), adapter))
    same(f"{name} trained", sum(p.numel() for p in model.parameters() if p.requires_grad))
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=0.01)
    loss = model(words, labels=words).loss
    loss.backward()
    optimizer.step()
    same(f"{name} loss", loss)
    with torch.no_grad():
        after = model(words).logits
        same(f"{name} after", after[0, -1, :8], rtol=1e-3, atol=1e-4)
        with model.disable_adapter():
            same(f"{name} without", model(words).logits[0, -1, :8], rtol=1e-3, atol=1e-4)
        merged = model.merge_and_unload()(words).logits
    assert torch.allclose(merged, after, atol=1e-4)

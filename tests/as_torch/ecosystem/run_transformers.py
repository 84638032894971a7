"""transformers: small BERT and GPT-2 models: outputs, a training step, generation."""

# /// script
# dependencies = [
#     "numpy",
#     "safetensors",
#     "tokenizers",
#     "pyyaml",
#     "regex",
#     "requests",
#     "packaging",
#     "filelock",
#     "tqdm",
#     "fsspec",
#     "typer",
#     "httpx2",
#     "hf-xet",
# ]
# [tool.ecosystem]
# alone = ["transformers==5.24.0", "huggingface_hub==2.4.0"]
# ///
from __future__ import annotations

import tempfile

import torch
from recorded import filled, same
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

words = torch.tensor([[2, 7, 1, 9, 4], [3, 3, 8, 5, 0]])
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16}
none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
config = BertConfig(vocab_size=20, intermediate_size=32, num_labels=3, **sizes, **none)
bert = filled(BertForSequenceClassification(config))
out = bert(input_ids=words, attention_mask=mask, labels=torch.tensor([0, 2]))
same("bert", out.logits)
same("bert loss", out.loss)
out.loss.backward()
optimizer = torch.optim.AdamW(bert.parameters(), lr=1e-3)
optimizer.step()
same("bert after a step", bert(input_ids=words, attention_mask=mask).logits, rtol=1e-3, atol=1e-4)

gpt = filled(
    GPT2LMHeadModel(
        GPT2Config(
            vocab_size=20, n_positions=32, n_embd=16, n_layer=2, n_head=2,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
        )
    )
).eval()  # fmt: skip
out = gpt(words, labels=words)
same("gpt2", out.logits[:, -1])
same("gpt2 loss", out.loss)
made = gpt.generate(words[:1], max_new_tokens=6, do_sample=False, pad_token_id=0)
same("generated", made.float())

llama = filled(
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=20, intermediate_size=32, num_key_value_heads=1, **sizes,
            max_position_embeddings=32,
        )
    )
).eval()  # fmt: skip
same("llama", llama(words).logits[:, -1])
with tempfile.TemporaryDirectory() as folder:
    llama.save_pretrained(folder)
    again = LlamaForCausalLM.from_pretrained(folder)
    same("read again", again(words).logits[:, -1])

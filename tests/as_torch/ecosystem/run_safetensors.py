"""safetensors: files written and read, tensors and modules."""

# /// script
# dependencies = ["safetensors==0.8.0", "numpy", "packaging"]
# ///
from __future__ import annotations

import os
import tempfile

import torch
from recorded import filled, numbers, same
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn

with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "weights.safetensors")
    tensors = {
        "a": numbers(3, 4),
        "half": numbers(5, seed=1).to(torch.bfloat16),
        "counts": torch.arange(6).view(2, 3),
    }
    save_file(tensors, file, metadata={"format": "pt"})
    again = load_file(file)
    for name, tensor in tensors.items():
        assert again[name].dtype == tensor.dtype and torch.equal(again[name], tensor), name
    with safe_open(file, framework="pt") as opened:
        same("slice", opened.get_slice("a")[1:, :2])
        assert opened.metadata() == {"format": "pt"} and sorted(opened.keys()) == sorted(tensors)
    assert torch.equal(load(save(tensors))["counts"], tensors["counts"])
    net = filled(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    save_model(net, file)
    other = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    assert load_model(other, file) == (set(), [])
    same("module", other(numbers(2, 4)))

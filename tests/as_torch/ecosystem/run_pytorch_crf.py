"""pytorch-crf: the likelihood of tags, its gradient, and the best tags."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["pytorch-crf==0.7.2"]
# ///
from __future__ import annotations

import torch
from recorded import filled, numbers, same
from torchcrf import CRF

crf, scores = filled(CRF(5)), numbers(4, 3, 5).requires_grad_()
tags = torch.arange(12).reshape(4, 3) % 5
mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]], dtype=torch.bool)
for name, reduction in {"sum": "sum", "mean of tokens": "token_mean"}.items():
    loss = -crf(scores, tags, mask, reduction)
    same(name, loss)
loss.backward()
same("gradient", scores.grad, rtol=1e-3)
same("of transitions", crf.transitions.grad, rtol=1e-3)
same("best", str(crf.decode(scores, mask)))

"""entmax: sparse alternatives to softmax and their losses."""

# /// script
# dependencies = ["numpy"]
# [tool.ecosystem]
# alone = ["entmax==1.3"]
# ///
from __future__ import annotations

from entmax import Entmax15Loss, SparsemaxLoss, entmax15, entmax_bisect, sparsemax
from recorded import numbers, same

x = numbers(3, 6).requires_grad_()
for f in (sparsemax, entmax15):
    y = f(x, dim=-1)
    same(f.__name__, y)
    x.grad = None
    (y * numbers(3, 6, seed=1)).sum().backward()
    same(f"{f.__name__} gradient", x.grad)
same("bisect", entmax_bisect(x, alpha=1.3), atol=1e-4)
labels = numbers(3, 6, seed=2).argmax(-1)
same("losses", [SparsemaxLoss()(x, labels).item(), Entmax15Loss()(x, labels).item()])

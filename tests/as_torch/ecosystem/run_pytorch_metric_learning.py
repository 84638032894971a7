"""pytorch-metric-learning: losses with miners and distances."""

# /// script
# dependencies = ["numpy", "scikit-learn", "tqdm"]
# [tool.ecosystem]
# alone = ["pytorch_metric_learning==2.9.0"]
# ///
from __future__ import annotations

import torch
from pytorch_metric_learning import distances, losses, miners, reducers
from recorded import numbers, same

labels = torch.tensor([0, 0, 1, 1, 2, 2, 0, 1])
for seed, loss in enumerate(
    [
        losses.TripletMarginLoss(margin=0.2, distance=distances.CosineSimilarity()),
        losses.ContrastiveLoss(reducer=reducers.AvgNonZeroReducer()),
        losses.NTXentLoss(temperature=0.5),
        losses.MultiSimilarityLoss(),
        losses.SupConLoss(),
        losses.CircleLoss(),
    ]
):
    embeddings = numbers(8, 5, seed=seed).requires_grad_()
    value = loss(embeddings, labels)
    value.backward()
    same(type(loss).__name__, value)
    same(f"{type(loss).__name__} gradient", embeddings.grad, atol=1e-4)
miner = miners.MultiSimilarityMiner()
pairs = miner(numbers(8, 5), labels)
same("pairs", [len(p) for p in pairs])
same("mined", losses.ContrastiveLoss()(numbers(8, 5), labels, pairs))

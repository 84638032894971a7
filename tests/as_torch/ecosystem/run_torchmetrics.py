"""torchmetrics: metrics over batches, in a collection, for images and regression."""

# /// script
# dependencies = ["packaging", "numpy", "typing_extensions", "scipy"]
# [tool.ecosystem]
# alone = ["torchmetrics==1.9.0", "lightning-utilities==0.15.3"]
# ///
from __future__ import annotations

import torch
from recorded import numbers, same
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import (
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
)
from torchmetrics.functional import pairwise_cosine_similarity
from torchmetrics.image import PeakSignalNoiseRatio, StructuralSimilarityIndexMeasure
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, R2Score

scores = numbers(4, 10, 5).softmax(-1)
labels = numbers(4, 10, 5, seed=1).add(scores).argmax(-1)
metrics = MetricCollection(
    [MulticlassAccuracy(5), MulticlassF1Score(5), MulticlassConfusionMatrix(5), MulticlassAUROC(5)]
)
for batch, wanted in zip(scores, labels, strict=True):
    metrics.update(batch, wanted)
for name, value in metrics.compute().items():
    same(name, value)
metrics.reset()
mean = MeanMetric()
mean.update(2.0)
mean.update(torch.tensor([4.0, 9.0]))
same("mean", mean.compute())
x, y = numbers(50), numbers(50) + 0.3 * numbers(50, seed=2)
for metric in (MeanSquaredError(), PearsonCorrCoef(), R2Score()):
    same(type(metric).__name__, metric(x, y))
images = numbers(2, 3, 16, 16).sigmoid()
noisy = (images + 0.05 * numbers(2, 3, 16, 16, seed=3)).clamp(0, 1)
same("psnr", PeakSignalNoiseRatio(data_range=1.0)(noisy, images))
same("ssim", StructuralSimilarityIndexMeasure(data_range=1.0)(noisy, images))
same("cosine", pairwise_cosine_similarity(x.view(5, 10)))

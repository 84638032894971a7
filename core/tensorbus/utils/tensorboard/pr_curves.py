"""Precision and recall over thresholds, for TensorBoard's plugin of that name."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus.utils.tensorboard.arrays import Array
from tensorbus.utils.tensorboard.packages import (
    TensorProto,
    for_plugin,
    message,
    one_value,
    shape_of,
)

_MOST = 127
"""More thresholds than this the plugin does not read."""


def pr_curve_raw(
    tag: str,
    tp: Any,
    fp: Any,
    tn: Any,
    fn: Any,
    precision: Any,
    recall: Any,
    num_thresholds: int = _MOST,
    weights: Any = None,
) -> Any:
    """The curve whose six rows the caller has computed."""
    return _curve(tag, np.stack((tp, fp, tn, fn, precision, recall)), num_thresholds)


def pr_curve(
    tag: str, labels: Array, predictions: Array, num_thresholds: int = _MOST, weights: Any = None
) -> Any:
    """The curve of *predictions* from 0 to 1 for *labels* that are 0 or 1."""
    num_thresholds = min(num_thresholds, _MOST)
    curve = compute_curve(labels, predictions, num_thresholds, weights)
    return _curve(tag, curve, num_thresholds)


def _curve(tag: str, rows: Array, num_thresholds: int) -> Any:
    content = message("pr_curve", "PrCurvePluginData")(
        version=0, num_thresholds=min(num_thresholds, _MOST)
    )
    proto = TensorProto(
        dtype="DT_FLOAT", float_val=rows.reshape(-1).tolist(), tensor_shape=shape_of(*rows.shape)
    )
    metadata = for_plugin("pr_curves", content.SerializeToString())
    return one_value(tag, tensor=proto, metadata=metadata)


def compute_curve(
    labels: Array, predictions: Array, num_thresholds: int = _MOST, weights: Any = None
) -> Array:
    """Six rows over evenly spaced thresholds: true and false positives, true and false negatives,
    precision, recall."""
    weights = 1.0 if weights is None else weights
    truth = labels.astype(np.float64)
    buckets = np.floor(predictions * (num_thresholds - 1)).astype(np.int32)

    def at_least(of: Array) -> Array:
        counts, _ = np.histogram(
            buckets, bins=num_thresholds, range=(0, num_thresholds - 1), weights=of * weights
        )
        return np.cumsum(counts[::-1])[::-1]

    tp, fp = at_least(truth), at_least(1.0 - truth)
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    precision = tp / np.maximum(least, tp + fp)
    recall = tp / np.maximum(least, tp + fn)
    return np.stack((tp, fp, tn, fn, precision, recall))

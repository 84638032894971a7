"""Calls of a ``SummaryWriter``: each takes the library and the writer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ARRAY = np.linspace(-1, 2, 24, dtype=np.float32)
"""Values that both libraries get; their own would differ by rounding."""


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "scalar": lambda t, w: w.add_scalar("loss", t.tensor([0.1]), 3),
    "scalar of numpy": lambda t, w: w.add_scalar("loss", np.float64(0.1), np.int64(3)),
    "new style": lambda t, w: w.add_scalar("loss", 0.1, 3, new_style=True),
    "double": lambda t, w: w.add_scalar("x", 0.1, new_style=True, double_precision=True),
    "scalars": lambda t, w: w.add_scalars("a/b", {"x": 1, "y": t.tensor(2.0)}, 4),
    "histogram": lambda t, w: w.add_histogram("h", t.from_numpy(ARRAY), 1),
    "histogram of one value": lambda t, w: w.add_histogram("h", t.zeros(3), 1),
    "histogram, bins": lambda t, w: w.add_histogram("h", ARRAY, bins=[-1.0, 0.0, 1.5, 9.0]),
    "histogram, number of bins": lambda t, w: w.add_histogram("h", ARRAY, bins=7, max_bins=3),
    "histogram, fd": lambda t, w: w.add_histogram("h", ARRAY, bins="fd"),
    "histogram of integers": lambda t, w: w.add_histogram("h", t.arange(-4, 9)),
    "counted": lambda t, w: w.add_histogram_raw("h", 0, 3, 4, 6, 14, [1, 2, 3], [2, 1, 1], 5),
    "image": lambda t, w: w.add_image("i", t.from_numpy(ARRAY).reshape(3, 2, 4), 2),
    "bytes": lambda t, w: w.add_image("i", t.arange(12, dtype=t.uint8).reshape(3, 2, 2)),
    "HWC": lambda t, w: w.add_image("i", ARRAY.reshape(2, 4, 3), dataformats="HWC"),
    "HW": lambda t, w: w.add_image("i", ARRAY.reshape(6, 4), dataformats="hw"),
    "images": lambda t, w: w.add_images("i", ARRAY.reshape(2, 3, 2, 2)),
    "images of one channel": lambda t, w: w.add_images(
        "i", t.from_numpy(ARRAY.reshape(6, 1, 2, 2))
    ),
    "nine images": lambda t, w: w.add_images("i", t.ones(9, 2, 2, 3) / 2, dataformats="NHWC"),
    "boxes": lambda t, w: w.add_image_with_boxes(
        "i", t.ones(3, 20, 30), t.tensor([[3.0, 4.0, 12.0, 15.0]])
    ),
    "audio": lambda t, w: w.add_audio("s", t.from_numpy(ARRAY / 2).reshape(1, 24), 1, 8000),
    "text": lambda t, w: w.add_text("t", "größer *than*", 1),
    "tensor": lambda t, w: w.add_tensor("x", t.arange(6.0).reshape(2, 3), 1),
    "tensor of integers": lambda t, w: w.add_tensor("x", t.arange(3)),
    "complex tensor": lambda t, w: w.add_tensor("x", t.tensor([1 + 2j, 3j])),
    "truths": lambda t, w: w.add_tensor("x", t.tensor([True, False])),
    "curve": lambda t, w: w.add_pr_curve(
        "pr", t.tensor([0, 1, 1, 0, 1]), t.tensor([0.2, 0.9, 0.4, 0.5, 1.0]), 1, 11
    ),
    "weighted curve": lambda t, w: w.add_pr_curve(
        "pr", np.array([0, 1, 1]), np.array([0.2, 0.9, 0.4]), 1, 500, np.array([1.0, 2.0, 0.5])
    ),
    "curve in rows": lambda t, w: w.add_pr_curve_raw(
        "pr", *np.arange(12.0).reshape(6, 2), num_thresholds=2
    ),
    "hparams": lambda t, w: w.add_hparams(
        {"lr": 0.1, "size": 3, "optimizer": "adam", "none": None, "t": t.tensor([2.0])},
        {"accuracy": 0.5, "loss": t.tensor(1.5)},
        {"optimizer": ["adam", "sgd"], "size": [1, 3]},
        "first",
        7,
    ),
    "mesh": lambda t, w: w.add_mesh(
        "m",
        t.from_numpy(ARRAY).reshape(1, 8, 3),
        colors=t.full((1, 8, 3), 128),
        faces=t.tensor([[[0, 1, 2]]]),
        config_dict={"camera": {"fov": 75}},
    ),
    "lines": lambda t, w: w.add_custom_scalars_multilinechart(["a", "b"], "cat", "title"),
    "margin": lambda t, w: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "layout": lambda t, w: w.add_custom_scalars(
        {"x": {"p": ["Multiline", ["a"]], "q": ["Margin", ["a", "b", "c"]]}}
    ),
}


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "scalar": lambda t, w: w.add_scalar("x", t.ones(2)),
    "list": lambda t, w: w.add_scalar("x", [1.0]),
    "nothing": lambda t, w: w.add_histogram("h", t.ones(0)),
    "buckets": lambda t, w: w.add_histogram_raw("h", 0, 1, 1, 1, 1, [1.0], []),
    "twice": lambda t, w: w.add_image("i", t.ones(3, 2, 2), dataformats="CCH"),
    "dimensions": lambda t, w: w.add_image("i", t.ones(2, 2)),
    "sound": lambda t, w: w.add_audio("s", t.ones(2, 2)),
    "labels": lambda t, w: w.add_embedding(t.ones(2, 2), metadata=["a"]),
    "points": lambda t, w: w.add_embedding(t.ones(2)),
    "tags": lambda t, w: w.add_custom_scalars_marginchart(["a"]),
    "hparams": lambda t, w: w.add_hparams([], {}),
    "hparam": lambda t, w: w.add_hparams({"a": []}, {}),
    "domain": lambda t, w: w.add_hparams({"a": 1}, {}, {"a": ["x"]}),
    "mesh": lambda t, w: w.add_mesh("m", t.ones(4, 3)),
}

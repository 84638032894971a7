"""The demo's picture: the loss curve, some digits with predictions, the confusion matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

ROWS, COLUMNS = 4, 6
RIGHT, WRONG = "#1a7f37", "#cf222e"


def draw(
    path: Path,
    losses: list[float],
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    predicted: NDArray[np.int64],
) -> None:
    """Write the picture to *path*; *losses* is that of every step, *images* is (n, 28, 28)."""
    # A figure of its own, without pyplot: no display is looked for and no global state is touched.
    figure = Figure(figsize=(15, 5), layout="constrained")
    FigureCanvasAgg(figure)
    parts: Any = figure.subfigures(1, 3)
    curve, samples, matrix = parts
    _draw_losses(curve.subplots(), losses)
    _draw_samples(samples, images, labels, predicted)
    _draw_confusion(matrix.subplots(), labels, predicted)
    figure.savefig(path, dpi=110)


def _draw_losses(axes: Any, losses: list[float]) -> None:
    steps = np.arange(1, len(losses) + 1)
    window = max(1, min(50, len(losses) // 10))
    mean = np.convolve(losses, np.full(window, 1 / window), mode="valid")
    axes.plot(steps, losses, color="#9ec5fe", linewidth=0.7, label="each step")
    axes.plot(steps[window - 1 :], mean, color="#0a58ca", label=f"mean of {window} steps")
    axes.set(title="Loss", xlabel="step", ylabel="cross entropy", yscale="log")
    axes.legend()


def _draw_samples(
    figure: Any,
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    predicted: NDArray[np.int64],
) -> None:
    # The mistakes are what one wants to see: up to half of the pictures are theirs.
    wrong = np.flatnonzero(predicted != labels)[: ROWS * COLUMNS // 2]
    right = np.flatnonzero(predicted == labels)[: ROWS * COLUMNS - len(wrong)]
    figure.suptitle("Held-out digits: predicted (true)")
    grid = figure.subplots(ROWS, COLUMNS).ravel()
    for axes in grid:
        axes.set_axis_off()
    for axes, i in zip(grid, [*right, *wrong], strict=False):
        axes.imshow(images[i], cmap="gray_r", vmin=0, vmax=1)
        same = predicted[i] == labels[i]
        text = str(predicted[i]) if same else f"{predicted[i]} ({labels[i]})"
        axes.set_title(text, color=RIGHT if same else WRONG, fontsize=11)


def _draw_confusion(axes: Any, labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> None:
    counts = confusion_matrix(labels, predicted)
    # By the square root: the few mistakes stay visible beside the hundred hits of the diagonal.
    axes.imshow(np.sqrt(counts), cmap="Blues")
    for row, column in np.argwhere(counts > 0):
        colour = "white" if row == column else "black"
        axes.text(column, row, counts[row, column], ha="center", va="center", color=colour)
    share = (predicted == labels).mean()
    axes.set(title=f"{share:.1%} right", xlabel="predicted", ylabel="true")
    axes.set_xticks(range(10))
    axes.set_yticks(range(10))


def confusion_matrix(labels: NDArray[np.int64], predicted: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each of ten true classes (rows) was predicted as each (columns)."""
    return np.bincount(labels * 10 + predicted, minlength=100).reshape(10, 10)

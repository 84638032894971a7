"""The demo's data: 5,000 handwritten digits of MNIST, shipped with the package.

Who made them and under which licence they are passed on: ``data/ATTRIBUTION.txt``.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).parent / "data" / "digits.npz"
TRAINING = 4000
_SPLIT_SEED = 0


class Digits(NamedTuple):
    """Images as float32 in [0, 1] of shape (n, 28, 28), labels as int64 of shape (n,)."""

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def load() -> Digits:
    """The 4,000 digits to learn from and the 1,000 held out, always the same ones.

    RuntimeError where the data file is missing or damaged.
    """
    try:
        with np.load(FILE) as content:
            images, labels = content["images"], content["labels"]
    except (OSError, ValueError, KeyError, BadZipFile) as e:
        raise RuntimeError(
            f"the digits can't be read from {FILE} ({e}): install tensorbus again"
        ) from e
    # The file is sorted by digit. RandomState's stream is frozen by NumPy, so that the split is the
    # same for every version of it, and it is drawn apart from the program's own seed.
    order = np.random.RandomState(_SPLIT_SEED).permutation(len(labels))
    pixels = images[order].astype(np.float32) / np.float32(255)
    classes = labels[order].astype(np.int64)
    return Digits(pixels[:TRAINING], classes[:TRAINING], pixels[TRAINING:], classes[TRAINING:])

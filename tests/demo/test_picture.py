"""The demo's picture."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the picture needs the extra demo")

from matplotlib.image import imread

from tensorbus.demo.picture import confusion_matrix, draw


def test_the_confusion_matrix_counts_pairs():
    true, predicted = np.array([0, 0, 3, 9]), np.array([0, 1, 3, 3])
    counts = confusion_matrix(true, predicted)
    assert counts.shape == (10, 10) and counts.sum() == 4
    assert counts[0, 0] == counts[0, 1] == counts[3, 3] == counts[9, 3] == 1


@pytest.mark.parametrize(("steps", "mistakes"), [(1, 0), (63, 3), (500, 40)])
def test_a_picture_is_drawn_for_any_number_of_steps_and_mistakes(tmp_path, mistakes, steps):
    random = np.random.default_rng(0)
    labels = np.arange(40) % 10
    predicted = labels.copy()
    predicted[:mistakes] = (predicted[:mistakes] + 1) % 10
    images = random.random((40, 28, 28), np.float32)
    draw(tmp_path / "x.png", list(random.random(steps) + 0.1), images, labels, predicted)
    drawn = imread(tmp_path / "x.png")
    assert drawn.shape[1] > 1000 and drawn.std() > 0.05

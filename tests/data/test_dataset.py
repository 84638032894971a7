"""Datasets and how they are joined and split."""

from __future__ import annotations

import pytest

import tensorbus
from tensorbus.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Stream(IterableDataset):
    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


def test_a_tensor_dataset_gives_slices_of_each_tensor():
    data = TensorDataset(tensorbus.arange(6).view(3, 2), tensorbus.tensor([5.0, 6.0, 7.0]))
    x, y = data[2]
    assert len(data) == 3
    assert (x.tolist(), y.item()) == ([4, 5], 7.0)
    with pytest.raises(AssertionError, match=r"Size mismatch between tensors.*\[3, 2\]"):
        TensorDataset(tensorbus.zeros(3), tensorbus.zeros(2))


def test_concatenated_datasets_count_on():
    joined = Subset(range(3), [0, 1]) + Subset(range(10, 13), [0, 2])
    assert isinstance(joined, ConcatDataset)
    assert [joined[i] for i in range(len(joined))] == [0, 1, 10, 12]
    assert joined[-1] == 12
    with pytest.raises(ValueError, match="absolute value of index"):
        joined[-5]
    with pytest.raises(IndexError, match="index 4 is out of range for a dataset of length 4"):
        joined[4]
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        ConcatDataset([Stream([1])])


def test_chained_streams_follow_each_other():
    chained = Stream([1, 2]) + Stream([3])
    assert isinstance(chained, ChainDataset)
    assert (list(chained), len(chained)) == ([1, 2, 3], 3)
    with pytest.raises(AssertionError, match="only supports IterableDataset, got list"):
        list(ChainDataset([[1]]))


def test_stacked_datasets_give_tuples_or_dicts():
    rows = StackDataset([1, 2, 3], "abc")
    assert rows[1] == (2, "b")
    assert rows.__getitems__([2, 0]) == [(3, "c"), (1, "a")]
    named = StackDataset(number=[1, 2], letter="ab")
    assert named[0] == {"number": 1, "letter": "a"}
    assert named.__getitems__([1]) == [{"number": 2, "letter": "b"}]
    with pytest.raises(ValueError, match=r"their lengths are \[1, 2\]"):
        StackDataset([1], [1, 2])
    with pytest.raises(ValueError, match="At least one dataset"):
        StackDataset()
    with pytest.raises(ValueError, match="both types are given"):
        StackDataset([1], x=[1])


def test_a_stack_asks_its_parts_for_whole_batches():
    class Batched(Dataset):
        def __len__(self):
            return 4

        def __getitems__(self, indices):
            return [i * 10 for i in indices][: self.limit]

    part = Batched()
    part.limit = None
    assert StackDataset(part).__getitems__([3, 1]) == [(30,), (10,)]
    part.limit = 1
    with pytest.raises(ValueError, match=r"output size mismatch\. Expected 2, got 1"):
        StackDataset(part).__getitems__([3, 1])


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [([3, 7], [3, 7]), ([0.5, 0.5], [5, 5]), ([0.35, 0.35, 0.3], [4, 3, 3]), ([1.0], [10])],
)
def test_random_split_gives_each_sample_once(lengths, sizes):
    parts = random_split(range(10), lengths, tensorbus.Generator().manual_seed(1))
    assert [len(part) for part in parts] == sizes
    assert sorted(sample for part in parts for sample in part) == list(range(10))
    again = random_split(range(10), lengths, tensorbus.Generator().manual_seed(1))
    assert [list(part.indices) for part in again] == [list(part.indices) for part in parts]


def test_random_split_refuses_lengths_that_do_not_add_up():
    with pytest.raises(ValueError, match=r"\[3, 3\], which sum to 6, for a dataset of 10"):
        random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match=r"Fraction at index 0 is not between 0 and 1: 1\.5"):
        random_split(range(10), [1.5, -0.5])


def test_abstract_classes_say_what_to_write():
    with pytest.raises(NotImplementedError, match="should implement __getitem__"):
        Dataset()[0]
    with pytest.raises(TypeError, match="abstract class IterableDataset"):
        iter(IterableDataset())


def test_the_older_name_of_the_sums_of_sizes_warns():
    with pytest.warns(FutureWarning, match="`cummulative_sizes` attribute is renamed"):
        assert ConcatDataset([[1], [2, 3]]).cummulative_sizes == [1, 3]

"""Samplers: which indices, how many, and the same ones for the same seed."""

from __future__ import annotations

import collections

import pytest

import tensorbus
from tensorbus.utils.data import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def seeded(seed=0):
    return tensorbus.Generator().manual_seed(seed)


def test_the_sequential_sampler_counts():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert len(SequentialSampler("abc")) == 3


def test_a_random_sampler_is_a_permutation_and_repeats_with_its_seed():
    first = list(RandomSampler(range(100), generator=seeded()))
    assert sorted(first) == list(range(100))
    assert first != list(range(100))
    assert list(RandomSampler(range(100), generator=seeded())) == first
    assert list(RandomSampler(range(100), generator=seeded(1))) != first


def test_the_global_seed_decides_without_a_generator():
    tensorbus.manual_seed(3)
    first = [list(RandomSampler(range(50))) for _ in range(2)]
    tensorbus.manual_seed(3)
    assert [list(RandomSampler(range(50))) for _ in range(2)] == first
    assert first[0] != first[1]


@pytest.mark.parametrize("count", [1, 4, 5, 13])
def test_more_samples_than_the_source_has_go_round_again(count):
    sampler = RandomSampler(range(5), num_samples=count, generator=seeded())
    drawn = list(sampler)
    assert len(drawn) == len(sampler) == count
    times = collections.Counter(drawn)
    assert max(times.values()) - min(times[i] for i in range(5)) <= 1


def test_with_replacement_every_index_is_equally_likely():
    drawn = list(RandomSampler(range(4), replacement=True, num_samples=8000, generator=seeded()))
    counts = collections.Counter(drawn)
    assert len(drawn) == 8000
    # Four standard deviations of a binomial of 8000 draws with p = 1/4 are 155.
    assert all(abs(counts[i] - 2000) < 155 for i in range(4))


def test_an_empty_source_has_no_samples():
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        RandomSampler([])
    assert list(SequentialSampler([])) == []


@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_a_wrong_count_is_refused(value):
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        RandomSampler(range(3), num_samples=value)
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        WeightedRandomSampler([1.0], value)
    with pytest.raises(ValueError, match="batch_size should be a positive integer"):
        BatchSampler(range(3), value, False)


def test_a_wrong_flag_is_refused():
    with pytest.raises(TypeError, match="replacement should be a boolean value, but got"):
        RandomSampler(range(3), replacement=1)
    with pytest.raises(ValueError, match="drop_last should be a boolean value, but got"):
        BatchSampler(range(3), 2, 1)


def test_a_subset_is_permuted():
    sampler = SubsetRandomSampler([7, 8, 9], generator=seeded())
    assert sorted(sampler) == [7, 8, 9]
    assert len(sampler) == 3


def test_weights_decide():
    sampler = WeightedRandomSampler([0.0, 3.0, 1.0], 4000, generator=seeded())
    counts = collections.Counter(sampler)
    assert counts[0] == 0
    # Four standard deviations of a binomial of 4000 draws with p = 3/4 are 110.
    assert abs(counts[1] - 3000) < 110
    without = WeightedRandomSampler([1.0, 1.0, 1.0], 3, replacement=False, generator=seeded())
    assert sorted(without) == [0, 1, 2]
    with pytest.raises(ValueError, match=r"given weights have shape \(1, 1\)"):
        WeightedRandomSampler([[1.0]], 1)


def test_batches_of_indices():
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert (len(BatchSampler(range(5), 2, False)), len(BatchSampler(range(5), 2, True))) == (3, 2)
    assert list(BatchSampler(range(4), 2, True)) == [[0, 1], [2, 3]]


def test_the_abstract_sampler_says_what_to_write():
    with pytest.raises(NotImplementedError, match="should implement __iter__"):
        iter(Sampler())

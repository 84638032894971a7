"""DataLoader without workers: batches, order, options."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import tensorbus
from tensorbus.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
)


class Numbers(Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if index == 5 and self.n == 6:
            raise ValueError("five is bad")
        return index


class Stream(IterableDataset):
    def __init__(self, n, length=None):
        self.n = n
        if length is not None:
            self.length = length
            self.__class__ = CountedStream

    def __iter__(self):
        return iter(range(self.n))


class CountedStream(Stream):
    def __len__(self):
        return self.length


def lists(loader):
    return [batch.tolist() for batch in loader]


def test_batches_in_order():
    assert lists(DataLoader(Numbers(), batch_size=4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert lists(DataLoader(Numbers(), batch_size=4, drop_last=True)) == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]
    assert list(DataLoader(Numbers(3), batch_size=None)) == [0, 1, 2]
    assert len(DataLoader(Numbers(), batch_size=4)) == 3
    assert len(DataLoader(Numbers(), batch_size=4, drop_last=True)) == 2
    assert len(DataLoader(Numbers(), batch_size=None)) == 10


def test_shuffling_follows_the_generator_or_the_global_seed():
    def once():
        generator = tensorbus.Generator().manual_seed(5)
        return lists(DataLoader(Numbers(50), 8, shuffle=True, generator=generator))

    first = once()
    assert sorted(index for batch in first for index in batch) == list(range(50))
    assert once() == first
    tensorbus.manual_seed(2)
    loader = DataLoader(Numbers(50), 8, shuffle=True)
    passes = [lists(loader), lists(loader)]
    assert passes[0] != passes[1]
    tensorbus.manual_seed(2)
    loader = DataLoader(Numbers(50), 8, shuffle=True)
    assert [lists(loader), lists(loader)] == passes


def test_samplers_and_collation_of_the_user():
    loader = DataLoader(Numbers(), batch_size=3, sampler=[9, 1, 4, 4])
    assert lists(loader) == [[9, 1, 4], [4]]
    loader = DataLoader(Numbers(), batch_sampler=[[1, 2], [3]], collate_fn=sum)
    assert list(loader) == [3, 3]
    assert loader.batch_size is None
    assert len(loader) == 2
    loader = DataLoader(Numbers(), batch_sampler=BatchSampler(SequentialSampler(range(3)), 2, True))
    assert lists(loader) == [[0, 1]]


def test_a_stream_is_read_to_its_end():
    assert lists(DataLoader(Stream(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert lists(DataLoader(Stream(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(2), batch_size=None)) == [0, 1]
    loader = DataLoader(Stream(4), batch_size=2)
    assert lists(loader) == lists(loader)
    with pytest.raises(TypeError, match="len"):
        len(loader)


def test_a_stream_longer_than_len_said_warns_once():
    with pytest.warns(UserWarning, match="was reported to be 2 ") as seen:
        loader = DataLoader(Stream(8, length=4), batch_size=2)
        assert len(loader) == 2
        assert len(list(loader)) == 4
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len([*DataLoader(Stream(8, length=4), batch_size=2)]) == 4  # nobody asked before
        assert len(list(DataLoader(Stream(4, length=4), batch_size=2))) == 2


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: Subset(d, [8, 1, 5, 0, 9, 9, 3])])
def test_whole_batches_of_tensors_equal_collated_samples(wrap):
    data = wrap(
        TensorDataset(
            tensorbus.arange(40.0).view(4, 10).t(), tensorbus.arange(10), tensorbus.ones(10) > 0
        )
    )

    def slowly(samples):
        return default_collate(samples)

    fast = list(DataLoader(data, batch_size=3))
    slow = list(DataLoader(data, batch_size=3, collate_fn=slowly))
    assert len(fast) == len(slow)
    for a, b in zip(fast, slow, strict=True):
        assert type(a) is type(b) is list
        for x, y in zip(a, b, strict=True):
            assert (x.dtype, x.stride(), x.tolist()) == (y.dtype, y.stride(), y.tolist())


def test_data_may_live_on_any_device_and_the_order_is_the_same(device):
    def epoch(place):
        data = TensorDataset(
            tensorbus.arange(20.0, device=place).view(10, 2), tensorbus.arange(10, device=place)
        )
        made = DataLoader(data, 4, True, generator=tensorbus.Generator().manual_seed(3))
        return list(made)

    for ours, reference in zip(epoch(device), epoch("cpu"), strict=True):
        for x, y in zip(ours, reference, strict=True):
            assert x.device.type == device
            assert x.cpu().tolist() == y.tolist()


def test_a_subclass_that_changes_its_samples_is_asked_for_each():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return tuple(2 * x for x in super().__getitem__(index))

    data = Doubled(tensorbus.arange(4))
    assert [b[0].tolist() for b in DataLoader(data, batch_size=2)] == [[0, 2], [4, 6]]
    subset = Subset(data, [3, 0])
    assert [b[0].tolist() for b in DataLoader(subset, batch_size=2)] == [[6, 0]]


def test_gradients_flow_through_a_batch():
    weights = tensorbus.arange(6.0).requires_grad_()
    batch, batch2 = (b[0] for b in DataLoader(TensorDataset(weights), batch_size=3))
    (batch.sum() + 2 * batch2.sum()).backward()
    assert weights.grad.tolist() == [1, 1, 1, 2, 2, 2]


def test_getitems_of_the_dataset_is_used():
    class Batched(Numbers):
        def __getitems__(self, indices):
            return [-i for i in indices]

    assert lists(DataLoader(Batched(4), batch_size=2)) == [[0, -1], [-2, -3]]


def test_an_error_in_a_sample_leaves_the_iterator_usable():
    batches = iter(DataLoader(Numbers(6), batch_size=1, sampler=[4, 5, 3]))
    assert next(batches).tolist() == [4]
    with pytest.raises(ValueError, match="five is bad"):
        next(batches)
    assert next(batches).tolist() == [3]
    with pytest.raises(StopIteration):
        next(batches)


REFUSED = {
    "negative workers": (dict(num_workers=-1), ValueError, "num_workers option should be non-neg"),
    "negative timeout": (dict(timeout=-1), ValueError, "timeout option should be non-negative"),
    "prefetch alone": (dict(prefetch_factor=2), ValueError, "prefetch_factor option could only"),
    "prefetch of nothing": (
        dict(prefetch_factor=0, num_workers=1),
        ValueError,
        "prefetch_factor option should be positive, got 0",
    ),
    "persistent alone": (dict(persistent_workers=True), ValueError, "persistent_workers option"),
    "shuffled sampler": (
        dict(shuffle=True, sampler=[0]),
        ValueError,
        "sampler option is mutually exclusive with shuffle",
    ),
    "two batchings": (
        dict(batch_sampler=[[0]], batch_size=2),
        ValueError,
        "batch_sampler option is mutually exclusive with batch_size",
    ),
    "nothing to drop": (
        dict(batch_size=None, drop_last=True),
        ValueError,
        "disables auto-batching",
    ),
    "no batch": (dict(batch_size=0), ValueError, "batch_size should be a positive integer value"),
    "context alone": (
        dict(multiprocessing_context="spawn"),
        ValueError,
        r"multi-process loading \(num_workers > 0\), but got num_workers=0",
    ),
    "unknown context": (
        dict(multiprocessing_context="thread", num_workers=1),
        ValueError,
        "should specify a valid start method in",
    ),
    "wrong context": (
        dict(multiprocessing_context=3, num_workers=1),
        TypeError,
        "should be a valid context object or a string",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_exclude_each_other_are_refused(name):
    options, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        DataLoader(Numbers(), **options)


@pytest.mark.parametrize("option", [dict(shuffle=True), dict(sampler=[0]), dict(batch_sampler=[])])
def test_a_stream_takes_no_order(option):
    with pytest.raises(ValueError, match=f"expected unspecified {next(iter(option))} option"):
        DataLoader(Stream(3), **option)


@pytest.mark.parametrize("name", ["batch_size", "sampler", "drop_last", "dataset"])
def test_what_is_fixed_cannot_be_set_later(name):
    loader = DataLoader(Numbers())
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader"):
        setattr(loader, name, None)
    loader.num_workers = 0


def test_the_module_is_found_without_an_import_of_its_own():
    program = "import tensorbus; print(tensorbus.utils.data.DataLoader.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("DataLoader\n", "")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = tensorbus.utils.nothing


def test_more_workers_than_processors_warn(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1}, raising=False)
    with pytest.warns(UserWarning, match=r"will create 3 worker .* current system is 2, which"):
        DataLoader(Stream(3), num_workers=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DataLoader(Stream(3), num_workers=2)
        DataLoader(Stream(3))

"""Chains of data pipes, alone and under a DataLoader."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import tensorbus as torch
from tensorbus.utils.data import (
    DataChunk,
    DataLoader,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
)
from tensorbus.utils.data.datapipes.iter import IterableWrapper
from tensorbus.utils.data.datapipes.iter import Sampler as PipeSampler
from tensorbus.utils.data.datapipes.map import SequenceWrapper


def add_one(x: int) -> int:
    return x + 1


def chains(pipe: Any) -> dict[str, Any]:
    """What PyTorch's pipes of the same names give for the numbers below ten, as lists."""
    other = type(pipe)(range(3))
    rows = type(pipe)([(1, 2, 3), (4, 5, 6)])
    return {
        "map": pipe.map(add_one),
        "filter": pipe.filter(lambda x: x % 3 == 0),
        "batch": pipe.batch(4),
        "short": pipe.batch(4, drop_last=True),
        "levels": pipe.batch(2).batch(2).unbatch(unbatch_level=2),
        "all levels": pipe.batch(2).batch(2).unbatch(unbatch_level=-1),
        "one level": pipe.batch(2).unbatch(),
        "concat": pipe.concat(other),
        "zip": pipe.zip(other),
        "mux": pipe.mux(other),
        "collate": pipe.batch(5).map(sum),
        "column": rows.map(lambda x: -x, input_col=1),
        "columns": rows.map(lambda x, y: x * y, input_col=[0, 2]),
        "appended": rows.map(lambda x: -x, input_col=0, output_col=-1),
        "other column": rows.map(lambda x: -x, input_col=0, output_col=2),
        "filtered column": rows.filter(lambda x: x > 3, input_col=0),
        "shards": pipe.sharding_filter(),
    }


CHAINS = list(chains(IterableWrapper(range(10))))


@pytest.mark.parametrize("name", CHAINS)
def test_streams_give_what_pytorchs_do(oracle: Any, name: str) -> None:
    def program(torch: Any) -> Any:
        from torch.utils.data.datapipes.iter import IterableWrapper

        return told(lambda: IterableWrapper(range(10)))

    def told(make: Any) -> Any:
        """One chain at a time: a pipe has one iterator."""
        samples = [plain(sample) for sample in chains(make())[name]]
        try:
            return [samples, len(chains(make())[name])]
        except TypeError as error:
            return [
                samples,
                "doesn't have valid length" in str(error) or "has no len" in str(error),
            ]

    def plain(sample: Any) -> Any:
        many = isinstance(sample, list | tuple)
        return [plain(each) for each in sample] if many else sample

    assert told(lambda: IterableWrapper(range(10))) == oracle(program)


def test_maps_give_what_pytorchs_do(oracle: Any) -> None:
    def told(wrapper: Any) -> Any:
        pipe = wrapper(range(5))
        made = [pipe.map(add_one), pipe.batch(2), pipe.batch(2, drop_last=True)]
        made += [pipe.concat(wrapper([9])), pipe.zip(wrapper("abc"))]
        return [[str([p[i] for i in range(len(p))]), len(p)] for p in made]

    def program(torch: Any) -> Any:
        from torch.utils.data.datapipes.map import SequenceWrapper

        return told(SequenceWrapper)

    assert told(SequenceWrapper) == oracle(program)
    with pytest.raises(IndexError):
        SequenceWrapper(range(5)).batch(2)[3]
    with pytest.raises(IndexError, match="out of range for one of the input MapDataPipes"):
        SequenceWrapper(range(5)).zip(SequenceWrapper("a"))[3]
    assert sorted(SequenceWrapper("abc").shuffle()) == ["a", "b", "c"]


def test_shuffling_follows_its_seed() -> None:
    pipe = IterableWrapper(range(50)).shuffle(buffer_size=20)
    orders = [list(pipe.set_seed(seed)) for seed in (1, 1, 2)]
    assert sorted(orders[0]) == list(range(50))
    assert orders[0] == orders[1] != orders[2] and orders[0] != list(range(50))
    assert list(pipe.set_shuffle(False)) == list(range(50))
    torch.manual_seed(3)
    first = list(pipe.set_shuffle())
    torch.manual_seed(3)
    assert list(pipe) == first != list(pipe)
    order = SequenceWrapper(range(9)).shuffle()
    assert list(order.set_seed(4)) == list(order.set_seed(4))


def test_a_second_iterator_ends_the_first() -> None:
    pipe = IterableWrapper(range(3))
    first = iter(pipe)
    assert next(first) == 0
    second = iter(pipe)
    with pytest.raises(RuntimeError, match="invalidated because another iterator"):
        next(first)
    assert list(second) == [0, 1, 2]


class Counting(IterDataPipe[int]):
    def __init__(self, high: int) -> None:
        self.high = high
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1

    def __iter__(self) -> Any:
        yield from range(self.high)


class Doubled(Counting):
    def __iter__(self) -> Any:
        for x in super().__iter__():
            yield 2 * x


def test_pipes_of_the_user() -> None:
    pipe = Doubled(3)
    assert list(pipe) == [0, 2, 4] and list(pipe.map(add_one)) == [1, 3, 5] and pipe.resets == 2

    @functional_datapipe("_tripled_in_a_test")
    class Tripled(IterDataPipe[int]):
        def __init__(self, source: Any, times: int) -> None:
            self.source, self.times = source, times

        def __iter__(self) -> Any:
            for x in self.source:
                yield x * self.times

    try:
        assert list(pipe._tripled_in_a_test(3)) == [0, 6, 12]
        with pytest.raises(Exception, match="already taken"):
            functional_datapipe("_tripled_in_a_test")(Tripled)
    finally:
        del IterDataPipe.functions["_tripled_in_a_test"]
    with pytest.raises(AttributeError, match="'Doubled' object has no attribute 'none'"):
        _ = pipe.none
    with pytest.raises(TypeError, match="functional_datapipe"):
        functional_datapipe("list")(list)
    assert not isinstance(pipe, MapDataPipe)
    again = pickle.loads(pickle.dumps(pipe.map(add_one).batch(2)))
    assert list(again) == [[1, 3], [5]]
    assert list(PipeSampler(IterableWrapper(range(3)))) == [0, 1, 2]


WRONG = {
    "no samples in a batch": (lambda p: p.batch(0), AssertionError, "larger than 0"),
    "a filter that counts": (lambda p: list(p.filter(add_one)), ValueError, "Boolean output"),
    "depth": (lambda p: list(p.unbatch()), IndexError, "unbatch_level 1 exceeds the depth"),
    "two output columns": (lambda p: p.map(add_one, 0, [1, 2]), ValueError, "single-element"),
    "an output without input": (lambda p: p.map(add_one, output_col=1), ValueError, "must be None"),
    "no pipe": (lambda p: p.concat(3), TypeError, "Expected all inputs to be `IterDataPipe`"),
    "no length": (lambda p: len(p.filter(bool).batch(2)), TypeError, "have valid length"),
    "a number too large": (
        lambda p: p.sharding_filter().apply_sharding(2, 2), ValueError, "should be smaller"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told(case: str) -> None:
    call, kind, text = WRONG[case]
    with pytest.raises(kind, match=text):
        call(IterableWrapper(range(3)))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_shuffles_and_shares_out_pipes(workers: int) -> None:
    pipe = IterableWrapper(range(20)).shuffle().sharding_filter()

    def passes(seed: int, **options: Any) -> list[list[int]]:
        loader = DataLoader(
            pipe, batch_size=3, num_workers=workers,
            generator=torch.Generator().manual_seed(seed), **options
        )  # fmt: skip
        return [[int(x) for batch in loader for x in batch] for _ in range(2)]

    first, second = passes(0, shuffle=True)
    assert sorted(first) == sorted(second) == list(range(20)) and first != second
    assert passes(0, shuffle=True) == [first, second] != passes(1, shuffle=True)
    assert sorted(passes(0, shuffle=False)[0]) == list(range(20))
    if not workers:
        assert passes(0, shuffle=False)[0] == list(range(20))
    pipe.source_datapipe.set_shuffle(True)
    if workers:
        one, two = passes(5, persistent_workers=True)
        assert sorted(one) == sorted(two) == list(range(20)) and one != two


def test_a_loader_adds_a_shuffler_where_there_is_none() -> None:
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = DataLoader(IterableWrapper(range(8)), batch_size=None, shuffle=True)
    assert sorted(loader) == list(range(8))
    twice = IterableWrapper(range(4)).sharding_filter().map(add_one).sharding_filter()
    with pytest.raises(RuntimeError, match="Sharding twice"):
        list(DataLoader(twice))
    assert isinstance(next(iter(IterableWrapper(range(2)).batch(2))), DataChunk)

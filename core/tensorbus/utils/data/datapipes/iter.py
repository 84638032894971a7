"""Streams of samples, and what is made of streams."""

from __future__ import annotations

import copy
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tensorbus.utils.data.collate import default_collate
from tensorbus.utils.data.datapipes.branching import Demultiplexer, Forker
from tensorbus.utils.data.datapipes.datapipe import (
    Batching,
    DataChunk,
    IterDataPipe,
    functional_datapipe,
    length_of,
)
from tensorbus.utils.data.datapipes.files import FileLister, FileOpener, StreamReader
from tensorbus.utils.data.datapipes.grouping import Grouper
from tensorbus.utils.data.sampler import SequentialSampler, draw_seed

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "FileLister",
    "FileOpener",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "StreamReader",
    "UnBatcher",
    "Zipper",
]


class IterableWrapper(IterDataPipe[Any]):
    """The members of an iterable, of which each pass reads a copy unless *deepcopy* is false."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True):
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place "
                    "modification would affect source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return length_of(self.iterable, self)


class _Over(IterDataPipe[Any]):
    """A pipe with as many samples as its source."""

    datapipe: Any

    def __len__(self) -> int:
        return length_of(self.datapipe, self)


@functional_datapipe("map")
class Mapper(_Over):
    """A function of each sample, or of its *input_col*, put into its *output_col*.

    A column is a key or index; several inputs are several arguments. The result takes the place of
    the first input unless *output_col* says another; -1 appends it.
    """

    def __init__(
        self,
        datapipe: Any,
        fn: Callable[..., Any],
        input_col: Any = None,
        output_col: Any = None,
    ):
        self.datapipe, self.fn, self.input_col = datapipe, fn, input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            yield self.fn(sample) if self.input_col is None else self._in_columns(sample)

    def _in_columns(self, sample: Any) -> Any:
        several = isinstance(self.input_col, list | tuple)
        columns = self.input_col if several else [self.input_col]
        result = self.fn(*(sample[column] for column in columns))
        changed = list(sample) if isinstance(sample, tuple) else sample
        if self.output_col is None:
            changed[columns[0]] = result
            for column in sorted(columns[1:], reverse=True):
                del changed[column]
        elif self.output_col == -1:
            changed.append(result)
        else:
            changed[self.output_col] = result
        return tuple(changed) if isinstance(sample, tuple) else changed


@functional_datapipe("collate")
class Collator(Mapper):
    """Batches made of lists of samples by *collate_fn*."""

    def __init__(
        self,
        datapipe: Any,
        conversion: Callable[..., Any] | None = None,
        collate_fn: Callable[..., Any] | None = None,
    ):
        super().__init__(datapipe, collate_fn or conversion or default_collate)


@functional_datapipe("filter")
class Filter(IterDataPipe[Any]):
    """The samples for which a function of them, or of their *input_col*, is true."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None):
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            if self.input_col is None:
                chosen = self.filter_fn(sample)
            elif isinstance(self.input_col, list | tuple):
                chosen = self.filter_fn(*(sample[column] for column in self.input_col))
            else:
                chosen = self.filter_fn(sample[self.input_col])
            if not isinstance(chosen, bool):
                raise ValueError(
                    "Boolean output is required for `filter_fn` of FilterIterDataPipe, "
                    f"got {type(chosen)}"
                )
            if chosen:
                yield sample


@functional_datapipe("batch")
class Batcher(Batching, IterDataPipe[Any]):
    """Lists of *batch_size* samples; the last may be shorter, or dropped."""

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe[Any]):
    """The members of batches, of *unbatch_level* levels of them; -1 is all levels."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1):
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for element in self.datapipe:
            yield from self._members(element, self.unbatch_level)

    def _members(self, element: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level == -1 and not isinstance(element, list | DataChunk)):
            yield element
        elif not isinstance(element, list | DataChunk):
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        else:
            for member in element:
                yield from self._members(member, max(level - 1, -1))


class _OverSeveral(IterDataPipe[Any]):
    def __init__(self, *datapipes: Any):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def _lengths(self) -> list[int]:
        return [length_of(pipe, self) for pipe in self.datapipes]


@functional_datapipe("concat")
class Concater(_OverSeveral):
    """Streams one after the other."""

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(self._lengths())


@functional_datapipe("zip")
class Zipper(_OverSeveral):
    """Tuples of a sample of each stream, as long as all have one."""

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(self._lengths())


@functional_datapipe("mux")
class Multiplexer(_OverSeveral):
    """A sample of each stream in turn, until one of them ends."""

    def __iter__(self) -> Iterator[Any]:
        for row in zip(*self.datapipes, strict=False):
            yield from row

    def __len__(self) -> int:
        return min(self._lengths()) * len(self.datapipes)


@functional_datapipe("shuffle")
class Shuffler(_Over):
    """Samples in random order, out of a buffer of *buffer_size* of them.

    ``set_seed`` gives the order of the next pass; else it follows the global generator. A
    DataLoader sets it for each pass, and switches pipes on and off by its *shuffle*.
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0):
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = UnBatcher(datapipe, unbatch_level) if unbatch_level else datapipe
        self.buffer_size = buffer_size
        self._enabled, self._seed, self._random = True, None, random.Random()

    _seed: int | None

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Switch it on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """Give the order of the next pass."""
        self._seed = seed
        return self

    def reset(self) -> None:
        """Begin a pass with the seed that was set, or a drawn one."""
        if self._enabled:
            self._random.seed(draw_seed(None) if self._seed is None else self._seed)
            self._seed = None

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[Any] = []
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
                continue
            at = self._random.randrange(len(buffer))
            chosen, buffer[at] = buffer[at], sample
            yield chosen
        self._random.shuffle(buffer)
        yield from buffer


@functional_datapipe("sharding_filter")
class ShardingFilter(IterDataPipe[Any]):
    """Every n-th sample, for one of n workers; a DataLoader tells each worker its number."""

    def __init__(self, source_datapipe: Any):
        self.source_datapipe = source_datapipe
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int) -> None:
        """Give the number of workers, and which this one is."""
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than "
                f"num_of_instances({num_of_instances})"
            )
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        for number, sample in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        whole, rest = divmod(length_of(self.source_datapipe, self), self.num_of_instances)
        return whole + (self.instance_id < rest)


class Sampler(_Over):
    """The indices that a *sampler* class gives for a pipe."""

    def __init__(
        self,
        datapipe: Any,
        sampler: Callable[..., Any] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ):
        self.datapipe = datapipe
        named = {"data_source": datapipe, **(sampler_kwargs or {})}
        self.sampler = sampler(*(sampler_args or ()), **named)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

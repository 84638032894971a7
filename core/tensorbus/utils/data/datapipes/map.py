"""Maps from indices to samples, and what is made of them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus.utils.data.datapipes.datapipe import (
    Batching,
    IterDataPipe,
    MapDataPipe,
    functional_datapipe,
    length_of,
)
from tensorbus.utils.data.dataset import ConcatDataset
from tensorbus.utils.data.sampler import draw_seed

__path__: list[str] = []  # paths of PyTorch lie below it: pytorch_paths.py

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe[Any]):
    """The members of a sequence or a mapping, of a copy unless *deepcopy* is false."""

    def __init__(self, sequence: Any, deepcopy: bool = True):
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return length_of(self.sequence, self)


@functional_datapipe("map")
class Mapper(MapDataPipe[Any]):
    """A function of each sample."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = lambda data: data):
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return length_of(self.datapipe, self)


class _OverSeveral(MapDataPipe[Any]):
    def __init__(self, *datapipes: Any):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
            raise TypeError("Expected all inputs to be `MapDataPipe`")
        self.datapipes = datapipes


@functional_datapipe("concat")
class Concater(_OverSeveral):
    """Maps one after the other, by indices from 0."""

    def __getitem__(self, index: int) -> Any:
        return ConcatDataset(self.datapipes)[index]

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class Zipper(_OverSeveral):
    """Tuples of the samples of each map at an index."""

    def __getitem__(self, index: Any) -> Any:
        found = []
        for pipe in self.datapipes:
            try:
                found.append(pipe[index])
            except IndexError as error:
                raise IndexError(
                    f"Index {index} is out of range for one of the input MapDataPipes {pipe!r}."
                ) from error
        return tuple(found)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)


@functional_datapipe("batch")
class Batcher(Batching, MapDataPipe[Any]):
    """Lists of *batch_size* samples; the last may be shorter, or dropped."""

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        end = min((index + 1) * self.batch_size, len(self.datapipe))
        samples = [self.datapipe[i] for i in range(index * self.batch_size, end)]
        return self.wrapper_class(samples)


class Shuffler(IterDataPipe[Any]):
    """A stream of a map's samples in random order; *indices* are its keys, if not 0 to n - 1."""

    _seed: int | None = None

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None):
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Switch it on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """Give the order of the next pass."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        order = self.indices
        if self._enabled:
            seed = draw_seed(None) if self._seed is None else self._seed
            self._seed = None
            order = random.Random(seed).sample(order, len(order))
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)

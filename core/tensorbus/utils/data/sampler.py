"""Samplers: in which order, and in which batches, a dataset is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import tensorbus

if TYPE_CHECKING:
    from tensorbus import Generator

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """An iterable of indices, or of lists of indices for a batch sampler.

    Subclasses define ``__iter__``, and ``__len__`` where the number of indices is known.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


def draw_seed(generator: Generator | None) -> int:
    """A seed from the host's random stream, the same whatever device the program runs on."""
    high = 2**63 - 1
    drawn = tensorbus.randint(
        0, high, (1,), generator=generator, dtype=tensorbus.int64, device="cpu"
    )
    return int(drawn.item())


def _private_generator() -> Generator:
    return tensorbus.Generator().manual_seed(draw_seed(None))


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_flag(name: str, value: Any, error: type[Exception] = ValueError) -> None:
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")


class SequentialSampler(Sampler[int]):
    """The indices of *data_source* in order."""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices of *data_source* in random order, or drawn *with replacement*.

    *num_samples* defaults to the length of the source; without replacement a larger number goes
    through the source several times, shuffled anew. Equal seeds give equal orders on every device.

    >>> import tensorbus
    >>> sampler = RandomSampler(range(4), generator=tensorbus.Generator().manual_seed(0))
    >>> sorted(sampler)
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_flag("replacement", replacement, TypeError)
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many indices one pass gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n = len(self.data_source)
        left = self.num_samples
        generator = self.generator or _private_generator()
        if self.replacement:
            yield from _integers(n, left, generator)
            return
        while left > 0 and n > 0:
            order = tensorbus.randperm(n, generator=generator, device="cpu").tolist()
            yield from order[:left]
            left -= n

    def __len__(self) -> int:
        return self.num_samples


def _integers(high: int, count: int, generator: Generator) -> Iterator[int]:
    """*count* draws from 0 to *high* - 1, a few at a time: the stream may be long."""
    for start in range(0, count, 1024):
        size = (min(1024, count - start),)
        yield from tensorbus.randint(0, high, size, generator=generator, device="cpu").tolist()


class SubsetRandomSampler(Sampler[int]):
    """The given *indices* in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None):
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = tensorbus.randperm(len(self.indices), generator=self.generator, device="cpu")
        for i in order.tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """*num_samples* indices from 0 to ``len(weights) - 1``, drawn with these weights.

    The weights need not sum to one. ValueError when they are not a vector, or when more samples
    than weights are asked for without replacement.

    >>> sampler = WeightedRandomSampler([0.0, 1.0], num_samples=3)
    >>> list(sampler)
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ):
        _check_count("num_samples", num_samples)
        _check_flag("replacement", replacement)
        self.weights = tensorbus.as_tensor(weights, dtype=tensorbus.float64, device="cpu")
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = tensorbus.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of *batch_size* indices from another sampler; the last may be shorter, or dropped.

    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool):
        _check_count("batch_size", batch_size)
        _check_flag("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

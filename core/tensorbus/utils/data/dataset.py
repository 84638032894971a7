"""Datasets: where samples come from, and how datasets are joined and split."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import tensorbus
from tensorbus._base.warning import warn_user

if TYPE_CHECKING:
    from tensorbus import Generator, Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from indices to samples: subclasses define ``__getitem__`` and usually ``__len__``.

    A subclass may add ``__getitems__(indices)``, which returns the list of samples of a batch
    where that is faster than one call for each.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 5
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples: subclasses define ``__iter__``; TypeError where one does not.

    With worker processes each one iterates over its own copy: use ``get_worker_info()`` to give
    each a different part of the stream.
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Samples are the slices of *tensors* along their first dimension.

    AssertionError when the first dimensions differ.

    >>> import tensorbus
    >>> data = TensorDataset(tensorbus.arange(6).view(3, 2), tensorbus.arange(3))
    >>> len(data), data[1]
    (3, (tensor([2, 3]), tensor(1)))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor):
        sizes = [tensor.size(0) for tensor in tensors]
        if len(set(sizes)) > 1:
            raise AssertionError(
                f"Size mismatch between tensors: their first dimensions are {sizes}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)

    def _gather(self, indices: list[int]) -> list[Tensor]:
        chosen = tensorbus.tensor(indices, dtype=tensorbus.int64, device="cpu")
        return [tensor[chosen.to(tensor.device)].contiguous() for tensor in self.tensors]


class StackDataset(Dataset[Any]):
    """Datasets side by side: a sample is a tuple (positional) or a dict (by keyword) of theirs.

    ValueError when none is given, when both forms are mixed, or when the lengths differ.

    >>> StackDataset(image=[1, 2], label=["a", "b"])[1]
    {'image': 2, 'label': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        self.datasets = args or kwargs
        sizes = [len(dataset) for dataset in self._parts()]
        if not sizes:
            raise ValueError("At least one dataset should be passed")
        if len(set(sizes)) > 1:
            raise ValueError(f"Size mismatch between datasets: their lengths are {sizes}")
        self._length = sizes[0]

    def _parts(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for dataset in self._parts():
            items = _getitems(dataset, indices)
            if len(items) != len(indices):
                raise ValueError(
                    "Nested dataset's output size mismatch. "
                    f"Expected {len(indices)}, got {len(items)}"
                )
            columns.append(items)
        rows = zip(*columns, strict=True)
        if isinstance(self.datasets, dict):
            return [dict(zip(self.datasets, row, strict=True)) for row in rows]
        return list(rows)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Datasets one after the other.

    AssertionError when there is none, and for an IterableDataset; ValueError for a negative index
    out of range.

    >>> joined = ConcatDataset([[10, 11], [20]])
    >>> len(joined), joined[2], joined[-3]
    (3, 20, 10)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError(
                "ConcatDataset does not support IterableDataset; use ChainDataset for streams"
            )
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        if which == len(self.datasets):
            raise IndexError(f"index {index} is out of range for a dataset of length {len(self)}")
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]

    @property
    def cummulative_sizes(self) -> list[int]:
        """``cumulative_sizes`` by its older name, with a warning."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`",
            FutureWarning,
            stacklevel=2,
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other; AssertionError when one of them is not an IterableDataset."""

    datasets: Iterable[Any]

    def __init__(self, datasets: Iterable[Any]):
        super().__init__()
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}"
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._streams():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._streams())


class Subset(Dataset[T_co]):
    """The samples of *dataset* at *indices*.

    >>> subset = Subset(["a", "b", "c"], [2, 0])
    >>> list(subset[i] for i in range(len(subset)))
    ['c', 'a']
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return _getitems(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)

    def _gather(self, indices: list[int]) -> list[Tensor]:
        return self.dataset._gather([self.indices[i] for i in indices])


def _getitems(dataset: Any, indices: list[Any]) -> list[Any]:
    several = getattr(dataset, "__getitems__", None)
    return several(indices) if several else [dataset[index] for index in indices]


def gathers(dataset: Any) -> bool:
    """Whether ``dataset._gather(indices)`` gives what collating its single samples would.

    True for plain TensorDatasets and plain Subsets of them: a subclass that changes how a sample
    is made must be asked for each sample.
    """
    kind = type(dataset)
    if isinstance(dataset, Subset):
        plain = kind.__getitem__ is Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__
        return plain and gathers(dataset.dataset)
    return (
        isinstance(dataset, TensorDataset)
        and kind.__getitem__ is TensorDataset.__getitem__
        and not hasattr(kind, "__getitems__")
        and len(dataset.tensors) > 0
        and all(tensor.dim() > 0 for tensor in dataset.tensors)
    )


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """Split *dataset* at random into parts of these lengths, or of these fractions of it.

    Fractions must sum to 1; what rounding leaves over goes to the first parts, one sample each.
    ValueError when the lengths do not add up to the dataset's.

    >>> import tensorbus
    >>> parts = random_split(range(10), [0.7, 0.3], tensorbus.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [7, 3]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _fractions_to_lengths(lengths, len(dataset))
    if sum(lengths) != len(dataset):
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"Got {list(lengths)}, which sum to {sum(lengths)}, for a dataset of {len(dataset)}"
        )
    order = tensorbus.randperm(int(sum(lengths)), generator=generator, device="cpu").tolist()
    ends = itertools.accumulate(int(length) for length in lengths)
    return [
        Subset(dataset, order[end - int(length) : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


def _fractions_to_lengths(fractions: Sequence[float], total: int) -> list[int]:
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1: {fraction}")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if not length:
            warn_user(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    return lengths

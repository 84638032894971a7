"""DataLoader: batches of a dataset, made here or in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tensorbus.utils.data.collate import CollateFn, default_collate, default_convert
from tensorbus.utils.data.datapipes.datapipe import IterDataPipe
from tensorbus.utils.data.dataset import Dataset, IterableDataset
from tensorbus.utils.data.fetch import EndOfStream, FetchPlan
from tensorbus.utils.data.graph_settings import apply_shuffle_settings
from tensorbus.utils.data.multiprocess import MultiprocessIterator
from tensorbus.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    draw_seed,
)

if TYPE_CHECKING:
    from tensorbus import Generator

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler[None]):
    """The requests for a stream, which has no indices."""

    def __iter__(self) -> Iterator[None]:
        return repeat(None)


class _InProcessIterator(Iterator[Any]):
    """One pass without workers; an error in a sample leaves it usable for the next batch."""

    def __init__(self, loader: DataLoader[Any], base_seed: int):
        self._index_sampler = loader.index_sampler
        self._requests = iter(self._index_sampler)
        self._fetch = loader.fetch_plan().start(base_seed)

    def __next__(self) -> Any:
        try:
            return self._fetch(next(self._requests))
        except EndOfStream:
            raise StopIteration from None

    def __len__(self) -> int:
        return len(self._index_sampler)


class DataLoader(Generic[T_co]):
    """Iterates over *dataset* in batches.

    *batch_size* None gives single samples. *shuffle*, *sampler* or *batch_sampler* choose the
    order; *collate_fn* makes a batch of a list of samples. With *num_workers* > 0 that many
    processes make batches ahead (*prefetch_factor* for each, 2 if not given), which come out in
    order, in shared memory; worker i seeds its random streams with base_seed + i, drawn from
    *generator*. *persistent_workers* keeps them for the next pass, *timeout* is in seconds,
    *pin_memory* gets a UserWarning, as no backend allocates pinned memory; *in_order* may be false,
    and the order is kept. ValueError for options that exclude each other.

    >>> for batch in DataLoader(range(5), batch_size=2):
    ...     print(batch)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    timeout: float
    sampler: Any
    batch_sampler: Any
    drop_last: bool
    collate_fn: CollateFn
    generator: Generator | None

    def __init__(
        self,
        dataset: Dataset[T_co] | Sequence[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: CollateFn | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ):
        self._check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if isinstance(dataset, IterDataPipe):
            dataset, shuffle = apply_shuffle_settings(dataset, shuffle), None
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = self._checked_context(multiprocessing_context)
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._check_order(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if sampler is None:
            sampler = self._default_sampler(bool(shuffle))
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        elif batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._persistent: MultiprocessIterator | None = None
        self._told: int | None = None
        """How many batches ``len`` said that a stream gives: a program that asked is warned."""
        self._initialized = True
        self.check_worker_number_rationality()

    def check_worker_number_rationality(self) -> None:
        """Warn of more workers than there are processors for this process."""
        counted = hasattr(os, "sched_getaffinity")
        most = len(os.sched_getaffinity(0)) if counted else os.cpu_count() or 1
        if self.num_workers > most:
            unsure = "" if counted else " (`cpuset` is not taken into account)"
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {most}{unsure}, which is "
                "smaller than what this DataLoader is going to create. Please be aware that "
                "excessive worker creation might get DataLoader running slow or even freeze, lower "
                "the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )

    @staticmethod
    def _check_workers(
        num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
    ) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                f"multiprocessing. Got {num_workers}"
            )
        if timeout < 0:
            raise ValueError(f"timeout option should be non-negative, got {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. let "
                "num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError(f"prefetch_factor option should be positive, got {prefetch_factor}")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

    def _check_order(
        self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool
    ) -> None:
        if isinstance(self.dataset, IterableDataset):
            if shuffle:
                raise ValueError(
                    "DataLoader with IterableDataset: expected unspecified shuffle option, "
                    f"but got shuffle={shuffle}"
                )
            for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, "
                        f"but got {name}={value}"
                    )
        if shuffle and sampler is not None:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive "
                "with drop_last"
            )

    def _checked_context(self, context: Any) -> Any:
        if context is None:
            return None
        if self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading "
                f"(num_workers > 0), but got num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            allowed = multiprocessing.get_all_start_methods()
            if context not in allowed:
                raise ValueError(
                    "multiprocessing_context option should specify a valid start method in "
                    f"{allowed!r}, but got multiprocessing_context={context!r}"
                )
            return multiprocessing.get_context(context)
        if not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string "
                "specifying the start method, but got "
                f"multiprocessing_context={context}"
            )
        return context

    def _default_sampler(self, shuffle: bool) -> Any:
        if isinstance(self.dataset, IterableDataset):
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_initialized" in self.__dict__:
            raise ValueError(f"{name} attribute should not be set after DataLoader is initialized")
        if name == "multiprocessing_context" and "_initialized" in self.__dict__:
            value = self._checked_context(value)
        super().__setattr__(name, value)

    @property
    def index_sampler(self) -> Any:
        """What is iterated over for requests: the batch sampler, or the sampler without batches."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def fetch_plan(self) -> FetchPlan:
        """How this loader makes batches, for the process that does it."""
        batched = self.batch_sampler is not None
        return FetchPlan(self.dataset, batched, self.collate_fn, self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        # Drawn without workers too: the random stream must not depend on their number.
        base_seed = draw_seed(self.generator)
        if self.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator whose backend allocates "
                "pinned memory is found, then device pinned memory won't be used.",
                UserWarning,
                stacklevel=2,
            )
        if self.timeout and self.num_workers == 0:
            raise AssertionError(
                f"timeout needs num_workers > 0: without workers it has to be 0, got {self.timeout}"
            )
        batches: Iterator[Any]
        if self.num_workers == 0:
            batches = _InProcessIterator(self, base_seed)
        elif not self.persistent_workers:
            batches = MultiprocessIterator(self, base_seed)
        elif self._persistent is None or self._persistent.closed:
            batches = self._persistent = MultiprocessIterator(self, base_seed)
        else:
            batches = self._persistent
            batches.restart()
        return batches if self._told is None else self._counted(batches, self._told)

    def _counted(self, batches: Iterator[Any], length: int) -> Iterator[Any]:
        """Pass batches on, and warn once when a stream gives more than it was said to."""
        for count, batch in enumerate(batches, 1):
            if count == length + 1:
                warnings.warn(
                    f"Length of IterableDataset {self.dataset} was reported to be {length} (in "
                    "batches, when accessing len(dataloader)), but more have been fetched. For "
                    "multiprocessing data-loading, this could be caused by not properly "
                    "configuring the IterableDataset replica at each worker: see "
                    "get_worker_info().",
                    stacklevel=2,
                )
            yield batch

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.index_sampler)
        length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is not None:
            size = self.batch_size
            length = length // size if self.drop_last else -(-length // size)
        self._told = length
        return length


# PyTorch's names of these, for isinstance and annotations of libraries.
_SingleProcessDataLoaderIter = _InProcessIterator
_MultiProcessingDataLoaderIter = MultiprocessIterator
_BaseDataLoaderIter = _InProcessIterator | MultiprocessIterator
_collate_fn_t = Callable[[list[Any]], Any]

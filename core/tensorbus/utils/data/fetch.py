"""From a sampler's request to a batch: the part that runs in the process reading the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import tensorbus
from tensorbus.utils.data.collate import collates_tensors_as_usual
from tensorbus.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from tensorbus.utils.data.dataset import IterableDataset, gathers
from tensorbus.utils.data.graph_settings import apply_random_seed, apply_sharding


class EndOfStream(Exception):
    """An IterableDataset has no further batch."""


@dataclass(frozen=True)
class FetchPlan:
    """How batches are made of a dataset; small, and picklable where its parts are."""

    dataset: Any
    batched: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool

    def start(self, seed: int, workers: int = 1, worker: int = 0) -> Callable[[Any], Any]:
        """A function from a request (an index, or a list of them) to a batch.

        It raises EndOfStream, again and again, when a stream is at its end. Pipes are shuffled by
        the pass's *seed*, the same for all workers, and give a worker its share.
        """
        if isinstance(self.dataset, IterDataPipe | MapDataPipe):
            apply_random_seed(self.dataset, tensorbus.Generator().manual_seed(seed))
            apply_sharding(self.dataset, workers, worker)
        if isinstance(self.dataset, IterableDataset):
            return self._stream()
        if not self.batched:
            return lambda index: self.collate_fn(self.dataset[index])
        if collates_tensors_as_usual(self.collate_fn) and gathers(self.dataset):
            return self.dataset._gather
        several = getattr(self.dataset, "__getitems__", None)
        if several is not None:
            return lambda indices: self.collate_fn(several(indices))
        return lambda indices: self.collate_fn([self.dataset[i] for i in indices])

    def _stream(self) -> Callable[[Any], Any]:
        samples = iter(self.dataset)

        def fetch(request: Any) -> Any:
            wanted = len(request) if self.batched else 1
            batch = list(islice(samples, wanted))
            if not batch or (self.drop_last and len(batch) < wanted):
                raise EndOfStream
            return self.collate_fn(batch if self.batched else batch[0])

        return fetch

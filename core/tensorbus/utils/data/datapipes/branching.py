"""One stream read by several pipes: each sample by all of them, or each by one."""

from __future__ import annotations

import copy as copying
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from tensorbus.utils.data.datapipes.datapipe import (
    IterDataPipe,
    functional_datapipe,
    invalidated,
    length_of,
)


class _Shared(IterDataPipe[Any]):
    """The stream, and the samples that branches have still to read."""

    def __init__(self, datapipe: Any, count: int, buffer_size: int, name: str):
        if count < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {count} is found")
        if buffer_size < 0:
            warnings.warn(
                f"Unlimited buffer size is set for `{name}`, please be aware of OOM at random "
                "places",
                stacklevel=4,
            )
        self.datapipe, self.count, self.buffer_size = datapipe, count, buffer_size
        self.passes = 0
        self.begin()

    def begin(self) -> None:
        """Begin a pass: all branches read from the start."""
        self.passes += 1
        self.samples: Iterator[Any] | None = None
        self.waiting: list[deque[Any]] = [deque() for _ in range(self.count)]
        self.begun, self.ended = [False] * self.count, [False] * self.count

    def __getstate__(self) -> dict[str, Any]:
        rest: dict[str, Any] = {"samples": None, "waiting": [deque() for _ in range(self.count)]}
        unread = [False] * self.count
        return {**self.__dict__, **rest, "begun": unread, "ended": list(unread)}

    def branch(self, number: int) -> Iterator[Any]:
        """The samples of a branch; where it has begun already, a new pass begins for all."""
        if self.begun[number]:
            if not all(self.ended):
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are "
                    "resetting the buffer and each child DataPipe will read from the start again.",
                    stacklevel=4,
                )
            self.begin()
        self.begun[number] = True
        return self._read(number, self.passes)

    def _read(self, number: int, passes: int) -> Iterator[Any]:
        while True:
            if passes != self.passes:
                raise invalidated(self)
            if not self.waiting[number]:
                if self.samples is None:
                    self.samples = iter(self.datapipe)
                try:
                    self.hand_out(next(self.samples), number)
                except StopIteration:
                    self.ended[number] = True
                    return
            else:
                yield self.waiting[number].popleft()

    def hand_out(self, sample: Any, asking: int) -> None:
        """Put a sample before the branches that it is for."""
        raise NotImplementedError


class _Branch(IterDataPipe[Any]):
    """One of the pipes."""

    def __init__(self, main: _Shared, number: int):
        self.main_datapipe, self.instance_id = main, number

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.branch(self.instance_id)

    def __len__(self) -> int:
        return len(self.main_datapipe)


_COPIES: dict[Any, Callable[[Any], Any]] = {
    None: lambda sample: sample,
    "shallow": copying.copy,
    "deep": copying.deepcopy,
}


class _ForAll(_Shared):
    def __init__(self, datapipe: Any, count: int, buffer_size: int, copy: str | None):
        super().__init__(datapipe, count, buffer_size, "fork")
        if copy not in _COPIES:
            raise ValueError(
                f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`."
            )
        self.copy = copy

    def hand_out(self, sample: Any, asking: int) -> None:
        for queue in self.waiting:
            queue.append(_COPIES[self.copy](sample))
        if 0 <= self.buffer_size < max(map(len, self.waiting)):
            raise BufferError(
                f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is "
                "insufficient."
            )

    def __len__(self) -> int:
        return length_of(self.datapipe, self)


@functional_datapipe("fork")
class Forker(IterDataPipe[Any]):
    """*num_instances* pipes that all give the samples of one, as a list.

    One may be at most *buffer_size* samples ahead of another, -1 is without end: BufferError.
    *copy* is None, ``"shallow"`` or ``"deep"``.
    """

    def __new__(
        cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        if num_instances == 1:
            return datapipe
        main = _ForAll(datapipe, num_instances, buffer_size, copy)
        return [_Branch(main, number) for number in range(num_instances)]


class _ForOne(_Shared):
    def __init__(
        self, datapipe: Any, count: int, classify: Callable[[Any], Any], drop: bool, buffer: int
    ):
        super().__init__(datapipe, count, buffer, "demux")
        self.classifier_fn, self.drop_none = classify, drop

    def hand_out(self, sample: Any, asking: int) -> None:
        place = self.classifier_fn(sample)
        if place is None and self.drop_none:
            return
        if place is None or not 0 <= place < self.count:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.count - 1}. "
                f"{place} is returned."
            )
        self.waiting[place].append(sample)
        kept = sum(len(queue) for n, queue in enumerate(self.waiting) if n != asking)
        if 0 <= self.buffer_size < kept:
            raise BufferError(
                f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is "
                "insufficient."
            )

    def __len__(self) -> int:
        raise TypeError("Demultiplexer instance doesn't have valid length")


@functional_datapipe("demux")
class Demultiplexer(IterDataPipe[Any]):
    """*num_instances* pipes among which a function of each sample shares out those of one, a list.

    The function gives the number of a pipe, or with *drop_none* None for a sample that is dropped;
    ValueError for others. At most *buffer_size* samples wait for pipes that are not read.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], Any],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        main = _ForOne(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_Branch(main, number) for number in range(num_instances)]

"""Samples of a stream that belong together, as batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tensorbus.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, functional_datapipe


@functional_datapipe("groupby")
class Grouper(IterDataPipe[Any]):
    """Batches of samples for which a function gives the same key; with *keep_key* pairs with it.

    A batch is given as soon as it has *group_size* samples, and the others at the end. Where
    *buffer_size* samples wait, the largest batch is given if it has *guaranteed_group_size*
    (*group_size* where not given); else it is dropped with *drop_remaining*, or RuntimeError.
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ):
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (
            group_size is None or not 0 < guaranteed_group_size <= group_size
        ):
            raise AssertionError(
                "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
            )
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size = buffer_size, group_size
        self.guaranteed_group_size = guaranteed_group_size or group_size or 0
        self.drop_remaining = drop_remaining

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = {}
        waiting = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups.setdefault(key, []).append(sample)
            waiting += 1
            if len(groups[key]) == self.group_size:
                waiting -= self.group_size
                yield self._given(key, groups.pop(key))
            if waiting == self.buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                group = groups.pop(largest)
                waiting -= len(group)
                if len(group) >= self.guaranteed_group_size:
                    yield self._given(largest, group)
                elif not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(group))
        for key, group in groups.items():
            yield self._given(key, group)

    def _given(self, key: Any, group: list[Any]) -> Any:
        return (key, DataChunk(group)) if self.keep_key else DataChunk(group)

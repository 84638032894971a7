"""What a DataLoader sets in all pipes of a chain: shuffling, seeds, and shares of workers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from tensorbus.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from tensorbus.utils.data.sampler import draw_seed

__all__ = [
    "all_pipes",
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_settings",
]


def _sources(pipe: Any) -> Iterator[Any]:
    """The pipes that a pipe holds, in its attributes or in their members."""
    for value in vars(pipe).values():
        if isinstance(value, dict):
            members: Any = value.values()
        else:
            members = value if isinstance(value, list | tuple) else [value]
        yield from (m for m in members if isinstance(m, IterDataPipe | MapDataPipe))


def all_pipes(datapipe: Any) -> list[Any]:
    """A pipe and all that it reads from, each once.

    >>> from tensorbus.utils.data.datapipes.iter import IterableWrapper
    >>> from tensorbus.utils.data.graph_settings import all_pipes
    >>> all_pipes(IterableWrapper(range(3)).batch(2))
    [Batcher, IterableWrapper]
    """
    found: dict[int, Any] = {}
    waiting = [datapipe]
    while waiting:
        pipe = waiting.pop()
        if id(pipe) not in found:
            found[id(pipe)] = pipe
            waiting.extend(_sources(pipe))
    return list(found.values())


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch all shuffling pipes on or off; where there is none to switch on, one is added."""
    if shuffle is None:
        return datapipe
    shufflers = [p for p in all_pipes(datapipe) if hasattr(p, "set_shuffle")]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at "
            "the end. Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        return datapipe.shuffle()
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give every pipe that takes a seed one of its own, drawn from a generator."""
    for pipe in all_pipes(datapipe):
        if hasattr(pipe, "set_seed"):
            pipe.set_seed(draw_seed(rng))
    return datapipe


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int) -> Any:
    """Tell every pipe with ``apply_sharding`` the number of workers and which this one is.

    RuntimeError where samples would go through two of them.
    """

    def apply(pipe: Any, before: Any) -> None:
        if hasattr(pipe, "apply_sharding"):
            if before is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data "
                    f"loss. Sharding already applied to {before} while trying to apply to {pipe}"
                )
            pipe.apply_sharding(num_of_instances, instance_id)
            before = pipe
        for source in _sources(pipe):
            apply(source, before)

    apply(datapipe, None)
    return datapipe

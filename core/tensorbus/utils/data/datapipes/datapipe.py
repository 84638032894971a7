"""The base classes of data pipes, and how a class becomes a method of all pipes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from tensorbus.utils.data.dataset import Dataset, IterableDataset

T_co = TypeVar("T_co", covariant=True)


class DataChunk(list[Any]):
    """A batch of a pipe: a list that ``shuffle`` and ``unbatch`` know for one.

    >>> from tensorbus.utils.data import DataChunk
    >>> DataChunk(range(2)).as_str()
    '[0, 1]'
    """

    def __init__(self, items: Iterable[Any]):
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The members' texts in brackets."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[Any]:
        """The members as they were given."""
        return iter(self.items)


class _Pipe:
    """What both sorts of pipes have: functional names."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        # As long as a pipe is being unpickled it has no attributes, and asks for its hooks.
        if name.startswith("__") or name not in type(self).functions:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self
            )
        return functools.partial(type(self).functions[name], self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Make a function of a pipe a method of all pipes of this sort."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Make a class of pipes a method of all pipes; an Exception where the name is taken."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *type(self).functions]


class IterDataPipe(_Pipe, IterableDataset[T_co]):
    """A stream of samples that methods such as ``map`` and ``batch`` make further streams of.

    A subclass defines ``__iter__``, and ``reset`` for what a new pass begins with. A second
    iterator of a pipe ends the first: RuntimeError where that is used again.

    >>> from tensorbus.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(6)).filter(lambda x: x % 2 == 1).map(lambda x: 10 * x).batch(2))
    [[10, 30], [50]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _iterators = 0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__iter__" in vars(cls):
            cls.__iter__ = _single(vars(cls)["__iter__"])  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[T_co]:
        return self

    def reset(self) -> None:
        """Called when an iterator is made; does nothing unless a subclass defines it."""


def _single(make: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """A pipe's ``__iter__``, of whose iterators only the last one may be used."""

    @functools.wraps(make)
    def iterate(self: Any) -> Iterator[Any]:
        if type(self).__iter__ is not iterate:
            return make(self)  # a part of what a subclass does
        self._iterators += 1
        self.reset()
        return _guarded(self, make(self), self._iterators)

    return iterate


def invalidated(pipe: Any) -> RuntimeError:
    """The error of an iterator after which another one was made."""
    return RuntimeError(
        "This iterator has been invalidated because another iterator has been created from "
        f"the same IterDataPipe: {pipe!r}. Use one at a time, or pipes of their own."
    )


def _guarded(pipe: Any, samples: Iterator[Any], number: int) -> Iterator[Any]:
    while True:
        if pipe._iterators != number:
            raise invalidated(pipe)
        try:
            sample = next(samples)
        except StopIteration:
            return
        yield sample


class DFIterDataPipe(IterDataPipe[T_co]):
    """A pipe of data frames, by its name alone: none is shipped."""


class MapDataPipe(_Pipe, Dataset[T_co]):
    """A map from indices to samples that methods such as ``map`` and ``batch`` chain.

    >>> from tensorbus.utils.data.datapipes.map import SequenceWrapper
    >>> pipe = SequenceWrapper("abc").map(str.upper).batch(2)
    >>> pipe[1], len(pipe)
    (['C'], 2)
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class functional_datapipe:
    """Make a class of pipes a method of all pipes of its sort.

    >>> from tensorbus.utils.data import IterDataPipe, functional_datapipe
    >>> from tensorbus.utils.data.datapipes.iter import IterableWrapper
    >>> @functional_datapipe("twice")
    ... class Twice(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for x in self.source:
    ...             yield from (x, x)
    >>> list(IterableWrapper("ab").twice())
    ['a', 'a', 'b', 'b']
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False):
        self.name = name

    def __call__(self, cls: Any) -> Any:
        sort = next((s for s in (IterDataPipe, MapDataPipe) if issubclass(cls, s)), None)
        if sort is None:
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe and MapDataPipe")
        sort.register_datapipe_as_function(self.name, cls)
        return cls


def length_of(source: Any, pipe: Any) -> int:
    """How many samples a source has; TypeError in the name of the pipe that asks."""
    try:
        return len(source)
    except TypeError:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length") from None


class Batching:
    """What both sorts of batches have: samples of a pipe, in lists of *batch_size*."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last
        self.wrapper_class = wrapper_class

    def __len__(self) -> int:
        count = length_of(self.datapipe, self)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

"""Writes to saved tensors that do no harm, and writes that the library is told of."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any

from tensorbus._base.modes import InferenceCell, PackHooks, this_thread
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor, bump
from tensorbus.autograd.hooking import Hooking


class _Saved:
    """A copy of a saved tensor, until its context is left or cleared."""

    __slots__ = ("__weakref__", "copy")

    def __init__(self, copy: Tensor):
        self.copy: Tensor | None = copy


class _Copies:
    """What ``with allow_mutation_on_saved_tensors() as context`` gives."""

    def __init__(self) -> None:
        self._kept: list[_Saved] = []

    def clear(self) -> None:
        """Free the copies: graphs from before can't be walked any more."""
        for saved in self._kept:
            saved.copy = None
        self._kept = []

    def pack(self, t: Tensor) -> _Saved:
        saved = _Saved(t.clone())
        self._kept.append(saved)
        return saved


def _unpack(saved: _Saved) -> Tensor:
    if saved.copy is None:
        raise AssertionError(
            "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which "
            "the graph was originally recorded."
        )
    return saved.copy


class _InThread(Hooking):
    """The context manager; what is inside it can be asked of the thread's hooks."""

    def __init__(self) -> None:
        self.copies = self.entered = _Copies()

    def hooks(self) -> PackHooks:
        if any(unpack is _unpack for _, unpack in this_thread.hooks):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        return self.copies.pack, _unpack

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        try:
            yield from super().within(outer)
        finally:
            try:
                self.copies.clear()
            except BaseException:
                self.copies.clear()
                raise


def allow_mutation_on_saved_tensors() -> Any:
    """Inside, tensors that were saved for the backward pass may be written to.

    A context manager. Backward passes inside use the values from when they were saved, of which
    copies are kept until the end; outside, a pass through what was recorded inside is an error.

    >>> import tensorbus as torch
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     z = (y * y).sum()
    ...     y = y.mul_(10)
    ...     z.backward()
    >>> x.grad
    tensor([2., 2.])

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.allow_mutation_on_saved_tensors
    """
    return _InThread()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell that tensors were written to by other means than the library's.

    A backward pass that saved their values before is then refused, as after any write.

    >>> import tensorbus as torch
    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.increment_version
    """
    if not isinstance(tensor, Tensor | Iterable):
        raise RuntimeError(
            "increment_version expects a tensor or an iterable of tensors, not "
            f"{type(tensor).__name__}"
        )
    given = [tensor] if isinstance(tensor, Tensor) else list(tensor)
    for t in given:
        if not isinstance(t, Tensor):
            raise RuntimeError(
                "increment_version expects each element of the iterable to be a tensor, not "
                f"{type(t).__name__}"
            )
    for t in given:
        if type(t._c) is not InferenceCell:
            bump(t)


show_in(
    "tensorbus.autograd.graph",
    [(f.__name__, f) for f in (allow_mutation_on_saved_tensors, increment_version)],
)

"""Hooks for the gradients of several tensors: ``register_multi_grad_hook``.

Which gradients will come depends on the pass, so the passes that run are written down while there
are such hooks.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any

from tensorbus._base.leaving import Handle, Leaving
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.engine import leading_to
from tensorbus.op_engine.history import edge_of


class _Pass:
    """A backward pass that runs: what it reaches, and what hooks have seen in it."""

    def __init__(self, roots: list[Any], wanted: set[Any] | None):
        self.roots = roots
        self.wanted = wanted
        self.seen: dict[Any, list[Any]] = {}

    @functools.cached_property
    def nodes(self) -> set[Any]:
        """The nodes to which a gradient comes."""
        found = _reached(self.roots)
        return found if self.wanted is None else found & leading_to(self.wanted, self.roots)


class _Thread(threading.local):
    passes: tuple[_Pass, ...] = ()
    """Those that run, each inside the one before."""


_thread = _Thread()


class _Registered:
    """Whether there ever was such a hook."""

    __slots__ = ("any",)

    def __init__(self) -> None:
        self.any = False


REGISTERED = _Registered()


class noted(Leaving):
    """While the pass from some nodes runs, hooks know what it reaches."""

    def __init__(self, roots: list[tuple[Any, Any]], wanted: set[Any] | None) -> None:
        self._pass = _Pass([node for node, _ in roots], wanted)

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        before = _thread.passes
        try:
            _thread.passes = (*before, self._pass)
            yield
        finally:
            self.close = outer
            _thread.passes = before


def _reached(roots: list[Any]) -> set[Any]:
    found: set[Any] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node is not None and node not in found:
            found.add(node)
            stack.extend(node.edges())
    return found


class _MultiHandle(Handle):
    """What registering returns: ``remove()`` takes the hook out again, as a block's end does."""

    def __init__(self, handles: tuple[Any, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Remove the hook from all tensors."""
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: str = "all",
) -> _MultiHandle:
    """Call *fn* in each backward pass when the gradients of several tensors are known.

    With *mode* "all": ``fn(gradients)``, when the last has come that comes in this pass, with None
    for tensors that the pass does not reach. With "any": ``fn(gradient)``, with the first. Returns
    a handle, whose ``remove`` takes the hook out. ValueError for another mode; AssertionError where
    a tensor requires no gradients.

    >>> import tensorbus as torch
    >>> x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    >>> handle = torch.autograd.graph.register_multi_grad_hook([x, y], print)
    >>> (2 * x + 3 * y).backward()
    [tensor([2.]), tensor([3.])]

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.register_multi_grad_hook
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    given = list(tensors)
    nodes = [edge_of(t) for t in given]
    key = object()
    call: Any = fn

    def hear(i: int, g: Tensor) -> None:
        now = _thread.passes[-1]
        if mode == "any":
            if key not in now.seen:
                now.seen[key] = []
                call(g)
            return
        if key not in now.seen:
            now.seen[key] = [sum(node in now.nodes for node in nodes), [None] * len(nodes)]
        state = now.seen[key]
        state[0] -= state[1][i] is None
        state[1][i] = g
        if not state[0]:
            call(state[1])

    def hook_of(i: int) -> Callable[[Tensor], None]:
        return lambda g: hear(i, g)

    for t in given:
        if not t.requires_grad:
            raise AssertionError("cannot register a hook on a tensor that doesn't require gradient")
    REGISTERED.any = True
    return _MultiHandle(tuple(t.register_hook(hook_of(i)) for i, t in enumerate(given)))


show_in("tensorbus.autograd.graph", [("register_multi_grad_hook", register_multi_grad_hook)])

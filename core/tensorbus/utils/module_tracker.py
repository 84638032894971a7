"""Which modules run: their names while forward or backward passes are inside them.

>>> import tensorbus as torch
>>> from tensorbus.utils.module_tracker import ModuleTracker
>>> net = torch.nn.Sequential(torch.nn.Linear(2, 2))
>>> handle = net[0].register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
>>> with ModuleTracker() as tracker:
...     y = net(torch.ones(1, 2))
['Global', 'Sequential', 'Sequential.0']
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from tensorbus._base.leaving import Leaving
from tensorbus._base.weak import WeakKeys
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.engine import NUMBERED, PASSES
from tensorbus.autograd.multi_grad_hook import register_multi_grad_hook
from tensorbus.nn.modules._hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from tensorbus.nn.modules.module import Module
from tensorbus.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

NUMBERED.on = True  # so that ``is_bw`` knows


class ModuleTracker(Leaving):
    """A context that knows which modules are running, forward or backward.

    ``parents`` is the set of their names, which begin with the class of the outermost module, and
    "Global", which is always there; ``is_bw`` says whether a backward pass runs. A module whose
    inputs require no gradients counts as running until the end of the backward pass.

    Source: https://pytorch.org/docs/stable/module_tracker.html
    """

    def __init__(self) -> None:
        self._names: WeakKeys[Module, str] = WeakKeys()
        self._hooks: list[Any] = []
        self._outside = {"Global"}
        self._pass, self._inside = 0, {"Global"}

    @property
    def parents(self) -> set[str]:
        """The names of the modules that are running, and "Global"."""
        now = PASSES.current[0]
        if now != self._pass:
            self._pass, self._inside = now, set(self._outside)
        return self._inside if now else self._outside

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass runs in this thread."""
        return PASSES.current[0] != 0

    def within(self, outer: Callable[[], None]) -> Generator[Any, None, None]:
        try:
            self._hooks += [
                register_module_forward_pre_hook(self._begin),
                register_module_forward_hook(self._end),
            ]
            yield self
        finally:
            self.close = outer
            while self._hooks:
                self._hooks[-1].remove()
                self._hooks.pop()

    def _name(self, module: Module) -> str:
        """A module's name, which it gives its submodules when it is first run."""
        if self._names.get(module) is None:
            todo = [(module, type(module).__name__)]
            while todo:
                known, name = todo.pop()
                if self._names.get(known) is None:
                    self._names[known] = name
                    todo += [(child, f"{name}.{n}") for n, child in known.named_children()]
        name_of: str = self._names.get(module)
        return name_of

    def _begin(self, module: Module, args: Any) -> None:
        name = self._name(module)
        self.parents.add(name)
        self._hear(args, lambda *_: self.parents.discard(name))

    def _end(self, module: Module, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        self._hear(output, lambda *_: self.parents.add(name))

    def _hear(self, tree: Any, hook: Callable[..., None]) -> None:
        """Call *hook* in backward passes, when the gradients of the tensors in a tree are known."""
        given = [t for t in tree_leaves(tree) if isinstance(t, Tensor) and t.requires_grad]
        if given:
            self._hooks.append(register_multi_grad_hook(given, hook))

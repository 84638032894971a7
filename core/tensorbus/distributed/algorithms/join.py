"""Training on uneven inputs: ranks that have run out of them go along with the others."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import tensorbus
from tensorbus._base.leaving import block
from tensorbus.distributed.collectives import all_reduce
from tensorbus.distributed.lifecycle import group_or_default

_MANY = 1000


class JoinHook:
    """What a rank that has joined does instead of training.

    ``main_hook`` mirrors the collectives of one iteration of the others; ``post_hook`` runs once
    when all have joined.
    """

    def main_hook(self) -> None:
        """Call the collectives that one iteration of the other ranks calls."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """All have joined; *is_last_joiner* says which were the last."""


@dataclass(frozen=True, slots=True)
class JoinConfig:
    """What a ``Join`` gives its joinables while it is entered."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable(ABC):
    """Something whose iterations call collectives and which ``Join`` can keep going.

    The first joinable of a ``Join`` calls ``Join.notify_join_context(self)`` before the collectives
    of each iteration.
    """

    _join_config = JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook of this object; gets the keyword arguments of ``Join``."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of the tensors that ranks send each other."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The group whose ranks join."""


class Join:
    """Ranks with fewer inputs go along until the last one is through: a context manager.

    *joinables* are ``DistributedDataParallel`` modules, sharded optimizers or objects of the
    user's own, all of one group. With *throw_on_early_termination* all ranks raise RuntimeError as
    soon as one has no more inputs. Keyword arguments go to every ``join_hook``.

    >>> import tensorbus.distributed as dist
    >>> from tensorbus.distributed.algorithms import Join, Joinable, JoinHook
    >>> class Counter(Joinable):
    ...     join_device = tensorbus.device("cpu")
    ...     join_process_group = None
    ...     total = 0.0
    ...     def add(self, x):
    ...         Join.notify_join_context(self)
    ...         both = tensorbus.tensor([x])
    ...         dist.all_reduce(both)
    ...         self.total += both.item()
    ...     def join_hook(self, **kwargs):
    ...         hook = JoinHook()
    ...         hook.main_hook = lambda: dist.all_reduce(tensorbus.zeros(1))
    ...         return hook
    >>> def rank():
    ...     counter = Counter()
    ...     with Join([counter]):
    ...         for i in range(1 + dist.get_rank()):
    ...             counter.add(1.0)
    ...     return counter.total
    >>> dist.local.run(rank, 2)
    [2.0, 3.0]
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ):
        self._joinables = list(joinables)
        if not self._joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._enable, self._throw = enable, throw_on_early_termination
        self._hooks = [j.join_hook(**kwargs) for j in self._joinables]
        groups = {group_or_default(j.join_process_group) for j in self._joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group = groups.pop()
        self._device = self._joinables[0].join_device

    def __enter__(self) -> None:
        self._inside = _configured(self._joinables, self._enable, self._throw)
        try:
            self._inside.__enter__()
        except BaseException:
            self._inside.__exit__(None, None, None)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # In Python, for it must know how the block ended. Where an interrupt comes before its first
        # line, the joinables are set back when this object is freed, and ``_inside`` with it.
        try:
            if self._enable and kind is None:
                self._go_along()
        finally:
            self._inside.__exit__(None, None, None)

    def _go_along(self) -> None:
        last, rounds = True, 0
        while self._active_ranks():
            if self._throw:
                self._tell_to_end()
            last = False
            rounds += 1
            if rounds == _MANY:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank "
                    f"{self._group.me} has at least {_MANY} fewer inputs than other "
                    "currently-active ranks. This level of skew could lead to performance "
                    "degradation during training.",
                    stacklevel=3,
                )
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)

    def _active_ranks(self) -> int:
        """How many ranks have not joined: each adds one in ``notify_join_context``."""
        count = tensorbus.zeros(1, device=self._device)
        all_reduce(count, group=self._group)
        return int(count.item())

    def _tell_to_end(self) -> None:
        all_reduce(tensorbus.ones(1, device=self._device), group=self._group)
        raise _early_end()

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Inform the ranks that have joined that an iteration begins here.

        Returns the ``Work`` of a reduction whose result is how many ranks take part, or None
        outside a ``Join`` and for all but its first joinable.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        device, group = joinable.join_device, group_or_default(joinable.join_process_group)
        work = all_reduce(tensorbus.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = tensorbus.zeros(1, device=device)
            all_reduce(ended, group=group)
            if ended.item():
                raise _early_end()
        return work


@block
def _configured(
    joinables: Sequence[Joinable], enable: bool, throw: bool
) -> Generator[None, None, None]:
    try:
        for i, joinable in enumerate(joinables):
            joinable._join_config = JoinConfig(enable, throw, i == 0)
        yield
    finally:
        try:
            _forget(joinables)
        except BaseException:
            _forget(joinables)
            raise


def _forget(joinables: Sequence[Joinable]) -> None:
    for joinable in joinables:
        joinable._join_config = JoinConfig()


def _early_end() -> RuntimeError:
    return RuntimeError(
        "Detected at least one rank that exhausted inputs. Throwing across all ranks."
    )

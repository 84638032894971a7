"""``LRScheduler``, the base class of schedules."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.optim.optimizer import Optimizer

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available."
)


def values_of(optimizer: Optimizer, key: str) -> list[Any]:
    """One option of all groups; tensors are copied, so that a later step does not change them."""
    values = [group[key] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option of a group; a tensor stays the same object and takes the value."""
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def one_per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for each group, given as one for all or as a list.

    Raises:
        ValueError: the list has another length than the groups.
    """
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {count}."
        )
    return list(value)


_NOTED = "_wrapped_by_lr_sched"
"""The attribute of a ``step`` that notes its calls. Programs ask for it."""


def _note_steps(optimizer: Optimizer) -> None:
    """Let the optimizer's ``step``, as it is now, note that it was called."""
    if hasattr(optimizer.step, _NOTED):
        return
    step, here = optimizer.step.__func__, weakref.ref(optimizer)  # type: ignore[attr-defined]

    @functools.wraps(step)
    def noting(*args: Any, **kwargs: Any) -> Any:
        own = here()
        assert own is not None
        own._opt_called = True
        return step(own, *args, **kwargs)

    setattr(noting, _NOTED, True)
    optimizer.step = noting  # type: ignore[method-assign]


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for anything but an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


class LRScheduler:
    """Base class of schedules: sets the learning rate of each group, step by step.

    A subclass defines ``get_lr``, which computes the next rates from the current ones (so that
    schedules can be chained), and may define ``_get_closed_form_lr``, which computes them from the
    number of steps alone.

    Args:
        optimizer: whose groups are changed.
        last_epoch: the number of the last step when resuming; -1 to begin.
    """

    _get_lr_called_within_step = False
    _is_initial = False
    optimizer: Optimizer
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, values_of(optimizer, "lr"), strict=True):
                group.setdefault("initial_lr", rate)
        for index, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{index}] when resuming "
                    "scheduler with last_epoch >= 0: load the optimizer's state first, or start "
                    "with last_epoch=-1"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step; call it after ``optimizer.step()``."""
        if self._step_count == 1 and not hasattr(self.optimizer.step, _NOTED):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        elif self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                "will result in PyTorch skipping the first value of the learning rate schedule. "
                "See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed_form: Callable[[], list[Any]] | None = getattr(self, "_get_closed_form_lr", None)
        self._set_rates(
            self._computed(self.get_lr if epoch is None or closed_form is None else closed_form)
        )

    def _set_rates(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    def _computed(self, rates: Callable[[], list[Any]]) -> list[Any]:
        self._get_lr_called_within_step = True
        try:
            return rates()
        finally:
            self._get_lr_called_within_step = False

    def get_lr(self) -> list[Any]:
        """Compute the rates of the step ``last_epoch``; for use inside ``step``."""
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """Return the rates that the last ``step`` set, one for each group."""
        return self._last_lr

    def _warn_unless_stepping(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, "
                "please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _current(self) -> list[Any]:
        return values_of(self.optimizer, "lr")

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self.__dict__.update(state_dict)


class _LRScheduler(LRScheduler):
    """The older name of ``LRScheduler``, for the schedules of programs that derive from it."""


def state_of_functions(functions: Sequence[Any]) -> list[dict[str, Any] | None]:
    """What can be saved of callables: the attributes of objects, nothing of plain functions."""
    return [
        None if isinstance(function, types.FunctionType) else function.__dict__.copy()
        for function in functions
    ]

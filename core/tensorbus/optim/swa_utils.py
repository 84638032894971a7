"""Averages of a model's weights over its training: stochastic and exponential averages."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import tensorbus
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.batchnorm import _BatchNorm
from tensorbus.nn.modules.module import Module
from tensorbus.optim.lr_scheduler.base import LRScheduler, one_per_group
from tensorbus.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

AverageOfOne = Callable[[Tensor, Tensor, Tensor | int], Tensor]
AverageOfMany = Callable[[Sequence[Tensor], Sequence[Tensor], Tensor | int], None]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageOfMany:
    """A function for ``AveragedModel`` that averages exponentially: *decay* of the old remains.

    It gets the averages, which it updates in place, the parameters, and the count. ValueError for
    a decay outside of [0, 1].

    >>> import tensorbus as torch
    >>> averages = [torch.zeros(2)]
    >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(averages, [torch.ones(2)], 0)
    >>> averages
    [tensor([0.2500, 0.2500])]

    Source: https://pytorch.org/docs/stable/optim.html
    """
    _check_decay(decay)

    @tensorbus.no_grad()
    def ema_update(
        ema_param_list: Sequence[Tensor],
        current_param_list: Sequence[Tensor],
        num_averaged: Tensor | int,
    ) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if average.is_floating_point() or average.is_complex():
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> AverageOfMany:
    """A function for ``AveragedModel`` that averages all with one weight, many at once.

    >>> import tensorbus as torch
    >>> averages = [torch.zeros(2)]
    >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(averages, [torch.ones(2)], 3)
    >>> averages
    [tensor([0.2500, 0.2500])]

    Source: https://pytorch.org/docs/stable/optim.html
    """

    @tensorbus.no_grad()
    def swa_update(
        averaged_param_list: Sequence[Tensor],
        current_param_list: Sequence[Tensor],
        num_averaged: Tensor | int,
    ) -> None:
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            average.add_((current - average) / (num_averaged + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> AverageOfOne:
    """As ``get_ema_multi_avg_fn``, of one parameter, whose new average is returned.

    >>> import tensorbus as torch
    >>> torch.optim.swa_utils.get_ema_avg_fn(0.75)(torch.zeros(2), torch.ones(2), 0)
    tensor([0.2500, 0.2500])

    Source: https://pytorch.org/docs/stable/optim.html
    """
    _check_decay(decay)

    @tensorbus.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Tensor | int) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> AverageOfOne:
    """As ``get_swa_multi_avg_fn``, of one parameter, whose new average is returned.

    >>> import tensorbus as torch
    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.zeros(2), torch.ones(2), 3)
    tensor([0.2500, 0.2500])

    Source: https://pytorch.org/docs/stable/optim.html
    """

    @tensorbus.no_grad()
    def swa_update(
        averaged_param: Tensor, current_param: Tensor, num_averaged: Tensor | int
    ) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    Call ``update_parameters(model)`` after steps of the optimizer. Where the model has batch norms,
    ``update_bn`` gives the copy their statistics.

    Args:
        model: what is copied.
        device: where the copy lies; by default where the model does.
        avg_fn: gives the new average of a parameter from the old one, the parameter and the count;
            by default all counts weigh alike.
        multi_avg_fn: updates all averages of a device and dtype in place; instead of *avg_fn*.
        use_buffers: whether buffers are averaged too; else they are copied.

    >>> import tensorbus as torch
    >>> model = torch.nn.Linear(1, 1, bias=False)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 2.0, 6.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged(torch.ones(1)).detach(), averaged.n_averaged
    (tensor([3.]), tensor(3))

    Source: https://pytorch.org/docs/stable/optim.html
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOfOne | None = None,
        multi_avg_fn: AverageOfMany | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        count = tensorbus.tensor(0, dtype=tensorbus.long, device=device)
        self.register_buffer("n_averaged", count)
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the copy."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Let the parameters of *model* enter the averages; the first time they are copied."""
        pairs = [
            (average.detach(), current.detach().to(average.device))
            for average, current in zip(
                self._members(self.module), self._members(model), strict=False
            )
        ]
        if self.n_averaged == 0:
            for average, current in pairs:
                average.copy_(current)
        elif self.multi_avg_fn is not None:
            self._update_many(pairs, self.multi_avg_fn)
        else:
            update = self.avg_fn or get_swa_avg_fn()
            for average, current in pairs:
                count = self.n_averaged.to(average.device)
                average.copy_(update(average, current, count))
        if not self.use_buffers:
            for own, given in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(given.detach().to(own.device))
        self.n_averaged += 1

    def _members(self, module: Module) -> Iterable[Tensor]:
        if self.use_buffers:
            return chain(module.parameters(), module.buffers())
        return module.parameters()

    def _update_many(self, pairs: list[tuple[Tensor, Tensor]], update: AverageOfMany) -> None:
        groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
        for pair in pairs:
            groups.setdefault((pair[0].device, pair[0].dtype), []).append(pair)
        for (device, _), group in groups.items():
            averages, currents = zip(*group, strict=True)
            update(list(averages), list(currents), self.n_averaged.to(device))


@tensorbus.no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the statistics of a model's batch norms anew, by one pass over data.

    Args:
        loader: gives batches, or sequences of which a batch is the first.
        model: is run in training mode, and has its mode back at the end.
        device: where batches are sent before; nowhere by default.

    >>> import tensorbus as torch
    >>> net = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], net)
    >>> net.running_mean
    tensor([2.])

    Source: https://pytorch.org/docs/stable/optim.html
    """
    norms: list[Any] = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # all batches weigh alike
        model.train()
        for batch in loader:
            given = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(given if device is None else given.to(device))
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """The rate goes to a fixed one in some steps, and stays there.

    Args:
        optimizer: whose groups are changed.
        swa_lr: the rate at the end, one for all groups or one for each.
        anneal_epochs: in how many steps it is reached.
        anneal_strategy: 'cos' or 'linear'.
        last_epoch: the number of the last step when resuming; -1 to begin.

    ValueError for another strategy and for a negative number of steps.

    >>> import tensorbus as torch
    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    >>> schedule = torch.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     schedule.step()
    ...     print(schedule.get_last_lr())
    [0.75]
    [0.5]
    [0.5]

    Source: https://pytorch.org/docs/stable/optim.html
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(
            optimizer.param_groups, one_per_group("swa_lr", optimizer, swa_lr), strict=True
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the final rate there is after so many steps."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        """Compute the rates of the next step from the current ones."""
        self._warn_unless_stepping()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            last = group["swa_lr"]
            first = last if before == 1 else (group["lr"] - before * last) / (1 - before)
            rates.append(last * now + first * (1 - now))
        return rates


_show_pages(__name__, [(name, globals()[name]) for name in __all__])

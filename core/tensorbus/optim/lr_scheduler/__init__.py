"""Schedules of learning rates.

Example:
    >>> optimizer = optim.SGD([nn.Parameter(tensorbus.zeros(2))], lr=1.0)
    >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.5)
    >>> for epoch in range(90):
    ...     optimizer.step()  # for every batch of the epoch
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.125]
"""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.public_place import show_in as _show_in
from tensorbus.optim.lr_scheduler.base import LRScheduler
from tensorbus.optim.lr_scheduler.base import _LRScheduler as _LRScheduler
from tensorbus.optim.lr_scheduler.chainable import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from tensorbus.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from tensorbus.optim.lr_scheduler.cyclic import (
    CosineAnnealingWarmRestarts,
    CyclicLR,
    OneCycleLR,
)
from tensorbus.optim.lr_scheduler.plateau import ReduceLROnPlateau

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

_show_in(__name__, [(name, globals()[name]) for name in [*__all__, "_LRScheduler"]])

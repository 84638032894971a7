"""Optimizers, and schedules of their learning rates in `optim.lr_scheduler`."""

from . import lr_scheduler
from .adam import Adam, AdamW
from .adam_variants import NAdam, RAdam
from .adaptive import Adadelta, Adagrad, Adamax, RMSprop
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .sgd import SGD
from .sign_and_average import ASGD, Rprop

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]

"""Optimizers, and schedules of their learning rates in `optim.lr_scheduler`."""

from tensorbus.optim import lr_scheduler
from tensorbus.optim.adam import Adam, AdamW
from tensorbus.optim.adam_variants import NAdam, RAdam
from tensorbus.optim.adaptive import Adadelta, Adagrad, Adamax, RMSprop
from tensorbus.optim.lbfgs import LBFGS
from tensorbus.optim.optimizer import Optimizer
from tensorbus.optim.sgd import SGD
from tensorbus.optim.sign_and_average import ASGD, Rprop

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

"""Optimizers, and schedules of their learning rates in ``optim.lr_scheduler``."""

from typing import TYPE_CHECKING

from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.absent import listing as _listing
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.optim import lr_scheduler
from tensorbus.optim._adafactor import Adafactor
from tensorbus.optim._muon import Muon
from tensorbus.optim.adadelta import Adadelta
from tensorbus.optim.adagrad import Adagrad
from tensorbus.optim.adam import Adam
from tensorbus.optim.adamax import Adamax
from tensorbus.optim.adamw import AdamW
from tensorbus.optim.asgd import ASGD
from tensorbus.optim.lbfgs import LBFGS
from tensorbus.optim.nadam import NAdam
from tensorbus.optim.on_models import install as _install
from tensorbus.optim.optimizer import Optimizer
from tensorbus.optim.radam import RAdam
from tensorbus.optim.rmsprop import RMSprop
from tensorbus.optim.rprop import Rprop
from tensorbus.optim.sgd import SGD
from tensorbus.optim.sparse_adam import SparseAdam
from tensorbus.optim.swapping import swap_in_optimizer_params_and_state

_install(__name__)

if not TYPE_CHECKING:
    __getattr__ = _attributes(__name__)
    __dir__ = _listing(__name__)

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swap_in_optimizer_params_and_state",
]

_show_pages(__name__, [(n, globals().get(n)) for n in __all__])

"""Optimisers built on models, as programs of 2016 have them: ``optim.sgd(model, lr=1e-3)``.

The modules of the classes are called. With a pair of a model and a criterion, ``step`` takes a
pair of inputs and targets, computes the gradients itself and returns the loss.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tensorbus._base.warning import warn_user

CLASSES = {
    "adadelta": "Adadelta", "adagrad": "Adagrad", "adam": "Adam", "adamax": "Adamax",
    "asgd": "ASGD", "lbfgs": "LBFGS", "rmsprop": "RMSprop", "rprop": "Rprop", "sgd": "SGD",
}  # fmt: skip
"""Of each module that is called the class."""


class OptimizerModule(ModuleType):
    """A module of ``optim`` that makes an optimiser when it is called."""

    def __call__(self, model: Any, **options: Any) -> Any:
        name = self.__name__.rpartition(".")[2]
        cls = vars(self)[CLASSES[name]]
        warn_user(
            f"torch.optim.{name}(model, ...) is deprecated: use "
            f"torch.optim.{cls.__name__}(model.parameters(), ...)",
            FutureWarning,
        )
        if not isinstance(model, tuple | list):
            return cls(model.parameters(), **options)
        net, criterion = model

        def step(self: Any, given: Any = None) -> Any:
            """A step of ``(input, target)``, which gives the loss; else the class's own step."""
            if not isinstance(given, tuple | list):
                return cls.step(self, given)
            input, target = given

            def closure() -> Any:
                self.zero_grad()
                loss = criterion(net(input), target)
                loss.backward()
                return loss

            return cls.step(self, closure)

        made = type(cls.__name__, (cls,), {"step": step, "__module__": cls.__module__})
        return made(net.parameters(), **options)


def install(package: str) -> None:
    """Make the modules of a package callable."""
    for name in CLASSES:
        sys.modules[f"{package}.{name}"].__class__ = OptimizerModule

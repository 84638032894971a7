"""``torch.legacy.optim``: functions that step along one vector of parameters.

``sgd(opfunc, x, config, state)`` asks ``opfunc(x)`` for the loss and its gradient, and writes to
*x*; *config* has Lua's names (``learningRate``, ``momentum``...), and *state* what is kept between
calls: *config* itself where none is given. The result is *x*, and a list of the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus import Tensor
from tensorbus import optim as _current
from tensorbus._base.warning import warn_user

__all__ = ["adadelta", "adagrad", "adam", "adamax", "asgd", "rmsprop", "rprop", "sgd"]

Step = Callable[..., tuple[Tensor, list[Any]]]

_SHARED = {"learningRate": "lr", "weightDecay": "weight_decay", "epsilon": "eps"}


def _function(name: str, cls: Any, defaults: dict[str, Any], names: dict[str, str]) -> Step:
    known = {**_SHARED, **names}

    def options(config: dict[str, Any]) -> dict[str, Any]:
        given = {known[key]: value for key, value in config.items() if key in known}
        if "beta1" in config or "beta2" in config:
            given["betas"] = (config.get("beta1", 0.9), config.get("beta2", 0.999))
        return {**defaults, **given}

    def step(
        opfunc: Callable[[Tensor], tuple[Any, Tensor]],
        x: Tensor,
        config: dict[str, Any],
        state: dict[str, Any] | None = None,
    ) -> tuple[Tensor, list[Any]]:
        warn_user(f"torch.legacy.optim.{name} is of PyTorch 0.1: use torch.optim", FutureWarning)
        kept = config if state is None else state
        loss, gradient = opfunc(x)
        if "optimizer" not in kept:
            kept["optimizer"] = cls([x.detach().requires_grad_()], **options(config))
        optimizer = kept["optimizer"]
        group = optimizer.param_groups[0]
        group.update({k: v for k, v in options(config).items() if k in group})
        if "learningRateDecay" in config:
            count = kept.get("evalCounter", 0)
            group["lr"] = group["lr"] / (1 + count * config["learningRateDecay"])
            kept["evalCounter"] = count + 1
        group["params"][0].grad = gradient.clone()
        optimizer.step()
        return x, [loss]

    step.__name__ = step.__qualname__ = name
    step.__doc__ = f"A step of ``torch.optim.{cls.__name__}`` along *x*."
    return step


_MOMENTUM = {"momentum": "momentum", "dampening": "dampening", "nesterov": "nesterov"}
sgd = _function("sgd", _current.SGD, {"lr": 1e-3}, _MOMENTUM)
adam = _function("adam", _current.Adam, {"lr": 1e-3}, {})
adamax = _function("adamax", _current.Adamax, {"lr": 2e-3}, {})
adagrad = _function("adagrad", _current.Adagrad, {"lr": 1e-3}, {})
adadelta = _function("adadelta", _current.Adadelta, {"lr": 1.0}, {"rho": "rho"})
rmsprop = _function("rmsprop", _current.RMSprop, {"lr": 1e-2}, {"alpha": "alpha"})
rprop = _function("rprop", _current.Rprop, {"lr": 0.1}, {})
asgd = _function("asgd", _current.ASGD, {"lr": 1e-4}, {"eta0": "lr", "lambda": "lambd", "t0": "t0"})

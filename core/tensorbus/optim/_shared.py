"""Checks of options, and the count of steps: what most optimizers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorbus
from tensorbus._tensor.tensor import Tensor


def check_not_negative(what: str, value: Any) -> None:
    """Raise ValueError if an option is below zero, or nan."""
    if not value >= 0.0:
        raise ValueError(f"Invalid {what} value: {value}")


def check_lr(lr: Any) -> None:
    """Raise ValueError unless *lr* is a number, or a tensor of one, that is not negative."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")


def check_betas(betas: tuple[float, float]) -> None:
    """Raise ValueError unless there are two, and both lie in [0, 1)."""
    if len(betas) != 2:
        raise ValueError(f"betas must be two numbers, but got {betas}")
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def new_step() -> Tensor:
    """A count of steps that starts at zero. It stays on the host, where it is read."""
    wide = tensorbus.get_default_dtype() == tensorbus.float64
    dtype = tensorbus.float64 if wide else tensorbus.float32
    return tensorbus.tensor(0.0, dtype=dtype, device="cpu")


def new_coefficient(param: Tensor, value: float) -> Tensor:
    """A number of a parameter's state, kept on the host; as precise as the parameter is."""
    dtype = tensorbus.float64 if param.dtype is tensorbus.float64 else new_step().dtype
    return tensorbus.tensor(value, dtype=dtype, device="cpu")


def count_step(state: dict[str, Any]) -> float:
    """Count a step of one parameter and return how many there were."""
    step = state["step"]
    if not isinstance(step, Tensor):
        # Older checkpoints hold plain numbers.
        step = state["step"] = new_step().fill_(step)
    step.add_(1)
    return step.item()


def in_lists(
    members: Iterable[tuple[Any, tuple[Tensor | None, ...]]],
) -> Iterator[tuple[Any, list[list[Tensor]]]]:
    """The operands of many parameters as lists, one set of them for each key.

    *members* are pairs of a key, the numbers that a parameter's step hangs on, and of its operands;
    a list stays empty where these are None.
    """
    found: dict[Any, list[list[Tensor]]] = {}
    for key, operands in members:
        lists = found.get(key)
        if lists is None:
            lists = found[key] = [[] for _ in operands]
        for each, t in zip(lists, operands, strict=True):
            if t is not None:
                each.append(t)
    return iter(found.items())


def downwards(F: Any, p: Any, g: Any, decay: Any, decays: bool, maximize: bool) -> Any:
    """The direction to go against: the gradient, its negative under *maximize*, plus decay p."""
    if maximize:
        g = F.neg(g)
    return F.add(g, F.mul(p, decay)) if decays else g


def with_values(grad: Tensor, values: Tensor) -> Tensor:
    """A sparse gradient with other values, each at the same place."""
    return tensorbus.sparse_coo_tensor(
        grad.indices(), values, tuple(grad.shape), is_coalesced=True, check_invariants=False
    )


def no_sparse_gradients(name: str) -> RuntimeError:
    """The error of an optimizer that takes dense gradients alone."""
    advice = ""
    if name in ("Adam", "AdamW"):
        name, advice = "Adam", ", please consider SparseAdam instead"
    return RuntimeError(f"{name} does not support sparse gradients{advice}")

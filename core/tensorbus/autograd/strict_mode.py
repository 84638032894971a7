"""What ``autograd.functional`` asks of its arguments, and what it refuses in strict mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.ops.creation.factories import zeros_like

Tensors = Tensor | tuple[Tensor, ...]
STRICT = "This is not allowed in strict mode"


def tuple_of(given: Any, what: str, function: str) -> tuple[bool, tuple[Tensor, ...]]:
    several = isinstance(given, tuple)
    found = given if several else (given,)
    for i, t in enumerate(found):
        if not isinstance(t, Tensor):
            where = f"value at index {i}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {function} must be either a Tensor or a tuple of Tensors "
                f"but the {where} has type {type(t)}."
            )
    return several, found


def vector(
    v: Tensors, like: tuple[Tensor, ...], several: bool, function: str, create_graph: bool
) -> tuple[Tensor, ...]:
    found = own(tuple_of(v, "v", function)[1], create_graph, False)
    if len(found) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}."
            if several
            else "The given v should contain a single Tensor."
        )
    for i, (mine, other) in enumerate(zip(found, like, strict=True)):
        if mine.shape != other.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {other.shape} but got {mine.shape}."
            )
    return found


def own(tensors: tuple[Tensor, ...], create_graph: bool, records: bool) -> tuple[Tensor, ...]:
    return tuple(
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(records)
        for t in tensors
    )


def single(outputs: tuple[Tensor, ...], several: bool, function: str) -> Tensor:
    if several:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            "element"
        )
    return outputs[0]


def check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'Expected strategy to be either "forward-mode" or "reverse-mode", not {strategy!r}: '
            "the first suits functions with more outputs than inputs."
        )
    forward = strategy == "forward-mode"
    if forward and create_graph:
        raise NotImplementedError(
            'jacobian: create_graph=True and strategy="forward-mode" are not supported together; '
            'set create_graph=False or strategy="reverse-mode".'
        )
    if forward and strict:
        raise RuntimeError(
            'jacobian: strict=True and strategy="forward-mode" are not supported together; set '
            "strict=False."
        )
    if forward and not vectorize:
        raise NotImplementedError(
            'jacobian: strategy="forward-mode" is only implemented for vectorize=True.'
        )


def require(
    tensors: Sequence[Tensor | None],
    strict: bool,
    absent: Callable[[int], str] | None,
    constant: Callable[[int], str],
) -> None:
    """In strict mode: all are there and record."""
    for i, t in enumerate(tensors if strict else ()):
        if t is None and absent is not None:
            raise RuntimeError(absent(i))
        if t is not None and not t.requires_grad:
            raise RuntimeError(constant(i))


def filled(
    found: Sequence[Tensor | None],
    like: Sequence[Tensor],
    records: bool,
    strict: bool,
    absent: Callable[[int], str],
) -> tuple[Tensor, ...]:
    """Zeros in the place of None; in strict mode an error, also for what *records* not."""
    for i, t in enumerate(found):
        if t is None and strict:
            raise RuntimeError(absent(i))
        if t is not None and records and not t.requires_grad:
            raise RuntimeError(f"{constant_gradient(i)[:-1]} when create_graph=True.")
    return tuple(
        zeros_like(other) if t is None else t for t, other in zip(found, like, strict=True)
    )


def constant_output(i: int) -> str:
    return (
        f"Output {i} of the user-provided function does not require gradients. The outputs must "
        "be computed in a differentiable manner from the input when running in strict mode."
    )


def no_gradient(i: int) -> str:
    return f"The output of the user-provided function is independent of input {i}. {STRICT}."


def constant_gradient(i: int) -> str:
    return (
        f"The gradient with respect to input {i} is independent of the inputs of the "
        f"user-provided function. {STRICT}."
    )


def constant_slope(i: int) -> str:
    return (
        "While computing the hessian, found that the jacobian of the user-provided function with "
        f"respect to input {i} is independent of the input. {STRICT}: the function must be twice "
        "differentiable and its jacobian depend on the inputs."
    )


def no_curvature(i: int) -> str:
    return f"The jacobian of the user-provided function is independent of input {i}. {STRICT}."


def no_tangent(i: int) -> str:
    return (
        f"The gradient with respect to the inputs is independent of entry {i} of the vector that "
        f"two backward passes differentiate by. {STRICT}."
    )

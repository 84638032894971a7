"""A ``Function`` whose arguments have tangents: those of its results come from its ``jvp``."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.function import FunctionCtx


def apply_with_tangents(
    cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tangents: dict[int, Tensor]
) -> tuple[Any, list[tuple[Tensor, Tensor]]]:
    """What ``apply`` gives, and the tangent of each result that has one."""
    ctx = FunctionCtx()
    made = cls._applied(ctx, args, kwargs)
    if ctx.saved_for_forward is None:
        ctx.saved_for_forward = ctx.to_save or None
    try:
        along = cls.jvp(ctx, *[_given(ctx, x, tangents) for x in args])
    finally:
        ctx.saved_for_forward = None
    results = made if isinstance(made, tuple) else (made,)
    found = along if isinstance(along, tuple) else (along,)
    if len(found) != len(results):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(results)} but got {len(found)})"
        )
    pairs = []
    for i, (t, tangent) in enumerate(zip(results, found, strict=True)):
        if tangent is None or not isinstance(t, Tensor):
            continue
        if not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"Function's jvp returned a {type(tangent).__name__} as forward gradient {i}: give "
                "a tensor, or None where there is none"
            )
        if tangent._s != t._s:
            raise wrong_size(t, tangent)
        pairs.append((t, tangent))
    return made, pairs


def _given(ctx: FunctionCtx, x: Any, tangents: dict[int, Tensor]) -> Tensor | None:
    """The tangent of an argument as ``jvp`` gets it."""
    if not isinstance(x, Tensor):
        return None
    found = tangents.get(id(x))
    if found is None and ctx.materialize_grads and x._k.differentiable:
        return from_array(x._k.zeros(tuple(x._s)), x._k)
    return found


def wrong_size(t: Tensor, tangent: Tensor) -> RuntimeError:
    """The error for a tangent of another shape than its tensor's."""
    return RuntimeError(
        "Trying to set a forward gradient that has a different size than that of the original "
        f"Tensor, this is not supported. Tensor is of size {list(t._s)} while the given forward "
        f"gradient is of size {list(tangent._s)}."
    )

"""Backward hooks of modules: gates that gradients pass on both sides of ``forward``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorbus
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd import Function

if TYPE_CHECKING:
    from tensorbus.nn.modules.module import Module


class _Gate(Function):
    """Passes tensors on unchanged; in backward, ``run`` sees and may replace their gradients."""

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.run = run
        ctx.mark_non_differentiable(*(t for t in tensors if not t.requires_grad))
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        return (None, *ctx.run(grads))


class BackwardGate:
    """The backward hooks of one call: a gate before ``forward`` and one after it.

    Gradients pass the outer gate first (backward pre-hooks; the output gradients are noted), then
    the inner one, where the backward hooks see both sides.
    """

    def __init__(
        self, module: Module, before: list[tuple[int, Any]], after: list[tuple[int, Any]]
    ) -> None:
        self.module = module
        self.before = [hook for _, hook in before]
        self.after = [hook for _, hook in after]
        self.input_count = 0
        self.inputs_differentiable = False
        self.grad_output: tuple[Any, ...] = ()

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_count = len(args)
        args, self.inputs_differentiable = self._pass(args, self._after_backward)
        return args

    def leave(self, result: Any) -> Any:
        if not isinstance(result, Tensor | tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=5,
            )
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        outputs, _ = self._pass(outputs, self._before_backward)
        return outputs if isinstance(result, tuple) else outputs[0]

    @staticmethod
    def _pass(values: tuple[Any, ...], run: Callable[..., Any]) -> tuple[tuple[Any, ...], bool]:
        indices = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        wanted = {i for i in indices if values[i].requires_grad}
        if not wanted or not tensorbus.is_grad_enabled():
            return values, False

        count = len(values)

        def run_on_all(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            row: list[Any] = [None] * count
            for i, grad in zip(indices, grads, strict=True):
                row[i] = grad if i in wanted else None
            changed = run(tuple(row))
            return tuple(changed[i] for i in indices)

        mixed = list(values)
        passed = _Gate.apply(run_on_all, *(values[i] for i in indices))
        for i, tensor in zip(indices, passed, strict=True):
            mixed[i] = tensor
        is_named = hasattr(values, "_fields")
        return (type(values)(*mixed) if is_named else tuple(mixed)), True

    def _before_backward(self, grad_output: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.before:
            changed = hook(self.module, grad_output)
            if changed is not None:
                grad_output = _same_length(changed, grad_output, "Backward pre hook", "grad_output")
        self.grad_output = grad_output
        if self.after and not self.inputs_differentiable:
            self._without_grad_input()
        return grad_output

    def _without_grad_input(self) -> None:
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. The hook gets None for each input.",
            stacklevel=5,
        )
        for hook in self.after:
            changed = hook(self.module, (None,) * self.input_count, self.grad_output)
            if changed is not None and not (
                isinstance(changed, tuple) and all(grad is None for grad in changed)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _after_backward(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.after:
            changed = hook(self.module, grad_input, self.grad_output)
            if changed is not None:
                grad_input = _same_length(changed, grad_input, "Backward hook", "grad_input")
        return grad_input


def _same_length(changed: Any, grads: tuple[Any, ...], what: str, which: str) -> tuple[Any, ...]:
    if isinstance(changed, Tensor):
        changed = tuple(changed)  # counted as PyTorch counts it: by its first dimension
    elif not isinstance(changed, tuple):
        changed = (changed,)
    for grad in changed:
        if grad is not None and not isinstance(grad, Tensor):
            raise TypeError(
                f"expected Tensor or None, but {what.lower()} returned {type(grad).__name__!r}"
            )
    if len(changed) != len(grads):
        raise RuntimeError(
            f"{what} returned an invalid number of {which}, "
            f"got {len(changed)}, but expected {len(grads)}"
        )
    return changed

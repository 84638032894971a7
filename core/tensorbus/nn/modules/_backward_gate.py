"""Backward hooks of modules: gates that gradients pass on both sides of ``forward``."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorbus
from tensorbus._base.warning import warn_user
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

    def __init__(self, module: Module, before: list[Any], after: list[Any]) -> None:
        self.module = module
        self.before = before
        self.after = after
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


def watch_last_node(
    module: Module, args: tuple[Any, ...], result: Any, hooks: list[Callable[..., Any]]
) -> None:
    """Call backward hooks of the older sort with the gradients of the node that made the output."""
    first = result
    while not isinstance(first, Tensor):
        members = first.values() if isinstance(first, dict) else first
        first = next(v for v in members if isinstance(v, Tensor) or not isinstance(first, dict))
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.partial(hook, module))
    missing = _missing_gradients(args, result, node)
    if missing:
        warn_user(missing, FutureWarning)


def _missing_gradients(args: tuple[Any, ...], result: Any, node: Any) -> str:
    """The gradients that a hook of a node does not see, in words; empty if it sees all."""
    outputs = (result,) if isinstance(result, Tensor) else result
    past = "is deprecated and will be removed in future versions. This hook will be missing some"
    instead = "Please use register_full_backward_hook to get the documented behavior."
    for values, does, which in (
        (outputs, "return", "grad_output"),
        (args, "take as input", "grad_input"),
    ):
        if not isinstance(values, tuple) or not all(isinstance(v, Tensor) for v in values):
            return (
                f"Using non-full backward hooks on a Module that does not {does} a single Tensor "
                f"or a tuple of Tensors {past} of the {which}. {instead}"
            )
    if {t.grad_fn for t in outputs if t.grad_fn is not None} != {node}:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes "
            f"{past} grad_output. {instead}"
        )
    if {t.grad_fn for t in args if t.grad_fn is not None} != {n for n, _ in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes "
            f"{past} grad_input. {instead}"
        )
    return ""

"""The recorded graph: its nodes and edges, and hooks for the tensors that it saves."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Self

from tensorbus._base.leaving import Leaving
from tensorbus._base.modes import PackHooks, this_thread
from tensorbus._base.public_place import show_in
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.gradient_edge import GradientEdge, get_gradient_edge
from tensorbus.autograd.hooking import Hooking
from tensorbus.autograd.multi_grad_hook import register_multi_grad_hook
from tensorbus.autograd.node import Node
from tensorbus.autograd.saved_mutation import (
    allow_mutation_on_saved_tensors,
    increment_version,
)


class saved_tensors_hooks(Hooking):
    """Inside, tensors that are saved for the backward pass are packed, and unpacked when wanted.

    ``pack_hook(tensor)`` is called, without recording, for each tensor that a node saves, and what
    it returns is kept instead; ``unpack_hook(packed)`` gives a tensor of the same shape, dtype and
    device when the node runs. Of nested ones only the innermost is called. Writes to what was
    saved are not noticed, since nobody knows what a hook keeps. TypeError where the hooks are not
    functions, or where unpacking gives no tensor; RuntimeError where packing changes the tensor.

    >>> import tensorbus as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])

    Source: https://pytorch.org/docs/stable/autograd.html#saved-tensors-hooks
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def hooks(self) -> PackHooks:
        for name, hook in (("pack_hook", self.pack_hook), ("unpack_hook", self.unpack_hook)):
            if not callable(hook):
                raise TypeError(
                    f"saved_tensors_hooks: {name} must be callable, not {type(hook).__name__}"
                )
        return self.pack_hook, self.unpack_hook


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors that are saved for the backward pass wait on the CPU.

    They come back to their device when the backward pass wants them. *pin_memory* and
    *device_type* are taken as PyTorch takes them, but no memory is pinned.

    >>> import tensorbus as torch
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu(pin_memory=True):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])

    Source: https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph.save_on_cpu
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda t: (t.device, t.cpu()), lambda kept: kept[1].to(kept[0]))


class disable_saved_tensors_hooks(Leaving):
    """Inside, hooks for saved tensors are an error with a text of the user's own.

    RuntimeError with this text as well where hooks are set already. A context manager and a
    decorator.

    >>> import tensorbus as torch
    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not while tracing"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not while tracing

    Source: https://pytorch.org/docs/stable/autograd.html#saved-tensors-hooks
    """

    def __new__(cls, error_message: str) -> Self:
        self = Leaving.__new__(cls)
        self.error_message = error_message
        return self

    error_message: str

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        before = this_thread.hooks_refused
        try:
            if this_thread.hooks:
                raise RuntimeError(self.error_message)
            this_thread.hooks_refused = self.error_message
            yield
        finally:
            self.close = outer
            this_thread.hooks_refused = before

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        import functools

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.error_message):
                return function(*args, **kwargs)

        return call


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether gradients that come on another stream than the leaf's are told; none ever do here.

    The engine runs each pass in order, so the setting changes nothing. RuntimeError for what is no
    bool.

    >>> import tensorbus as torch
    >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Whether passes that a graph of a stream records leave other streams; none is recorded here.

    The setting changes nothing. RuntimeError for what is no bool.

    >>> import tensorbus as torch
    >>> torch.autograd.graph.set_override_stale_capture_stream(False)
    """
    if not isinstance(enabled, bool):
        raise RuntimeError(f"enabled must be a bool, but got {type(enabled).__name__}")


def region_activation_memory_budget(budget: float) -> Any:
    """A context with a limit for what compiled functions save: RuntimeError outside of them.

    TypeError for what is no number, ValueError for one below 0 or above 1. Nothing is compiled
    here, so it is an error always: ``utils.checkpoint`` saves memory.
    """
    name = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(f"{name}: expects a float, got {type(budget).__name__}")
    if not 0 <= budget <= 1:
        raise ValueError(f"{name}: must be in [0, 1], got {budget}")
    raise RuntimeError(
        f"{name} can only be used inside a torch.compile region; it has no effect in eager mode."
    )


__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "region_activation_memory_budget",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]

show_in(__name__, [(n, globals()[n]) for n in __all__])

"""Functions whose intermediate tensors are not kept for the backward pass but computed again.

>>> import tensorbus as torch
>>> from tensorbus.utils.checkpoint import checkpoint
>>> x = torch.tensor([2.0], requires_grad=True)
>>> y = checkpoint(lambda x: (x * x).exp().log(), x, use_reentrant=False)
>>> y.backward()
>>> x.grad
tensor([4.])
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

from tensorbus._base import registered
from tensorbus._base.leaving import Leaving
from tensorbus._base.public_place import show_in
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.api import backward as run_backward
from tensorbus.autograd.engine import PASSES
from tensorbus.autograd.function import Function
from tensorbus.autograd.grad_mode import enable_grad, is_grad_enabled
from tensorbus.autograd.recomputing import CheckpointError, Frame, GraphExecGroup, describe
from tensorbus.autograd.selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from tensorbus.ops.creation.factories import empty
from tensorbus.random import default_generator
from tensorbus.utils.checkpoint_devices import DefaultDeviceType

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_CHECKS = {"default": describe, "none": None}


class _Settings:
    """What the two context managers below set, in all threads."""

    __slots__ = ("debug", "early_stop")

    def __init__(self) -> None:
        self.early_stop = True
        self.debug: bool | None = None


_settings = _Settings()


class _Setting(Leaving):
    name: str
    value: Any

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        before = getattr(_settings, self.name)
        try:
            setattr(_settings, self.name, self.value)
            yield
        finally:
            self.close = outer
            setattr(_settings, self.name, before)


class set_checkpoint_early_stop(_Setting):
    """Inside, whether computing again ends when all saved tensors are there (the default).

    >>> from tensorbus.utils.checkpoint import set_checkpoint_early_stop
    >>> with set_checkpoint_early_stop(False):
    ...     pass  # checkpoint(...)
    """

    name = "early_stop"

    def __new__(cls, enable: bool) -> Self:
        self = Leaving.__new__(cls)
        self.value = bool(enable)
        return self


class set_checkpoint_debug_enabled(_Setting):
    """Inside, whether checkpoints tell the operations of both runs; None leaves it to the call.

    >>> from tensorbus.utils.checkpoint import set_checkpoint_debug_enabled
    >>> with set_checkpoint_debug_enabled(True):
    ...     pass  # checkpoint(...)
    """

    name = "debug"

    def __new__(cls, enabled: bool | None) -> Self:
        self = Leaving.__new__(cls)
        self.value = enabled
        return self


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: the default of ``checkpoint``."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Call *function*, without keeping the tensors that its backward pass needs.

    The backward pass calls the function again to have them. Random numbers are drawn from the same
    state as before, unless ``preserve_rng_state=False``.

    With ``use_reentrant=False``, which is recommended, the function runs again up to the last
    tensor that is needed (*early_stop*), inside the second of the contexts that *context_fn* gives
    (the first is that of the call). *determinism_check* is "default", where shapes, dtypes and
    devices of what is saved must be those from before, or "none"; *debug* tells the operations of
    both runs when they differ. With ``use_reentrant=True``, a backward pass runs within the
    backward pass: this one must be ``backward`` without *inputs*, and some of *args* must require
    gradients.

    CheckpointError where the function saves other tensors than before; ValueError for arguments
    that the variant does not take.

    >>> import tensorbus as torch
    >>> layer = torch.nn.Linear(2, 2)
    >>> y = torch.utils.checkpoint.checkpoint(layer, torch.ones(1, 2), use_reentrant=False)
    >>> y.sum().backward()
    >>> layer.bias.grad
    tensor([1., 1.])

    Source: https://pytorch.org/docs/stable/checkpoint.html
    """
    if use_reentrant is None:
        warn_user(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False is recommended, but if you need to preserve the current default "
            "behavior, you can pass use_reentrant=True."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        _refuse_extra(kwargs)
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in _CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}"
        )
    debug = debug if _settings.debug is None else _settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    saved = _SavedInputs.apply(empty((0,), requires_grad=True), *args).grad_fn
    state = default_generator.get_state() if preserve else None

    def again() -> None:
        with _drawing_from(state), second:
            function(*saved.ctx.arguments(saved.ctx), **kwargs)

    stop = early_stop and _settings.early_stop
    frame = Frame(again, stop, _CHECKS[determinism_check], debug)
    with first:
        return frame.run(lambda: function(*args, **kwargs))


def _refuse_extra(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")


class _drawing_from(Leaving):
    """Inside, random numbers come from a state of the default generator; None: as they come."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def within(self, outer: Callable[[], None]) -> Generator[None, None, None]:
        before = None if self.state is None else default_generator.get_state()
        try:
            if self.state is not None:
                default_generator.set_state(self.state)
            yield
        finally:
            self.close = outer
            if before is not None:
                try:
                    default_generator.set_state(before)
                except BaseException:
                    default_generator.set_state(before)
                    raise


class _Arguments:
    """A call's arguments, of which a context saves the tensors."""

    def __init__(self, ctx: Any, args: tuple[Any, ...]) -> None:
        ctx.save_for_backward(*(x for x in args if isinstance(x, Tensor)))
        self._args = [None if isinstance(x, Tensor) else x for x in args]
        self._tensors = [i for i, x in enumerate(args) if isinstance(x, Tensor)]

    def __call__(self, ctx: Any) -> list[Any]:
        """The arguments; RuntimeError where a tensor was written to."""
        args = list(self._args)
        for i, t in zip(self._tensors, ctx.saved_tensors, strict=True):
            args[i] = t
        return args


class _SavedInputs(Function):
    """A node that saves the arguments and does nothing else: nobody runs it.

    So the checkpoint around this one, if there is one, doesn't keep them either.
    """

    @staticmethod
    def forward(ctx: Any, some: Tensor, *args: Any) -> Tensor:
        ctx.arguments = _Arguments(ctx, args)
        return some.clone()


# -- a backward pass within the backward pass --------------------------------------------------
class CheckpointFunction(Function):
    """What ``checkpoint`` records with ``use_reentrant=True``."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.state = default_generator.get_state() if preserve else None
        ctx.arguments = _Arguments(ctx, args)
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if not PASSES.current[1]:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = detach_variable(tuple(ctx.arguments(ctx)))
        with _drawing_from(ctx.state), enable_grad():
            outputs = ctx.run_function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        wanted = [
            (out, g)
            for out, g in zip(outputs, grads, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not wanted:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        run_backward([out for out, _ in wanted], [g for _, g in wanted])
        return None, None, *(x.grad if isinstance(x, Tensor) else None for x in args)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple without their history, requiring gradients as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where none of the inputs requires gradients."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The random states of the devices of *args*: none, for one stream serves all devices."""
    return [], []


def set_device_states(
    devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None
) -> None:
    """Set what ``get_device_states`` gave; ValueError for more, for devices have no states.

    >>> from tensorbus.utils.checkpoint import get_device_states, set_device_states
    >>> set_device_states(*get_device_states())
    """
    if devices or states:
        raise ValueError(
            "set_device_states: devices have no random states of their own here; set that of all "
            "with torch.set_rng_state"
        )


# -- layers in a row ---------------------------------------------------------------------------
@registered.recomputed.provide
def _recomputed(function: Callable[..., Any], *args: Any) -> Any:
    return checkpoint(function, *args, use_reentrant=False)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Call functions one after another, in *segments* parts, of which all but the last checkpoint.

    *functions* is a ``Sequential`` or a sequence of functions; ``preserve_rng_state`` is as for
    ``checkpoint``. ValueError for other keyword arguments, and for more parts than functions.

    >>> import tensorbus as torch
    >>> from tensorbus.utils.checkpoint import checkpoint_sequential
    >>> x = torch.tensor([0.5], requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.log], 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([1.])

    Source: https://pytorch.org/docs/stable/checkpoint.html
    """
    if use_reentrant is None:
        warn_user(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be "
            "passed explicitly. use_reentrant=False is recommended, but if you need to preserve "
            "the current default behavior, you can pass use_reentrant=True."
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    _refuse_extra(kwargs)
    from tensorbus.nn.modules.container import Sequential

    steps = list(functions.children() if isinstance(functions, Sequential) else functions)
    if not 1 <= segments <= max(len(steps), 1):
        raise ValueError(
            f"checkpoint_sequential: {len(steps)} functions make at most {len(steps)} segments and "
            f"at least one, not {segments}"
        )
    size = len(steps) // segments
    for part in itertools.islice(range(0, len(steps), size), segments - 1):
        input = checkpoint(
            _in_a_row(steps[part : part + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _in_a_row(steps[size * (segments - 1) :])(input)


def _in_a_row(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    return run


__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "GraphExecGroup",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

show_in(__name__, [(n, globals()[n]) for n in __all__])

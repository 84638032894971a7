"""A call of an op: autocast, then autograd, batches, ``__torch_dispatch__``, and a kernel."""

from __future__ import annotations

from typing import Any

from tensorbus._base.modes import RARE, switched, this_thread
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor, bump
from tensorbus.amp.autocast_mode import autocast
from tensorbus.autograd.function import Function
from tensorbus.autograd.grad_mode import is_grad_enabled
from tensorbus.autograd.node import UnrecordedWrite
from tensorbus.library.arguments import Values, check_results, split, tensors_of
from tensorbus.library.batches import batched
from tensorbus.library.operators import (
    AUTOCAST,
    AUTOGRAD,
    COMPOSED,
    DEFAULT,
    META,
    Kernel,
    Operator,
)
from tensorbus.op_engine.autocasting import converted_to, settings
from tensorbus.op_engine.batches import deepest
from tensorbus.op_engine.in_place import abandon
from tensorbus.rows.registry import Row


def call(op: Operator, values: Values) -> Any:
    """Call an op with checked values."""
    if RARE.on:
        for key, kernels in op.registered.kernels.items():
            place = key.removeprefix(AUTOCAST)
            on = kernels and place != key and settings.enabled.get(place)
            if on and any(t._k.device.type == place for t in tensors_of(values)):
                target = kernels[-1].function()
                values = converted_to(target, place, values)
                with autocast(place, enabled=False):
                    return _recorded(op, values)
    return _recorded(op, values)


def _recorded(op: Operator, values: Values) -> Any:
    found = op.registered
    place = place_of(op, values)
    own = found.find(AUTOGRAD + place) or found.find(AUTOGRAD)
    if own is not None:
        args, kwargs = split(op._schema, values)
        return own.function(*args, **kwargs)
    composed = found.find(COMPOSED)
    if composed is not None and _kernel(op, place) is composed:
        return run_kernel(op, values)
    made = below_autograd(op, values)
    if is_grad_enabled() and any(t.requires_grad for t in tensors_of(values)):
        return _unregistered(op, values, made)
    return made


def below_autograd(op: Operator, values: Values) -> Any:
    """Call an op without a record of it."""
    device = deepest(tensors_of(values))
    if device is not None:
        return batched(op, values, device, call)
    written = [v for a, v in zip(op._schema.arguments, values, strict=True) if a.is_write]
    for t in tensors_of(written):
        bump(t)
    made = _through_modes(op, values, len(this_thread.handlers)) if RARE.on else run_kernel(
        op, values
    )  # fmt: skip
    if written and is_grad_enabled():
        refuse_history(op, written)
    return made


def refuse_history(op: Operator, written: list[Any]) -> None:
    """No formula says what a write of the op means to gradients: refuse those through it."""
    for t in tensors_of(written):
        if t.requires_grad and not t.is_leaf:
            abandon(t, node=type("UnrecordedWrite", (_UnknownWrite,), {"operator": str(op)}))


class _UnknownWrite(UnrecordedWrite):
    """The edge of what an op of a program wrote to."""

    __slots__ = ()
    operator = ""

    def run(self, g: Any) -> tuple[Any, ...]:
        raise RuntimeError(
            f"Trying to backward through {self.operator}, which writes to a tensor that requires "
            "grad: no formula says what that does to gradients. Call it on a detached tensor or "
            "under torch.no_grad(), or let it return a new tensor and give it register_autograd"
        )


# -- modes and classes with __torch_dispatch__ ---------------------------------------------------
def _through_modes(op: Operator, values: Values, end: int) -> Any:
    """Give a call to the handlers below *end* that see ops of programs, innermost first.

    Other handlers stay on while the kernel runs: what it calls are ops like any others.
    """
    handlers = this_thread.handlers

    def proceed(row: Row, values: Values) -> Any:
        return _through_modes(op, values, at)

    for at in reversed(range(end)):
        seen = getattr(handlers[at], "sees_operators", "")
        if seen == "stays on":
            return handlers[at](op.row, values, proceed)
        if seen:
            with switched("handlers", handlers[:at] + handlers[at + 1 :]):
                return check_results(op._schema, handlers[at](op.row, values, proceed))
    if RARE.classes is not None:
        return RARE.classes(op.row, values, lambda row, values: run_kernel(op, values))
    return run_kernel(op, values)


# -- kernels ---------------------------------------------------------------------------------
def place_of(op: Operator, values: Values) -> str:
    """The device type whose kernel runs: an accelerator's before the host's, meta before both."""
    types = {t._k.device.type for t in tensors_of(values)}
    if not types:
        named = [v for a, v in zip(op._schema.arguments, values, strict=True)
                 if a.name == "device" and v is not None and a.type.base == "Device"]  # fmt: skip
        return named[0].type if named else ""
    for type in (META, *sorted(types - {"cpu"})):
        if type in types:
            return type
    return "cpu"


def _kernel(op: Operator, place: str) -> Kernel | None:
    found = op.registered
    return found.find(place) or found.find(DEFAULT) or found.find(COMPOSED)


def run_kernel(op: Operator, values: Values, chosen: Kernel | None = None) -> Any:
    """Run the kernel of an op for the device of its arguments; NotImplementedError."""
    place = place_of(op, values)
    found = chosen or _kernel(op, place)
    if found is None:
        raise _no_kernel(op, values, place)
    args, kwargs = split(op._schema, values)
    made = found.function(*args, **kwargs)
    if found.checked:
        _check_new(op, values, made, found)
    return check_results(op._schema, made)


def _no_kernel(op: Operator, values: Values, place: str) -> Exception:
    given = tensors_of(values)
    if op.definition is not None and place and not given:
        return RuntimeError(
            f"{op._opname} does not have a kernel registered for {place}. Please use "
            "register_kernel to do so."
        )
    if place == META:
        return NotImplementedError(
            f"{op._name}: attempted to run this operator with Meta tensors, but there was no fake "
            "impl or Meta kernel registered. Give it one with torch.library.register_fake"
        )
    known = ", ".join(key for key, kernels in op.registered.kernels.items() if kernels)
    if not given and not place:
        return NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of "
            f"Tensors), but no fallback function is registered for schema {op._name}.  This "
            "usually means that this function requires a non-empty list of Tensors, or that you "
            "(the operator writer) forgot to register a fallback function.  Available functions "
            f"are [{known}]"
        )
    return NotImplementedError(
        f"Could not run '{op._name}' with arguments from the '{place.upper()}' backend. This could "
        "be because the operator doesn't exist for this backend: give it a kernel with "
        f"torch.library.impl('{op._name}', '{place}'). '{op._name}' is only available for these "
        f"backends: [{known}]"
    )


def _check_new(op: Operator, values: Values, made: Any, kernel: Kernel) -> None:
    """RuntimeError where a result shares memory with an argument or with another result."""
    results = tensors_of(made if isinstance(made, tuple) else (made,))
    known = {_storage(t) for t in tensors_of(values)}
    for t in results:
        own = _storage(t)
        if own in known:
            raise RuntimeError(
                f"{op._opname} (with implementation at {kernel.place}): The output of this custom "
                "operator (1) must not also be an input to this custom operator and (2) may not "
                "alias any inputs to this custom operator or other returns. The most common way to "
                "trigger this error is if we have y = custom_op(x) and y and x are the same "
                "Tensor. Please instead return a clone of the offending output tensor(s) (e.g. "
                "return x.clone()) or refactor the custom operator to not return y."
            )
        known.add(own)


def _storage(t: Tensor) -> Any:
    """What is equal for tensors that share memory; those without elements share none."""
    return (t._k.device, t._k.layout(t._a)[0]) if t._s.numel() else id(t)


# -- ops without a formula -------------------------------------------------------------------
def _unregistered(op: Operator, values: Values, made: Any) -> Any:
    """The results, from which a backward pass warns: the op has no kernel for Autograd."""
    given = tensors_of(values)
    inputs = [t for t in given if t.requires_grad]

    def marked(t: Any) -> Any:
        if isinstance(t, list):
            return [marked(x) for x in t]
        if not isinstance(t, Tensor) or any(t is x for x in given) or not t._k.differentiable:
            return t
        if not t.requires_grad:
            return WarnNotImplemented.apply(op._name, t, *inputs)
        t.register_hook(lambda g: _warn(op._name))
        return t

    return tuple(map(marked, made)) if isinstance(made, tuple) else marked(made)


class WarnNotImplemented(Function):
    """A result that no gradient passes; one that comes is dropped with a warning."""

    @staticmethod
    def forward(ctx: Any, name: str, made: Tensor, *inputs: Tensor) -> Tensor:
        ctx.name, ctx.inputs = name, len(inputs)
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        _warn(ctx.name)
        return (None, None) + (None,) * ctx.inputs


def _warn(name: str) -> None:
    warn_user(
        f"{name}: an autograd kernel was not registered to the Autograd key(s) but we are trying "
        "to backprop through it. This may lead to silently incorrect behavior. This behavior is "
        "deprecated and will be removed in a future version of PyTorch. If your operator is "
        "differentiable, please ensure you have registered an autograd kernel to the correct "
        "Autograd key (e.g. DispatchKey::Autograd, DispatchKey::CompositeImplicitAutograd). If "
        "your operator is not differentiable, or to squash this warning and use the previous "
        "behavior, please register torch::CppFunction::makeFallthrough() to DispatchKey::Autograd."
    )

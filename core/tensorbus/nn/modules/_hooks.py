"""Hooks of modules: where they are kept, and how a call with hooks runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tensorbus.utils.hooks import HookTable, RemovableHandle

if TYPE_CHECKING:
    from tensorbus.nn.modules.module import Module


class ForwardHook(NamedTuple):
    """A hook around ``forward``, with the options it was registered with."""

    call: Callable[..., Any]
    with_kwargs: bool
    always_call: bool


class Hooks:
    """All hooks of one module. Made at the first registration: a module without is called fast."""

    __slots__ = (
        "backward",
        "backward_pre",
        "forward",
        "forward_pre",
        "load_post",
        "load_pre",
        "state_dict_post",
        "state_dict_pre",
    )

    def __init__(self) -> None:
        for sort in Hooks.__slots__:
            setattr(self, sort, HookTable())

    backward: HookTable
    backward_pre: HookTable
    forward: HookTable
    forward_pre: HookTable
    load_post: HookTable
    load_pre: HookTable
    state_dict_post: HookTable
    state_dict_pre: HookTable


NO_HOOKS = Hooks()


class _GlobalHooks:
    """Hooks of every module. ``used`` says whether any was ever registered."""

    __slots__ = ("hooks", "used")

    def __init__(self) -> None:
        self.hooks = Hooks()
        self.used = False


EVERYWHERE = _GlobalHooks()


def _add_global(sort: str, hook: Any) -> RemovableHandle:
    EVERYWHERE.used = True
    table: HookTable = getattr(EVERYWHERE.hooks, sort)
    return table.add(hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, args)``, run before the ``forward`` of every module."""
    return _add_global("forward_pre", ForwardHook(hook, False, False))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register ``hook(module, args, output)``, run after the ``forward`` of every module."""
    return _add_global("forward", ForwardHook(hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_output)``, run before the backward of every module."""
    return _add_global("backward_pre", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_input, grad_output)``, run after every module's backward."""
    return _add_global("backward", hook)


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``module.forward`` between its hooks and the global ones, which come first."""
    done: set[int] = set()
    try:
        return _run(module, args, kwargs, done)
    except Exception:
        _run_always_called(module, args, kwargs, done)
        raise


def _tables(module: Module, sort: str) -> list[tuple[int, Any]]:
    """The hooks of one sort that a call runs, as they were when the step began."""
    own = module._hooks or NO_HOOKS
    return [*getattr(EVERYWHERE.hooks, sort).items(), *getattr(own, sort).items()]


def _run(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]) -> Any:
    for _, hook in _tables(module, "forward_pre"):
        if hook.with_kwargs:
            changed = hook.call(module, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple "
                    f"of (new_args, new_kwargs), but got {changed}."
                )
            args, kwargs = changed
        else:
            changed = hook.call(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)

    before, after = _tables(module, "backward_pre"), _tables(module, "backward")
    gate = None
    if before or after:
        # Backward hooks are rare, and autograd.Function takes time to import.
        from tensorbus.nn.modules._backward_gate import BackwardGate

        gate = BackwardGate(module, before, after)
        args = gate.enter(args)
    result = module.forward(*args, **kwargs)
    for hook_id, hook in _tables(module, "forward"):
        done.add(hook_id)
        extra = (kwargs,) if hook.with_kwargs else ()
        changed = hook.call(module, args, *extra, result)
        if changed is not None:
            result = changed
    return result if gate is None else gate.leave(result)


def _run_always_called(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]
) -> None:
    own = module._hooks or NO_HOOKS
    for whose, table in (
        ("global module", EVERYWHERE.hooks.forward),
        ("module", own.forward),
    ):
        for hook_id, hook in tuple(table.items()):
            if not hook.always_call or hook_id in done:
                continue
            extra = (kwargs,) if hook.with_kwargs else ()
            try:
                hook.call(module, args, *extra, None)
            except Exception as error:
                warnings.warn(
                    f"{whose} forward hook with ``always_call=True`` raised an exception "
                    f"that was silenced as another error was raised in forward: {error}",
                    stacklevel=4,
                )

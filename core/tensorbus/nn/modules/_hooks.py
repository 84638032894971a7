"""Hooks of modules: where they are kept, and how a call with hooks runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus.utils.hooks import HookTable, RemovableHandle

if TYPE_CHECKING:
    from tensorbus.nn.modules.module import Module


class MarkedHooks(HookTable):
    """Hooks of which some are called in another way, as marks under their ids say.

    ``forward`` and ``forward_pre`` know *with_kwargs* and *always_call*; the hooks that PyTorch
    registers by private names are marked *replaces* in ``state_dict_post``, where what they return
    is the new dict, and *without_module* in ``load_pre``.
    """

    __slots__ = ("marks",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.marks: dict[str, dict[int, bool]] = {}

    def marked(self, name: str) -> dict[int, bool]:
        """The ids of the hooks with a mark, as keys: PyTorch keeps them so."""
        return self.marks.setdefault(name, {})

    def mark(self, hook_id: int, **marks: bool) -> None:
        """Set marks of a hook, and drop those of hooks that are gone."""
        for name, wanted in marks.items():
            ids = self.marked(name)
            for gone in [known for known in ids if known not in self]:
                ids.pop(gone, None)
            if wanted:
                ids[hook_id] = True

    def register(self, hook: Any, prepend: bool = False, **marks: bool) -> RemovableHandle:
        """Add a hook with marks."""
        handle = self.add(hook, prepend)
        self.mark(handle.id, **marks)
        return handle


class Hooks:
    """All hooks of one module. Made at the first registration: a module without is called fast."""

    __slots__ = (
        "backward",
        "backward_is_full",
        "backward_pre",
        "forward",
        "forward_pre",
        "load_post",
        "load_pre",
        "state_dict_post",
        "state_dict_pre",
    )

    def __init__(self) -> None:
        self.forward = MarkedHooks()
        self.forward_pre = MarkedHooks()
        self.backward = HookTable()
        self.backward_pre = HookTable()
        self.load_post = HookTable()
        self.load_pre = MarkedHooks()
        self.state_dict_post = MarkedHooks()
        self.state_dict_pre = HookTable()
        self.backward_is_full: bool | None = None
        """Of which sort the backward hooks are; None before there were any."""


TABLES = tuple(name for name in Hooks.__slots__ if name != "backward_is_full")
"""The names of the tables of hooks."""

NO_HOOKS = Hooks()


class _GlobalHooks:
    """Hooks of every module. ``used`` says whether any was ever registered."""

    __slots__ = ("hooks", "registration", "used")

    def __init__(self) -> None:
        self.hooks = Hooks()
        self.registration = {sort: HookTable() for sort in ("buffer", "module", "parameter")}
        self.used = False


EVERYWHERE = _GlobalHooks()


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, args)``, run before the ``forward`` of every module."""
    EVERYWHERE.used = True
    return EVERYWHERE.hooks.forward_pre.add(hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register ``hook(module, args, output)``, run after the ``forward`` of every module."""
    EVERYWHERE.used = True
    return EVERYWHERE.hooks.forward.register(hook, with_kwargs=with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_output)``, run before the backward of every module."""
    EVERYWHERE.used = True
    return EVERYWHERE.hooks.backward_pre.add(hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_input, grad_output)``, run after every module's backward."""
    return _add_backward(EVERYWHERE.hooks, hook, True, "as a global Module hook")


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register a backward hook of the older sort for every module.

    It gets the gradients of the node that made the output; see ``Module.register_backward_hook``.
    """
    return _add_backward(EVERYWHERE.hooks, hook, False, "as a global Module hook")


def add_backward(hooks: Hooks, hook: Any, full: bool, prepend: bool) -> RemovableHandle:
    """Register a backward hook of one module, whose backward hooks are all of one sort."""
    return _add_backward(hooks, hook, full, "on a single Module", prepend)


def _add_backward(
    hooks: Hooks, hook: Any, full: bool, where: str, prepend: bool = False
) -> RemovableHandle:
    if hooks.backward_is_full is (not full):
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {where}. Please use "
            "only one of them."
        )
    hooks.backward_is_full = full
    if hooks is EVERYWHERE.hooks:
        EVERYWHERE.used = True
    return hooks.backward.add(hook, prepend)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, name, param)`` of ``register_parameter``; it may return another."""
    return EVERYWHERE.registration["parameter"].add(hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, name, buffer)`` of ``register_buffer``; it may return another."""
    return EVERYWHERE.registration["buffer"].add(hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, name, submodule)`` of ``add_module``; it may return another."""
    return EVERYWHERE.registration["module"].add(hook)


def registered(sort: str, module: Any, name: str, value: Any) -> Any:
    """What hooks of registration make of a member that is to be registered.

    As in PyTorch, they see no parameter that is None.
    """
    if value is None and sort == "parameter":
        return None
    for hook in tuple(EVERYWHERE.registration[sort].values()):
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


def pre_hooks_of(module: Module, sort: type) -> list[tuple[int, Any]]:
    """The hooks before a module's ``forward`` that are of a class, with their ids."""
    table = (module._hooks or NO_HOOKS).forward_pre
    return [(hook_id, hook) for hook_id, hook in table.items() if isinstance(hook, sort)]


class HookTables:
    """The part of ``Module`` that shows its tables of hooks, under the names that PyTorch has."""

    _hooks: Hooks | None

    def _own_hooks(self) -> Hooks:
        hooks = self._hooks
        if hooks is None:
            hooks = self._hooks = Hooks()
        return hooks

    @property
    def _is_full_backward_hook(self) -> bool | None:
        return (self._hooks or NO_HOOKS).backward_is_full

    @_is_full_backward_hook.setter
    def _is_full_backward_hook(self, value: bool | None) -> None:
        self._own_hooks().backward_is_full = value


def _shown(sort: str, marks: str = "") -> property:
    """A property that gives a module's table of hooks, or the marks of one, and fills it."""

    def table_of(hooks: Hooks) -> dict[int, Any]:
        table: Any = getattr(hooks, sort)
        found: dict[int, Any] = table.marked(marks) if marks else table
        return found

    def read(self: HookTables) -> dict[int, Any]:
        return table_of(self._own_hooks())

    def write(self: HookTables, value: dict[int, Any]) -> None:
        table, given = read(self), dict(value)
        table.clear()
        table.update(given)

    return property(read, write)


for _name, _sort, _marks in (
    ("_forward_hooks", "forward", ""),
    ("_forward_hooks_with_kwargs", "forward", "with_kwargs"),
    ("_forward_hooks_always_called", "forward", "always_call"),
    ("_forward_pre_hooks", "forward_pre", ""),
    ("_forward_pre_hooks_with_kwargs", "forward_pre", "with_kwargs"),
    ("_backward_hooks", "backward", ""),
    ("_backward_pre_hooks", "backward_pre", ""),
    ("_state_dict_hooks", "state_dict_post", ""),
    ("_state_dict_pre_hooks", "state_dict_pre", ""),
    ("_load_state_dict_pre_hooks", "load_pre", ""),
    ("_load_state_dict_post_hooks", "load_post", ""),
):
    setattr(HookTables, _name, _shown(_sort, _marks))


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``module.forward`` between its hooks and the global ones, which come first."""
    done: set[int] = set()
    try:
        return _run(module, args, kwargs, done)
    except Exception:
        _run_always_called(module, args, kwargs, done)
        raise


def _tables(module: Module, sort: str) -> list[tuple[int, Any, bool]]:
    """The hooks of one sort that a call runs, as they were when the step began.

    Each comes with its id, and with whether it gets keyword arguments.
    """
    own = module._hooks or NO_HOOKS
    found = []
    for table in (getattr(EVERYWHERE.hooks, sort), getattr(own, sort)):
        marks = table.marked("with_kwargs") if isinstance(table, MarkedHooks) else ()
        found += [(hook_id, hook, hook_id in marks) for hook_id, hook in tuple(table.items())]
    return found


def _run(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]) -> Any:
    for _, hook, with_kwargs in _tables(module, "forward_pre"):
        if with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple "
                    f"of (new_args, new_kwargs), but got {changed}."
                )
            args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)

    full, older = _backward_hooks(module)
    before = [hook for _, hook, _ in _tables(module, "backward_pre")]
    gate = None
    if before or full:
        # Backward hooks are rare, and autograd.Function takes time to import.
        from tensorbus.nn.modules._backward_gate import BackwardGate

        gate = BackwardGate(module, before, full)
        args = gate.enter(args)
    result = module.forward(*args, **kwargs)
    for hook_id, hook, with_kwargs in _tables(module, "forward"):
        done.add(hook_id)
        extra = (kwargs,) if with_kwargs else ()
        changed = hook(module, args, *extra, result)
        if changed is not None:
            result = changed
    if gate is not None:
        result = gate.leave(result)
    if older:
        from tensorbus.nn.modules._backward_gate import watch_last_node

        watch_last_node(module, args, result, older)
    return result


def _backward_hooks(module: Module) -> tuple[list[Any], list[Any]]:
    """The full backward hooks that a call runs, and those of the older sort."""
    full: list[Any] = []
    older: list[Any] = []
    for hooks in (EVERYWHERE.hooks, module._hooks or NO_HOOKS):
        (older if hooks.backward_is_full is False else full).extend(hooks.backward.values())
    return full, older


def _run_always_called(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]
) -> None:
    own = module._hooks or NO_HOOKS
    for whose, table in (
        ("global module", EVERYWHERE.hooks.forward),
        ("module", own.forward),
    ):
        for hook_id, hook in tuple(table.items()):
            if hook_id not in table.marked("always_call") or hook_id in done:
                continue
            extra = (kwargs,) if hook_id in table.marked("with_kwargs") else ()
            try:
                hook(module, args, *extra, None)
            except Exception as error:
                warnings.warn(
                    f"{whose} forward hook with ``always_call=True`` raised an exception "
                    f"that was silenced as another error was raised in forward: {error}",
                    stacklevel=4,
                )

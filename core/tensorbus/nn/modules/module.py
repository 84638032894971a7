"""``Module``, the base class of every layer and network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import tensorbus
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules._convert import ModuleConversion
from tensorbus.nn.modules._hooks import (
    EVERYWHERE,
    Hooks,
    add_backward,
    call_with_hooks,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from tensorbus.nn.modules._state import EXTRA_STATE_KEY as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from tensorbus.nn.modules._state import ModuleState, _IncompatibleKeys
from tensorbus.nn.modules._tree import ModuleTree
from tensorbus.nn.parameter import Buffer, Parameter
from tensorbus.utils.hooks import RemovableHandle

__all__ = [
    "Module",
    "RemovableHandle",
    "_IncompatibleKeys",
    "clear_grad",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
    "typename",
]


def typename(value: object) -> str:
    """The name that error messages use for the type of *value*."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    if kind.__module__ in ("builtins", "__builtin__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _addindent(text: str, by: int = 2) -> str:
    """Indent every line but the first; blank lines stay empty."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * by + line if line.strip() else "" for line in rest)])


def _forward_is_missing(self: Module, *input: Any) -> None:
    """Compute the output; every subclass defines its own."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Module(ModuleTree, ModuleState, ModuleConversion):
    """Base class of all neural network modules.

    A subclass calls ``super().__init__()``, assigns parameters (``nn.Parameter``), buffers and
    other modules as attributes, and defines ``forward``. Calling the module runs ``forward`` and
    its hooks.

    Example:
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = nn.Linear(4, 8)
        ...     def forward(self, x):
        ...         return self.hidden(x).relu()
        >>> Net()(tensorbus.ones(2, 4)).shape
        torch.Size([2, 8])
    """

    training: bool
    _hooks: Hooks | None = None
    forward: Callable[..., Any] = _forward_is_missing

    def __init__(self) -> None:
        # Past __setattr__: these tables are what it looks into.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None and not EVERYWHERE.used:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, args, kwargs)

    # Registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under *name*; None declares the name without a value.

        Raises:
            KeyError: the name is empty, holds a dot or is taken.
            TypeError: *param* is not a Parameter.
            ValueError: *param* is the result of an operation.
        """
        self._check_new_name("parameter", name, self.__dict__.get("_parameters"))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model "
                f"parameters must be created explicitly. To express '{name}' "
                "as a function of another Tensor, compute the value in "
                "the forward() method."
            )
        self._parameters[name] = registered("parameter", self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the module's state but is not trained.

        Args:
            persistent: whether ``state_dict`` contains it.
        """
        self._check_new_name("buffer", name, self.__dict__.get("_buffers"))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under *name*, as attribute assignment does.

        Raises:
            KeyError: the name is empty, holds a dot or is taken.
            TypeError: *module* is not a Module.
        """
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_new_name("module", name, self.__dict__.get("_modules"))
        self._modules[name] = registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of ``add_module``."""
        self.add_module(name, module)

    def add_parameter(self, name: str, param: Parameter | None) -> None:
        """The older name of ``register_parameter``; it warns."""
        warn_user("Module.add_parameter is now called register_parameter", FutureWarning)
        self.register_parameter(name, param)

    def add_buffer(self, name: str, tensor: Tensor | None) -> None:
        """The older name of ``register_buffer``; it warns."""
        warn_user("Module.add_buffer is now called register_buffer", FutureWarning)
        self.register_buffer(name, tensor)

    def _check_new_name(self, what: str, name: Any, table: dict[str, Any] | None) -> None:
        if table is None:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            got = f", got: {name}" if what == "module" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')

    # Attributes

    def __getattr__(self, name: str) -> Any:
        # Unrolled: every access to a parameter in a forward comes through here. The tables are
        # missing before __init__ has run and while a copy is being made.
        own = self.__dict__
        if "_parameters" in own and name in (members := own["_parameters"]):
            return members[name]
        if "_modules" in own and name in (members := own["_modules"]):
            return members[name]
        if "_buffers" in own and name in (members := own["_buffers"]):
            return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        tensor = isinstance(value, Tensor)  # asked first: the others ask their metaclasses
        if tensor and isinstance(value, Parameter):
            if "_parameters" not in own:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif isinstance(value, Module):
            if "_modules" not in own:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            if name not in self._modules:
                _check_child_name(name)
            self._modules[name] = registered("module", self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._modules[name] = None
        elif (tensor and isinstance(value, Buffer)) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            self.register_buffer(name, value, value.persistent)
        else:
            self._buffers[name] = value

    def _forget(self, name: str, *tables: str) -> None:
        """A name means one thing: what it meant before is dropped."""
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__.get(table, {}).pop(name, None)
        self.__dict__.get("_non_persistent_buffers_set", set()).discard(name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Call ``forward`` as ``torch.compile`` makes it, which takes the same arguments."""
        given = self.forward
        made = tensorbus.compile(given, *args, **kwargs)
        if made is not given:
            self.__dict__["forward"] = made

    # What applies to all parts

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call *fn* on every module below, then on this one; typically to initialise weights."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode, or evaluation mode, here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: the same as ``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether autograd records what is done with the parameters."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for param in self.parameters():
            clear_grad(param, set_to_none)

    # Hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, args)``, run before ``forward``; what it returns replaces args.

        With *with_kwargs* it is called as ``hook(module, args, kwargs)`` and returns None or both.
        """
        return self._own_hooks().forward_pre.register(hook, prepend, with_kwargs=with_kwargs)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Register ``hook(module, args, output)``, run after ``forward``; it may return an output.

        With *with_kwargs* it is called as ``hook(module, args, kwargs, output)``; with
        *always_call* it runs also when an error was raised, with None for the output.
        """
        return self._own_hooks().forward.register(
            hook, prepend, with_kwargs=with_kwargs, always_call=always_call
        )

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, grad_output)``, run before the module's backward."""
        return self._own_hooks().backward_pre.add(hook, prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, grad_input, grad_output)``, run after the module's backward.

        What it returns replaces ``grad_input``. Non-tensor arguments have None for a gradient.
        """
        return add_backward(self._own_hooks(), hook, True, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register a backward hook of the older sort, on the node that made the output.

        It is called as ``hook(module, grad_input, grad_output)`` with the gradients of that node
        alone, which are the module's where ``forward`` is one operation; else it warns.
        ``register_full_backward_hook`` has no such limit.
        """
        return add_backward(self._own_hooks(), hook, False, False)

    # Printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Override to say the module's settings inside its ``repr``."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({name}): {_addindent(repr(child))}" for name, child in self._modules.items()]
        if not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = [*(extra.split("\n") if extra else ()), *children]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _check_child_name(name: str) -> None:
    if "." in name:
        raise KeyError(f'module name can\'t contain ".", got: {name}')
    if name == "":
        raise KeyError('module name can\'t be empty string ""')


def clear_grad(param: Tensor, set_to_none: bool) -> None:
    """Drop the gradient of one tensor, or fill it with zeros outside of any graph."""
    grad = param.grad
    if grad is None:
        return
    if set_to_none:
        param.grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()

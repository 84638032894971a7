"""Ops made of Python functions: ``custom_op``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from tensorbus._base.dtypes import dtype
from tensorbus._base.leaving import block
from tensorbus._base.warning import warn_user
from tensorbus._base.weak import WeakValues
from tensorbus.amp.autocast_mode import is_autocast_available
from tensorbus.library.fakes import without_sizes
from tensorbus.library.inference import infer_schema
from tensorbus.library.libraries import Library, where
from tensorbus.library.operators import AUTOCAST, AUTOGRAD, DEFAULT, META, VMAP, Operator, key_of
from tensorbus.library.recording import Formula, check_formula, recorded
from tensorbus.library.tags import Tag, tuple_of

log = logging.getLogger(__name__)

DeviceTypes = str | Sequence[str] | None
Function = Callable[..., Any]

_libraries: dict[str, Library] = {}
"""What holds each such op: defined again, it replaces the one before."""
DEFINITIONS: WeakValues[str, CustomOpDef] = WeakValues()


def custom_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Any:
    """Make an op ``"namespace::name"`` of a function; a decorator without *fn*.

    The schema is inferred from the annotations. *mutates_args* names the arguments that it writes
    to. The function is the kernel for *device_types*, or for all devices. The result has
    ``register_kernel``, ``register_fake``, ``register_autograd``, ``register_vmap``,
    ``register_autocast`` and ``register_torch_dispatch``. A call raises RuntimeError where a result
    is an argument or shares memory with one.

    >>> import numpy
    >>> import tensorbus as torch
    >>> @torch.library.custom_op("example_op::cube", mutates_args=())
    ... def cube(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() ** 3)
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def backward(ctx, grad):
    ...     (x,) = ctx.saved_tensors
    ...     return grad * 3 * x * x
    >>> cube.register_autograd(backward, setup_context=keep)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> cube(x).sum().backward()
    >>> x.grad
    tensor([ 3., 12.])
    """
    given = tuple_of(tags)
    written = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)

    def inner(fn: Function) -> CustomOpDef:
        text = infer_schema(fn, mutates_args=written, tags=given) if schema is None else schema
        namespace, own = name.split("::")
        made = CustomOpDef(namespace, own, text, fn, given)
        if schema is not None:
            found = {a.name for a in made._opoverload._schema.arguments if a.is_write}
            if found != set(written):
                raise ValueError(
                    f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
                    f"`schema={schema}. The schema suggests that the op mutates {found}which is "
                    "different from what was provided to us in `mutates_args`. Please make these "
                    "consistent."
                )
        made.register_kernel(device_types)(fn)
        return made

    return inner if fn is None else inner(fn)


class CustomOpDef:
    """An op made of a function by ``custom_op``, and where the rest of it is registered.

    >>> import tensorbus as torch
    >>> @torch.library.custom_op("example_def::inc", mutates_args=())
    ... def inc(x: torch.Tensor) -> torch.Tensor:
    ...     return x + 1
    >>> inc
    <CustomOpDef(example_def::inc)>
    """

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Function, tags: Sequence[Tag] = ()
    ):
        self._namespace, self._name, self._schema = namespace, name, schema
        self._qualname = f"{namespace}::{name}"
        self._init_fn = fn
        self._tags = tuple(tags)
        self._kernels: dict[str | None, Function] = {}
        self._disabled_kernel: set[str | None] = set()
        self._abstract_fn: Function | None = None
        self._formula = Formula()
        before = _libraries.pop(self._qualname, None)
        if before is not None:
            before._destroy()
        self._lib = Library(namespace, "FRAGMENT")
        tagged = tuple(dict.fromkeys((Tag["pt2_compliant_tag"], *self._tags)))
        self._opoverload = op = self._lib.add_op(f"{name}{schema}", tagged, where())
        keyword = [a for a in op._schema.arguments if a.kwarg_only and a.type.is_tensor]
        if keyword and Tag.out not in self._tags:
            self._lib._destroy()
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
                f"Got: {name}{schema}"
            )
        _libraries[self._qualname] = self._lib
        op.definition = self
        earlier = DEFINITIONS.get(self._qualname)
        if earlier is not None:
            earlier._opoverload = op
        place = where()
        self._lib.add_kernel(name, AUTOGRAD, recorded(op, self._formula), place)
        fake = without_sizes(self._qualname, self._run_fake, place)
        self._lib.add_kernel(name, META, fake, place)
        DEFINITIONS[self._qualname] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    # -- kernels -----------------------------------------------------------------------------
    def register_kernel(self, device_types: DeviceTypes, fn: Function | None = None, /) -> Any:
        """Register a kernel for device types, or for all with None; a decorator without *fn*."""
        op = self._opoverload
        place = where()
        several = device_types is None or isinstance(device_types, str)
        types: list[Any] = [device_types] if several else list(device_types or ())
        keys = [DEFAULT if t is None else key_of(t, device=True) for t in types]
        arguments = op._schema.arguments
        tensors = any(a.type.is_tensor for a in arguments)
        if device_types is not None and not tensors:
            named = any(a.name == "device" and a.type.base == "Device" for a in arguments)
            if not named:
                raise ValueError(
                    "Functions without tensor inputs are required to have a `device: torch.device` "
                    "argument"
                )

        def inner(fn: Function) -> Function:
            for type, key in zip(types, keys, strict=True):
                new = type not in self._kernels
                self._kernels[type] = fn
                if new:
                    kernel = self._chosen(type)
                    checked = not (op._schema.returns_views or self._returns_written)
                    self._lib.add_kernel(self._name, key, kernel, place, checked)
            return fn

        return inner if fn is None else inner(fn)

    @property
    def _returns_written(self) -> bool:
        return Tag.inplace in self._tags or Tag.out in self._tags

    def _chosen(self, type: str | None) -> Function:
        def run(*args: Any, **kwargs: Any) -> Any:
            off = type in self._disabled_kernel
            made = (self._init_fn if off else self._kernels[type])(*args, **kwargs)
            if self._returns_written and not self._is_written(made, args, kwargs):
                what = "inplace must return its first argument"
                if Tag.out in self._tags:
                    what = "out must return its mutable keyword-only arguments"
                raise RuntimeError(f"{self._name}: An operator tagged with torch.Tag.{what}.")
            return made

        return run

    def _is_written(self, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether results are the arguments that were written to."""
        expected = self._written(args, kwargs)
        results = made if len(expected) > 1 and isinstance(made, tuple) else (made,)
        return len(results) == len(expected) and all(
            x is y for x, y in zip(results, expected, strict=True)
        )

    def _written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        arguments = self._opoverload._schema.arguments
        values = (*args, *kwargs.values())
        return [v for a, v in zip(arguments, values, strict=True) if a.is_write]

    @block
    def set_kernel_enabled(
        self, device_type: str, enabled: bool = True
    ) -> Generator[None, None, None]:
        """A block in which the kernel for a device type is used, or the op's own function is."""
        before = device_type in self._disabled_kernel
        action = "enable" if enabled else "disable"
        if device_type not in self._kernels:
            log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.",
                action,
                device_type,
            )
        elif before is not enabled:
            log.warning(
                "Attempted to %s kernel for %s but it was already %sd.", action, device_type, action
            )
        off = self._disabled_kernel
        try:
            (off.discard if enabled else off.add)(device_type)
            yield
        finally:
            (off.add if before else off.discard)(device_type)  # compiled: no interrupt divides it

    # -- shapes ------------------------------------------------------------------------------
    def register_fake(self, fn: Function, /) -> Function:
        """Register what gives results of the right shape, dtype and strides, without values."""
        if self._returns_written:
            tag = "inplace" if Tag.inplace in self._tags else "out"
            warn_user(
                f"The fake registration for {self} is unnecessary. Custom ops tagged with "
                f"torch.Tag.{tag} already get an autogenerated fake kernel. The provided fake impl "
                "will be used instead."
            )
        self._abstract_fn = fn
        return fn

    @property
    def has_fake(self) -> bool:
        """Whether it runs on tensors without values."""
        return self._abstract_fn is not None or self._returns_written or self._returns_nothing

    @property
    def _returns_nothing(self) -> bool:
        schema = self._opoverload._schema
        return schema.is_mutable and not schema.returns

    def _run_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is not None:
            return self._abstract_fn(*args, **kwargs)
        if self._returns_written:
            made = self._written(args, kwargs)
            return tuple(made) if len(made) > 1 else made[0]
        if self._returns_nothing:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for "
            "torch.compile/export/fx tracing to work. Please use "
            f"`{self._init_fn.__name__}.register_fake` to add an fake impl."
        )

    # -- transforms --------------------------------------------------------------------------
    def register_autograd(
        self, backward: Function, /, *, setup_context: Function | None = None
    ) -> None:
        """Register the formula for gradients; see ``torch.library.register_autograd``."""
        check_formula(self._opoverload, self)
        self._formula.backward, self._formula.setup_context = backward, setup_context

    def register_vmap(self, func: Function | None = None) -> Any:
        """Register the rule for ``vmap``; see ``torch.library.register_vmap``."""
        place = where()

        def register(func: Function) -> None:
            self._lib.add_kernel(self._name, VMAP, func, place)

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> None:
        """Register the dtype in which it computes under ``autocast`` on a device type."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        add_autocast(self._lib, self._opoverload, device_type, cast_inputs, where())

    def register_torch_dispatch(
        self, torch_dispatch_class: Any, fn: Function | None = None, /
    ) -> Any:
        """Register what answers for a class or mode with ``__torch_dispatch__``."""

        def register(fn: Function) -> Function:
            self._lib.add_rule(self._name, torch_dispatch_class, fn)
            return fn

        return register if fn is None else register(fn)


def add_autocast(lib: Library, op: Operator, device_type: str, target: dtype, place: str) -> None:
    """Register the dtype of floating point arguments under autocast; ValueError."""
    if not is_autocast_available(device_type):
        raise ValueError(f"Device type '{device_type}' does not support autocast.")
    lib.add_kernel(op._name, AUTOCAST + device_type, lambda: target, place)

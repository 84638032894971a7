"""The options that all factories share: what the new tensor is to be, and where it is put."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.dtypes import checked
from tensorbus._base.dtypes import dtype as Dtype
from tensorbus._base.errors import type_error
from tensorbus._base.float_warnings import silence
from tensorbus._base.formats import SPARSE_LAYOUTS, check_format, check_layout
from tensorbus._base.modes import this_thread
from tensorbus._device import defaults
from tensorbus._device.device import device as Device
from tensorbus._dispatch.kinds import Kind, kind_of
from tensorbus._dispatch.memory import check_memory
from tensorbus._tensor.tensor import Tensor, wrap_like
from tensorbus.op_engine.argument_values import of_64_bits
from tensorbus.op_engine.out import write_out
from tensorbus.op_engine.public import public
from tensorbus.op_engine.signatures import show_signature
from tensorbus.rows.layouts import empty_in_layout, strides_in_format

COMMON = ("dtype", "layout", "device", "requires_grad", "pin_memory")

_SPARSE_FACTORIES = frozenset("empty empty_like new_empty new_zeros zeros zeros_like".split())
"""The factories that make sparse tensors too: those without elements."""

_ANNOTATIONS = {
    "dtype": "dtype | type | None",
    "layout": "layout | None",
    "device": "device | str | int | None",
    "requires_grad": "bool",
    "pin_memory": "bool",
    "memory_format": "memory_format | None",
    "out": "Tensor | None",
}


def check_flag(function: str, name: str, value: Any) -> bool:
    """A truth value that may be left out; TypeError for anything else."""
    if value is None or value is False:
        return False
    if value is not True:
        raise TypeError(f"{function}(): argument '{name}' must be bool, not {type(value).__name__}")
    return True


def refuse_pinning() -> RuntimeError:
    """No device here has a pinned memory allocator."""
    return RuntimeError(
        "pinned memory requires an accelerator whose backend allocates it; no pinned memory "
        "allocator is available on this system: leave pin_memory out"
    )


def checked_dtype(function: str, value: Any) -> Dtype | None:
    """A dtype, or the one that a Python type stands for; TypeError for anything else."""
    return value if value is None or type(value) is Dtype else checked(value, function)


def checked_device(function: str, value: Any) -> Device | None:
    """A device for one, its name, or an index; TypeError for anything else."""
    if value is None or isinstance(value, Device):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        of_64_bits(value)
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise TypeError(
            f"{function}(): argument 'device' must be torch.device, not {type(value).__name__}"
        )
    return Device(value)


class Options:
    """The options of one call of a factory, checked.

    ``kind`` says what the new tensor is, ``empty`` makes its array, ``deliver`` the tensor.
    """

    __slots__ = (
        "_kind", "device", "dtype", "memory_format", "name", "out", "requires_grad",
        "sparse_layout",
    )  # fmt: skip

    def __init__(self, name: str, given: dict[str, Any], taken: tuple[str, ...]):
        """Take the options that the factory has out of the keywords *given* to it."""
        self.name = name
        self.dtype = self.device = self.out = self.memory_format = self.requires_grad = None
        self.sparse_layout: Any = None
        if not given:
            return
        options = {option: given.pop(option) for option in taken if option in given}
        if "dtype" in options:
            self.dtype = checked_dtype(name, options.pop("dtype"))
        if "device" in options:
            self.device = checked_device(name, options.pop("device"))
        if not options:
            return
        self.requires_grad = check_flag(name, "requires_grad", options.get("requires_grad"))
        if check_flag(name, "pin_memory", options.get("pin_memory")):
            raise refuse_pinning()
        wanted = options.get("layout")
        if name in _SPARSE_FACTORIES and wanted in SPARSE_LAYOUTS:
            self.sparse_layout = wanted
        else:
            check_layout(name, wanted)
        self.memory_format = options.get("memory_format")
        check_format(name, self.memory_format)
        self.out = options.get("out")
        if self.out is not None:
            self._check_out()

    def _check_out(self) -> None:
        out = self.out
        if not isinstance(out, Tensor):
            raise TypeError(
                f"{self.name}(): argument 'out' must be Tensor, not {type(out).__name__}"
            )
        if self.dtype is not None and self.dtype is not out._k.dtype:
            raise RuntimeError(
                f"dtype {scalar_name(self.dtype)} does not match dtype of out parameter "
                f"({scalar_name(out._k.dtype)})"
            )
        if self.device is not None and kind_of(self.device, out._k.dtype) is not out._k:
            raise RuntimeError(
                f"device type {self.device} does not match device type of out parameter "
                f"({out._k.device})"
            )
        if self.memory_format is not None:
            raise RuntimeError(
                "'memory_format' argument is incompatible with 'out' tensor argument"
            )

    def kind(self, default: Dtype | None = None, like: Tensor | None = None) -> Kind:
        """The kind of the new tensor: as asked for, else that of *out* or *like*, else default."""
        silence()
        d, where = self.dtype, self.device
        source = self.out if self.out is not None else like
        if source is not None:
            d = source._k.dtype if d is None else d
            where = source._k.device if where is None else where
        if d is None:
            d = dtypes.get_default_dtype() if default is None else default
        kind = kind_of(defaults.get_default_device() if where is None else where, d)
        if source is not None and source._k.inner is not None:
            from tensorbus.op_engine.batches import kind_in_batch  # here: most are in no batch

            kind = kind_in_batch(source._k, kind)
        self._kind = kind
        return kind

    def drawn_kind(self, default: Dtype | None = None, like: Tensor | None = None) -> Kind:
        """``kind`` for random numbers, of which each element of a batch may have its own."""
        kind = self.kind(default, like)
        if "different" in this_thread.randomness:
            from tensorbus.op_engine.batches import current_device  # here: most are in no batch

            kind = self._kind = kind_of(current_device(kind.device), kind.dtype)
        return kind

    def empty(self, shape: tuple[int, ...], like: Tensor | None = None) -> Any:
        """A new array of ``kind``, in the memory format asked for; else in the order of *like*."""
        if like is None and self.memory_format is None:
            return self._kind.empty(shape)
        if like is not None and like._b is None and self.memory_format is None:
            return self._kind.empty(shape)
        strides = tuple(like._k.strides(like._a)) if like is not None else None
        wanted = strides_in_format(self.memory_format, shape, strides)
        return empty_in_layout(self._kind, shape, wanted)

    def deliver(self, made: Any) -> Tensor:
        """A new leaf for a fresh array of ``kind``; or *out*, overwritten with it.

        What is a tensor already may have a history.
        """
        t = made if isinstance(made, Tensor) else wrap_like(made, self._kind, None)
        if self.out is not None:
            t = write_out(t, self.out, self.name, warns=False)
        return as_leaf(t, bool(self.requires_grad))


def as_leaf(t: Tensor, requires_grad: bool) -> Tensor:
    """A new tensor, as one that records where that is asked for."""
    if requires_grad and not t._k.differentiable:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.requires_grad_() if requires_grad else t


def _signature(make: Callable[..., Any], taken: tuple[str, ...]) -> inspect.Signature:
    own = inspect.signature(make).parameters
    parameters = [p for p in own.values() if p.name != "options"]
    parameters += [
        inspect.Parameter(
            option,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if _ANNOTATIONS.get(option) == "bool" else None,
            annotation=_ANNOTATIONS[option],
        )
        for option in taken
    ]
    return inspect.Signature(parameters, return_annotation="Tensor")


def factory(
    *further: str, without: tuple[str, ...] = (), method: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Tensor]]:
    """Publish a function that makes a new tensor, with the options that such functions share.

    The function itself gets them as ``options``, and returns an array of ``options.kind()``. It
    may take ``out`` and ``memory_format`` as *further* options, or be *without* some of the others.
    """
    taken = tuple(o for o in (*further, *COMMON) if o not in without)

    def publish(make: Callable[..., Any]) -> Callable[..., Tensor]:
        name = make.__name__
        most = make.__code__.co_argcount
        first = most if make.__code__.co_flags & inspect.CO_VARARGS else None

        @functools.wraps(make)
        def call(*args: Any, **keywords: Any) -> Tensor:
            options = Options(name, keywords, taken)
            if first is None and len(args) > most:
                raise TypeError(
                    f"{name}() takes {most} positional arguments but {len(args)} were given"
                )
            if keywords and "size" in keywords and first is not None:
                if len(args) > first:
                    raise TypeError("the size was given twice: by position and as size=")
                size = keywords.pop("size")
                if not isinstance(size, (tuple, list)):
                    raise type_error(name, "size", None, "tuple of ints", size)
                args = (*args, size)
            if options.sparse_layout is not None:
                made: Tensor = registered.without_elements(name, args, options)
                return made
            try:
                return options.deliver(make(*args, options=options, **keywords))
            except Exception as error:
                if hasattr(options, "_kind"):
                    check_memory(error, options._kind.device)
                raise

        show_signature(call, lambda made: _signature(made, taken))
        return public(method=method, function=not method)(call)

    return publish

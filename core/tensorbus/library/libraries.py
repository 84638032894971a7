"""Libraries: what holds definitions of ops and their kernels, and gives them up."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tensorbus._base.warning import user_frame
from tensorbus.library.operators import (
    META,
    Kernel,
    Operator,
    check_namespace,
    forget,
    key_of,
    parse_name,
    registrations,
)
from tensorbus.library.operators import (
    define as define_op,
)
from tensorbus.library.tagged_schemas import check_tagged
from tensorbus.library.tags import Tag, tuple_of
from tensorbus.op_engine.op_objects import OpOverload

Handle = Callable[[], None]
"""Undoes a registration."""

_whole: dict[str, str] = {}
"""The namespaces that a library of kind DEF has, and where it was made."""


def fallthrough_kernel() -> NoReturn:
    """Stands for no kernel: registered, it leaves the key to the next kernel that fits.

    >>> import tensorbus as torch
    >>> torch.library.define("example_fall::twice", "(Tensor x) -> Tensor")
    >>> torch.library.impl("example_fall::twice", "default", lambda x: x * 2)
    >>> torch.library.impl("example_fall::twice", "Autograd", torch.library.fallthrough_kernel)
    >>> torch.ops.example_fall.twice(torch.ones(1))
    tensor([2.])
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class KeySet:
    """What kernels registered ``with_keyset`` get first; it is handed on, and says nothing."""

    def __init__(self, key: str):
        self.key = key

    def __repr__(self) -> str:
        return f"DispatchKeySet({self.key})"


class Library:
    """Definitions of ops and kernels of a namespace, which live as long as this object.

    *kind* is ``"DEF"`` for the one library that defines a namespace, ``"FRAGMENT"`` for any number
    that define ops, ``"IMPL"`` for one with kernels alone. *dispatch_key* is the key of kernels
    that ``impl`` gets none for. ValueError for another kind or a namespace that is not free,
    RuntimeError for a second library of kind DEF.

    >>> import tensorbus as torch
    >>> library = torch.library.Library("example_lib", "DEF")
    >>> library.define("triple(Tensor x) -> Tensor")
    'triple'
    >>> library.impl("triple", lambda x: x * 3, "CPU")
    >>> torch.ops.example_lib.triple(torch.ones(2))
    tensor([3., 3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if kind != "IMPL":
            check_namespace(ns)
        place = where()
        if kind == "DEF" and ns in _whole:
            raise RuntimeError(
                "Only a single TORCH_LIBRARY can be used to register the namespace "
                f"{ns}; please put all of your definitions in a single TORCH_LIBRARY block.  If "
                "you were trying to specify implementations, consider using TORCH_LIBRARY_IMPL "
                "(which can be duplicated).  If you really intended to define operators for a "
                "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to "
                "explicitly indicate this.  Previous registration of TORCH_LIBRARY was registered "
                f"at {_whole[ns]}; latest registration was registered at {place}"
            )
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._handles: list[Handle] = []
        if dispatch_key:
            key_of(dispatch_key, device=False)
        if kind == "DEF":
            _whole[ns] = place
            self._handles.append(functools.partial(_free, ns))
        self._finish = weakref.finalize(self, _undo, self._handles)
        self._finish.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an op by its schema, which begins with its name; returns that name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError(
                f"Cannot define an operator inside of a TORCH_LIBRARY_IMPL block: {schema}"
            )
        return self.add_op(schema, tuple_of(tags), where())._opname

    def add_op(self, schema: str, tags: Sequence[Tag], place: str) -> Operator:
        """The op of ``define``."""
        op = define_op(self.ns, schema, tags, place)
        try:
            check_tagged(op._schema, tags)
        except ValueError:
            forget(op)
            raise
        self._handles.append(functools.partial(forget, op))
        return op

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register a kernel for a key: ``CPU``, ``CompositeExplicitAutograd``, ``Autograd``.

        Without one it is that of the library, or else a kernel made of other ops. The kernel gets a
        key set first, if *with_keyset*. Where there is one for the key, the last counts;
        RuntimeError unless *allow_override*.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        name = _name_of(op_name, "impl")
        key = key_of(dispatch_key or self.dispatch_key or "CompositeImplicitAutograd", False)
        if not allow_override and self.kernels(name, key):
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python "
                f"overriding {name.split('::')[-1]}'s behavior for "
                f"{dispatch_key or self.dispatch_key} dispatch key and {self.ns} namespace."
            )
        if with_keyset:
            fn = functools.partial(fn, KeySet(key))
        self.add_kernel(name, key, fn, where())

    def kernels(self, name: str, key: str) -> list[Kernel]:
        """What is registered for a key of an op."""
        return registrations(self._full(name)).kernels.setdefault(key, [])

    def _full(self, name: str) -> str:
        full = name if "::" in name else f"{self.ns}::{name}"
        if full.startswith("aten::"):
            raise NotImplementedError(
                f"{full}: the ops of this library get no kernels from programs. A plugin gives "
                "them kernels, as a backend or an overlay (docs/overlays.md); __torch_function__ "
                "and __torch_dispatch__ change what they do"
            )
        return full.removesuffix(".default")

    def add_kernel(
        self, name: str, key: str, fn: Callable[..., Any], place: str, checked: bool = False
    ) -> None:
        """Register a kernel for a key; *checked* says that its results must be new."""
        if fn is fallthrough_kernel:
            return
        found = self.kernels(name, key)
        kernel = Kernel(fn, place, checked)
        found.append(kernel)
        self._handles.append(functools.partial(_remove, found, kernel))

    def add_rule(self, name: str, cls: Any, fn: Callable[..., Any]) -> None:
        """Let *fn* answer for a class or mode with ``__torch_dispatch__``."""
        rules = registrations(self._full(name)).rules
        rules[cls] = fn
        self._handles.append(functools.partial(_remove_rule, rules, cls, fn))

    def fallback(
        self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False
    ) -> NoReturn:
        """A kernel for all ops of a key: refused, for no key here stands above all rows."""
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_"'
                f" but it is {self.ns}"
            )
        raise NotImplementedError(
            "Library.fallback: no kernel stands for all ops here. TorchDispatchMode sees each op "
            "of a thread; set_fallback lets the CPU run what a device lacks"
        )

    def _destroy(self) -> None:
        self._finish()


def _free(namespace: str) -> None:
    _whole.pop(namespace, None)


def _undo(handles: list[Handle]) -> None:
    while handles:
        handles.pop()()


def _remove(found: list[Kernel], kernel: Kernel) -> None:
    found[:] = [k for k in found if k is not kernel]


def _remove_rule(rules: dict[Any, Any], cls: Any, fn: Any) -> None:
    if rules.get(cls) is fn:
        del rules[cls]


def _name_of(op: Any, function: str) -> str:
    if isinstance(op, str):
        return op
    if isinstance(op, Operator):
        return op._name
    if isinstance(op, OpOverload):
        return op.name()
    raise RuntimeError(
        f"{function} should be passed either a name or an OpOverload object as the first argument, "
        f"got {type(op)}"
    )


def where() -> str:
    """The file and line of the program that called this library."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


_lasting: list[Library] = []
"""Libraries of what was registered without one: it lasts."""


def library_for(namespace: str, lib: Library | None) -> Library:
    """The library given, or one that lasts."""
    if lib is None:
        lib = Library(namespace, "FRAGMENT" if namespace != "aten" else "IMPL")
        _lasting.append(lib)
    return lib


# -- functions -------------------------------------------------------------------------------
def define(
    qualname: Any, schema: str, *args: Any, lib: Library | None = None, tags: Any = ()
) -> Any:
    """Define the op ``"namespace::name"`` by a schema without a name.

    It lives as long as *lib*, if that is given. ValueError for malformed names and schemas,
    RuntimeError for a name that is taken. With a Library as first argument and a whole schema it is
    a decorator of the kernel, the older form.

    >>> import tensorbus as torch
    >>> torch.library.define("example_define::half", "(Tensor x) -> Tensor")
    >>> torch.ops.example_define.half.default._schema
    example_define::half(Tensor x) -> Tensor
    """
    if isinstance(qualname, Library):
        return _defining(qualname, schema, *args)
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    namespace, name = parse_name(qualname)
    used = library_for(namespace, lib)
    if not (schema.startswith("(") and ") -> " in schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> '
            f'Tensor" but got "{schema}"'
        )
    used.add_op(name + schema, tuple_of(tags), where())
    return None


def _defining(lib: Library, schema: str, alias_analysis: str = "") -> Callable[..., Any]:
    def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
        lib.define(schema, alias_analysis)
        lib.impl(schema.split("(")[0].strip(), f)
        return f

    return wrap


def impl(
    qualname: Any,
    types: str | Sequence[str] = "",
    func: Any = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a kernel of an op for device types, such as ``"cpu"``; a decorator without *func*.

    ``"default"`` is the kernel of all devices that have none of their own. Kernels of any backend's
    device type are registered so. RuntimeError for a type that no installed plugin offers. With a
    Library as first argument the others are the op's name and a dispatch key, the older form.

    >>> import tensorbus as torch
    >>> torch.library.define("example_impl::plus_one", "(Tensor x) -> Tensor")
    >>> @torch.library.impl("example_impl::plus_one", "cpu")
    ... def plus_one(x):
    ...     return x + 1
    >>> torch.ops.example_impl.plus_one(torch.ones(1))
    tensor([2.])
    """
    if isinstance(qualname, Library):
        return _implementing(qualname, types, func or "")
    place = where()
    keys = {key_of(t, device=True) for t in ((types,) if isinstance(types, str) else types)}

    def register(func: Callable[..., Any]) -> None:
        used = library_for(parse_name(qualname)[0], lib)
        for key in keys:
            used.add_kernel(qualname, key, func, place)

    return register if func is None else register(func)


def _implementing(lib: Library, name: Any, key: str) -> Callable[..., Any]:
    def wrap(f: Callable[..., Any]) -> Callable[..., Any]:
        lib.impl(name, f, key)
        return f

    return wrap


def add_fake(lib: Library, name: str, fn: Callable[..., Any], place: str) -> None:
    """Register what runs on tensors without values."""
    from tensorbus.library.fakes import without_sizes

    lib.add_kernel(name, META, without_sizes(lib._full(name), fn, place), place)

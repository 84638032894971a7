"""Ops that programs define: their kernels, and the objects under ``torch.ops`` that call them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from tensorbus import discovery
from tensorbus._base.modes import OVERRIDES
from tensorbus.library.arguments import Values, bind, shortened
from tensorbus.library.schema import FunctionSchema, parse_schema
from tensorbus.library.tags import Tag
from tensorbus.op_engine import op_objects, override
from tensorbus.op_engine.batches import LIFTING
from tensorbus.rows.registry import Row

DEFAULT = "CompositeExplicitAutograd"
"""The key of a kernel for all devices that have none of their own."""
COMPOSED = "CompositeImplicitAutograd"
"""The key of one that calls other ops, and is seen through."""
AUTOGRAD = "Autograd"
VMAP = "FuncTorchBatched"
META = "meta"
AUTOCAST = "Autocast"


def key_of(text: str, device: bool) -> str:
    """The key of kernels that a text names: ``CPU``, ``AutogradCPU``; with *device* ``cpu`` too.

    Device types stand for themselves, in small letters. RuntimeError for what is neither.
    """
    if text in (DEFAULT, COMPOSED, AUTOGRAD):
        return text
    if device and text == "default":
        return DEFAULT
    for prefix in (AUTOGRAD, ""):
        type = text.removeprefix(prefix)
        if text.startswith(prefix) and type[:1].isupper() and _is_device(type.lower()):
            return prefix + type.lower()
    if device:
        return discovery.check_name(text)
    raise RuntimeError(f"could not parse dispatch key: {text}")


def _is_device(type: str) -> bool:
    try:
        return discovery.check_name(type) == type
    except RuntimeError:
        return False


class Kernel:
    """A function that a library has registered for a key of an op."""

    __slots__ = ("checked", "function", "place")

    def __init__(self, function: Callable[..., Any], place: str, checked: bool):
        self.function = function
        self.place = place
        """The file and line of its registration."""
        self.checked = checked
        """Whether its results must be new tensors."""


class Registrations:
    """The kernels of an op, which may be given before it is defined."""

    def __init__(self) -> None:
        self.kernels: dict[str, list[Kernel]] = {}
        """For each key what was registered, of which the last counts."""
        self.rules: dict[Any, Callable[..., Any]] = {}
        """What answers for a class or mode with ``__torch_dispatch__``."""

    def find(self, key: str) -> Kernel | None:
        """The kernel of a key."""
        found = self.kernels.get(key)
        return found[-1] if found else None


_registrations: dict[str, Registrations] = {}


def registrations(name: str) -> Registrations:
    """Those of the op with a full name, ``mylib::add.out``."""
    return _registrations.setdefault(name, Registrations())


class Operator(op_objects.OpOverload):
    """An op of a library: call it to run its kernel for the device of its arguments."""

    definition: Any = None
    """The ``CustomOpDef`` that made it."""

    def __init__(self, packet: Packet, schema: FunctionSchema, tags: Sequence[Tag]):
        super().__init__(packet, schema.overload_name or "default", self.run)
        self._schema = schema
        self._name = schema.full_name
        self._opname = packet.__name__
        self.tags = list(tags)
        self.registered = registrations(schema.full_name)
        names = ", ".join(a.name + ":T" * a.type.is_tensor for a in schema.arguments)
        self.row = Row(self._name, names, "general", str(schema))
        op_objects.adopt(self.row, self)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Check the arguments and call the op."""
        return self.call(self, bind(self._schema, args, kwargs), args, kwargs)

    def run_values(self, values: Values) -> Any:
        """Call the op with checked values."""
        from tensorbus.library.calling import call  # below this module, which it uses

        return call(self, values)

    def call(self, function: Any, values: Values, args: Any, kwargs: Any) -> Any:
        """Call the op with checked values; *function* is what ``__torch_function__`` sees."""
        if OVERRIDES.on:
            asked = override.overriding(values)
            if asked and asked[0] is not LIFTING:
                return override.dispatch(function, asked, args, kwargs)
        return self.run_values(values)

    def seen(self, arguments: Values) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return shortened(self._schema, arguments)

    def rule_for(self, cls: type) -> Callable[..., Any] | None:
        return self.registered.rules.get(cls)


class Packet(op_objects.OpOverloadPacket):
    """The overloads of an op of a library; a call runs the first whose arguments fit."""

    def __init__(self, namespace: str, name: str):
        self.namespace = namespace
        self.__name__ = name
        self._qualified_op_name = f"{namespace}::{name}"
        self.own: dict[str, Operator] = {}

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.own.get(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        return found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        told = []
        for op in self.own.values():
            try:
                values = bind(op._schema, args, kwargs)
            except RuntimeError as error:
                if len(self.own) == 1:
                    raise
                told.append(f"{error}\n")
            else:
                return op.call(self, values, args, kwargs)
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n"
            + "\n".join(told)
        )

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self.own)


# -- definitions -------------------------------------------------------------------------------
_places: dict[str, str] = {}
"""Where each op was defined."""


def check_namespace(name: str) -> None:
    """ValueError for a namespace that no library can have."""
    if name == "prim" or importlib.util.find_spec(f"tensorbus.ops.{name}"):
        raise ValueError(
            f"{name} is a reserved namespace. Please try creating a library with another name."
        )


def define(namespace: str, text: str, tags: Sequence[Tag], place: str) -> Operator:
    """Make an op by its schema, in which its name stands."""
    schema = parse_schema(text, namespace)
    space, _, name = schema.name.partition("::")
    if space != namespace:
        raise RuntimeError(
            f"Explicitly provided namespace ({space}) in operator name does not match namespace of "
            f"enclosing TORCH_LIBRARY block ({namespace})."
        )
    packets = op_objects.namespace(space).packets
    packet = packets.get(name)
    if not isinstance(packet, Packet):
        if packet is not None or (space == "aten" and op_objects.find_packet(space, name)):
            raise RuntimeError(
                f"Tried to register an operator ({schema}) with the name of an op of this library: "
                "give it another name, or another namespace"
            )
        packet = Packet(space, name)
    overload = schema.overload_name or "default"
    if overload in packet.own:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name "
            "multiple times. Each overload's schema should only be registered with a single call "
            f"to def(). Duplicate registration: registered at {place}. Original registration: "
            f"registered at {_places[schema.full_name]}"
        )
    packet.own[overload] = op = Operator(packet, schema, tags)
    packets[name] = packet
    _places[schema.full_name] = place
    return op


def forget(op: Operator) -> None:
    """Undo a definition."""
    packets = op_objects.namespace(op.namespace).packets
    packet = op.overloadpacket
    assert isinstance(packet, Packet)
    if packet.own.get(op._overloadname) is op:
        del packet.own[op._overloadname]
        _places.pop(op._name, None)
        op_objects.forget(op.row)
        if not packet.own and packets.get(op._opname) is packet:
            del packets[op._opname]


def look_up(name: str) -> Any:
    """The op of a full name; AttributeError."""
    space, rest = parse_name(name)
    base, _, overload = rest.partition(".")
    return getattr(getattr(op_objects.namespace(space), base), overload or "default")


def parse_name(name: str) -> tuple[str, str]:
    """The namespace and the rest of a full name; ValueError."""
    parts = name.split("::")
    if len(parts) != 2:
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", but got '
            f"{name}. The qualname passed to the torch.library APIs must consist of a namespace "
            "and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]

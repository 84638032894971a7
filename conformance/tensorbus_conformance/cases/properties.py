"""Level 2: what dtypes, devices, shapes and defaults say of themselves."""

from __future__ import annotations

import functools
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

FAMILY = "dtypes"


def cases() -> Iterator[Case]:
    part = functools.partial
    for d in formats.ALL:
        yield Case(f"L2/dtype/{d.name}/attributes", FAMILY, part(_attributes, d))
    for d in (*formats.FLOATS, *formats.COMPLEX):
        yield Case(f"L2/finfo/{d.name}/limits", FAMILY, part(_float_limits, d))
    for d in formats.INTS:
        yield Case(f"L2/iinfo/{d.name}/limits", FAMILY, part(_integer_limits, d))
    plain: dict[str, Callable[[Trial], None]] = {
        "finfo/refused": _refused_info,
        "dtype/aliases": _aliases,
        "broadcast_shapes/shapes": _shapes,
        "device/parts": _device,
        "device/refused": _refused_device,
        "get_default_device/nested": _nested_defaults,
        "is_grad_enabled/modes": _grad_modes,
        "tensorbus/constants": _constants,
    }
    for name, check in plain.items():
        op, _, variant = name.partition("/")
        yield Case(f"L2/{op}/float32/{variant}", FAMILY, check)


def _is(found: Any, expected: Any, what: str) -> None:
    if type(found) is not type(expected) or found != expected:
        raise Mismatch(f"{what} is {found!r}, expected {expected!r}")


def _refuses(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    raised = expect_raises(call, error)
    first = str(raised).partition("\n")[0]
    if first != text:
        raise Mismatch(f"the message is {first!r}, expected {text!r}")


def _attributes(d: Dtype, _: Trial) -> None:
    complex_, floating = d in formats.COMPLEX, d in formats.FLOATS
    _is(repr(d), f"torch.{d.name}", "repr")
    _is(d.itemsize, formats.host_dtype(d).itemsize, "itemsize")
    _is(d.is_complex, complex_, "is_complex")
    _is(d.is_floating_point, floating, "is_floating_point")
    _is(d.is_signed, d not in (formats.BOOL, formats.UINT8), "is_signed")
    if pickle.loads(pickle.dumps(d)) is not d or getattr(tensorbus, d.name) is not d:
        raise Mismatch(f"{d.name} is not one object")
    if complex_ and d.to_real().itemsize * 2 != d.itemsize:
        raise Mismatch(f"the real dtype of {d.name} is {d.to_real().name}")
    if d in (formats.FLOAT32, formats.FLOAT64):
        _is(d.to_complex().itemsize, 2 * d.itemsize, "the size of the complex dtype")


def _aliases(_: Trial) -> None:
    for name, d in {
        "half": formats.FLOAT16, "float": formats.FLOAT32, "double": formats.FLOAT64,
        "short": formats.INT16, "int": formats.INT32, "long": formats.INT64,
        "cfloat": formats.COMPLEX64, "cdouble": formats.COMPLEX128,
    }.items():  # fmt: skip
        if getattr(tensorbus, name) is not d:
            raise Mismatch(f"tensorbus.{name} is {getattr(tensorbus, name)}, expected {d.name}")


def _float_limits(d: Dtype, _: Trial) -> None:
    info, real = tensorbus.finfo(d), d.to_real()
    _is(info.dtype, real.name, "dtype")
    _is(info.bits, 8 * real.itemsize, "bits")
    _is(info.eps, 2 * formats.unit_roundoff(real), "eps")
    _is((info.min, info.max), (-formats.largest(real), formats.largest(real)), "(min, max)")
    _is(info.tiny, formats.smallest_normal(real), "tiny")
    _is(info.smallest_normal, formats.smallest_normal(real), "smallest_normal")
    digits = math.floor(-math.log10(2 * formats.unit_roundoff(real)))
    _is(info.resolution, 10.0**-digits, "resolution")


def _integer_limits(d: Dtype, _: Trial) -> None:
    info = tensorbus.iinfo(d)
    _is(info.dtype, d.name, "dtype")
    _is(info.bits, d.bits, "bits")
    _is((info.min, info.max), formats.limits(d), "(min, max)")
    low, high = formats.limits(d)
    _is(repr(info), f"iinfo(min={low}, max={high}, dtype={d.name})", "repr")


def _refused_info(_: Trial) -> None:
    part = functools.partial
    text = "torch.{0}() requires {1} input type. Use torch.{2} to handle 'torch.{0}'"
    floats = text.format("finfo", "a floating point", "iinfo")
    integers = text.format("iinfo", "an integer", "finfo")
    _refuses(part(tensorbus.finfo, formats.INT32), TypeError, floats)
    _refuses(part(tensorbus.iinfo, formats.FLOAT32), TypeError, integers)
    _refuses(
        part(tensorbus.iinfo, formats.BOOL),
        TypeError,
        "torch.bool is not supported by torch.iinfo",
    )
    for name, first in (("promote_types", "type1"), ("can_cast", "from_")):
        say = f"{name}(): argument '{first}' (position 1) must be torch.dtype, not int"
        _refuses(part(getattr(tensorbus, name), 1, formats.INT32), TypeError, say)


def _shapes(_: Trial) -> None:
    for shapes, expected in (
        (((2, 1), (3,)), (2, 3)), (((2, 3), (1,), (4, 1, 1)), (4, 2, 3)), ((), ()),
        (((0,), (1,)), (0,)), (((), (5,)), (5,)), ((3, (2, 1)), (2, 3)),
    ):  # fmt: skip
        found = tensorbus.broadcast_shapes(*shapes)
        _is(tuple(found), expected, f"broadcast_shapes{shapes}")
        if not isinstance(found, tensorbus.Size):
            raise Mismatch(f"broadcast_shapes gave a {type(found).__name__}, expected a Size")
    _refuses(
        lambda: tensorbus.broadcast_shapes((2,), (3,)),
        RuntimeError,
        "Attempting to broadcast a dimension of length 3 at -1! Mismatching argument at index 1 "
        "had (3,); but expected shape should be broadcastable to [2]",
    )


def _device(t: Trial) -> None:
    kind, _, index = t.device.type.partition(":")
    device = tensorbus.device(t.device.type)
    _is(device.type, kind, "type")
    _is(device.index, int(index), "index")
    _is(str(device), f"{kind}:{index}", "str")
    _is(repr(device), f"device(type='{kind}', index={index})", "repr")
    _is(device, tensorbus.device(kind, int(index)), "a device of two parts")
    _is(device, tensorbus.device(device), "a device of a device")
    _is(hash(device), hash(tensorbus.device(kind, int(index))), "the hash of an equal device")
    _is(pickle.loads(pickle.dumps(device)), device, "a pickled device")
    _is(tensorbus.device(kind).index, None, "the index that was not named")
    if tensorbus.device(kind) == device:
        raise Mismatch("a device without an index equals one with it")
    if tensorbus.empty(0, device=kind).device.type != kind:
        raise Mismatch(f"a tensor made on {kind!r} is elsewhere")


def _refused_device(t: Trial) -> None:
    kind = t.device.type.partition(":")[0]
    for text in (f"{kind}:x", f"{kind}:-1", f"{kind}:01"):
        say = f"Invalid device string: '{text}'"
        _refuses(functools.partial(tensorbus.device, text), RuntimeError, say)
    say = f"type (string) must not include an index because index was passed explicitly: {kind}:0"
    _refuses(functools.partial(tensorbus.device, f"{kind}:0", 0), RuntimeError, say)
    expect_raises(functools.partial(tensorbus.device, "no-such-device"), RuntimeError)


def _nested_defaults(t: Trial) -> None:
    before = tensorbus.get_default_device()
    device = tensorbus.device(t.device.type)
    with device:
        _is(tensorbus.get_default_device(), device, "the default device within")
        with tensorbus.device("cpu"):
            _is(tensorbus.get_default_device(), tensorbus.device("cpu"), "the inner default")
        _is(tensorbus.get_default_device(), device, "the default device after the inner one")
    _is(tensorbus.get_default_device(), before, "the default device afterwards")


def _grad_modes(t: Trial) -> None:
    """Nested modes, as contexts and as decorators, and what a result says under each."""
    x = tensorbus.ones(2, device=t.device.type, requires_grad=True)

    @tensorbus.no_grad()
    def without() -> Any:
        return x * 2

    _is(tensorbus.is_grad_enabled(), True, "is_grad_enabled()")
    with tensorbus.no_grad():
        _is((x * 2).requires_grad, False, "requires_grad under no_grad")
        with tensorbus.enable_grad():
            _is((x * 2).requires_grad, True, "requires_grad under enable_grad")
        with tensorbus.set_grad_enabled(True):
            _is(tensorbus.is_grad_enabled(), True, "is_grad_enabled() after being set")
        _is(tensorbus.is_grad_enabled(), False, "is_grad_enabled() after the inner mode")
    _is(without().requires_grad, False, "requires_grad in a decorated function")
    with tensorbus.inference_mode():
        _is((x * 2).requires_grad, False, "requires_grad under inference_mode")
    tensorbus.set_grad_enabled(False)
    try:
        _is((x * 2).requires_grad, False, "requires_grad after set_grad_enabled(False)")
    finally:
        tensorbus.set_grad_enabled(True)
    _is((x * 2).requires_grad, True, "requires_grad afterwards")


def _constants(_: Trial) -> None:
    _is((tensorbus.pi, tensorbus.e), (math.pi, math.e), "(pi, e)")
    _is(tensorbus.inf, math.inf, "inf")
    _is(tensorbus.newaxis, None, "newaxis")
    if tensorbus.nan == tensorbus.nan:
        raise Mismatch(f"nan is {tensorbus.nan}")

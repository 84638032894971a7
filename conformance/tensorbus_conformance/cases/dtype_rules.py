"""Level 2: ``promote_types``, ``can_cast``, ``result_type``, and what the default dtype decides."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats, promotion_rules
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.promotion import NUMBERS
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.promotion_rules import common, of_number
from tensorbus_conformance.trial import Trial

FAMILY = "dtypes"


def cases() -> Iterator[Case]:
    part = functools.partial
    for d in formats.ALL:
        yield Case(f"L2/promote_types/{d.name}/table", FAMILY, part(_promote_types, d))
        yield Case(f"L2/can_cast/{d.name}/table", FAMILY, part(_can_cast, d))
        yield Case(f"L2/result_type/{d.name}/tensors", FAMILY, part(_result_type, d), (d,))
        yield Case(f"L2/result_type/{d.name}/numbers", FAMILY, part(_with_numbers, d), (d,))
    yield Case("L2/result_type/float32/plain-numbers", FAMILY, _numbers)
    for d in formats.FLOATS:
        yield Case(f"L2/set_default_dtype/{d.name}/results", FAMILY, part(_default, d), (d,))
    yield Case("L2/set_default_dtype/int64/refused", FAMILY, _refused)


def _same(found: Dtype, expected: Dtype, what: str) -> None:
    if found is not expected:
        raise Mismatch(f"{what} is {found.name}, expected {expected.name}")


def _promote_types(d: Dtype, _: Trial) -> None:
    for other in formats.ALL:
        found = tensorbus.promote_types(d, other)
        _same(found, promotion_rules.PAIRS[d, other], f"promote_types({d.name}, {other.name})")


def _can_cast(d: Dtype, _: Trial) -> None:
    for other in formats.ALL:
        found, expected = tensorbus.can_cast(d, other), promotion_rules.can_cast(d, other)
        if found is not expected:
            raise Mismatch(f"can_cast({d.name}, {other.name}) is {found}, expected {expected}")


def _result_type(d: Dtype, t: Trial) -> None:
    device = t.device.type
    for other in (x for x in formats.ALL if x in t.capabilities.dtypes):
        for ranks in ((1, 1), (1, 0), (0, 1), (0, 0)):
            x, y = (
                tensorbus.zeros((2,) * rank, dtype=kind, device=device)
                for rank, kind in zip(ranks, (d, other), strict=True)
            )
            groups: tuple[list[Dtype], list[Dtype]] = ([], [])
            for rank, kind in zip(ranks, (d, other), strict=True):
                groups[1 - rank].append(kind)
            what = f"result_type of {d.name} and {other.name} of ranks {ranks}"
            _same(tensorbus.result_type(x, y), common(*groups), what)


def _with_numbers(d: Dtype, t: Trial) -> None:
    for rank in (0, 1):
        x = tensorbus.zeros((2,) * rank, dtype=d, device=t.device.type)
        for number in NUMBERS:
            dims, scalars = ([d], []) if rank else ([], [d])
            expected = common(dims, scalars, [of_number(number)])
            for pair in ((x, number), (number, x)):
                what = f"result_type of {d.name} of rank {rank} and {number!r}"
                _same(tensorbus.result_type(*pair), expected, what)


def _numbers(_: Trial) -> None:
    for x in NUMBERS:
        for y in NUMBERS:
            expected = common(numbers=[of_number(x), of_number(y)])
            _same(tensorbus.result_type(x, y), expected, f"result_type({x!r}, {y!r})")


@contextlib.contextmanager
def _default_dtype(d: Dtype) -> Iterator[None]:
    before = tensorbus.get_default_dtype()
    tensorbus.set_default_dtype(d)
    try:
        yield
    finally:
        tensorbus.set_default_dtype(before)


def _default(d: Dtype, t: Trial) -> None:
    """What takes the default dtype: Python floats, true division, functions of integers."""
    device = t.device.type
    whole = tensorbus.ones(2, dtype=formats.INT64, device=device)
    half = d is formats.FLOAT16
    pair = tensorbus.complex32 if half else promotion_rules.complex_of(d)
    with _default_dtype(d):
        found = {
            "zeros(2)": tensorbus.zeros(2, device=device),
            "tensor([1.5])": tensorbus.tensor([1.5], device=device),
            "full((2,), 1.5)": tensorbus.full((2,), 1.5, device=device),
            "arange(0.0, 2.0)": tensorbus.arange(0.0, 2.0, device=device),
            "rand(2)": tensorbus.rand(2, device=device),
            "an integer times a float": whole * 1.5,
            "an integer over an integer": whole / 2,
            "exp of an integer": tensorbus.exp(whole),
            "a new tensor of a float": whole.new_tensor([1.5], dtype=d),
        }
        number = tensorbus.result_type(whole, 1j)
        info = tensorbus.finfo()
    for what, made in found.items():
        _same(made.dtype, d, f"with {d.name} as default, the dtype of {what}")
    _same(number, pair, f"with {d.name} as default, result_type of an integer and 1j")
    if info.dtype != d.name:
        raise Mismatch(f"with {d.name} as default, finfo() is of {info.dtype}")
    if formats.COMPLEX64 not in t.capabilities.dtypes or pair not in t.capabilities.dtypes:
        return
    with _default_dtype(d):
        made = tensorbus.tensor([1j], device=device)
    _same(made.dtype, pair, f"with {d.name} as default, the dtype of tensor([1j])")


def _refused(_: Trial) -> None:
    before = tensorbus.get_default_dtype()
    try:
        tensorbus.set_default_dtype(formats.INT64)
    except TypeError as error:
        expected = "only floating-point types are supported as the default type"
        if str(error) != expected:
            raise Mismatch(f"the message is {str(error)!r}, expected {expected!r}") from None
    else:
        raise Mismatch("set_default_dtype(int64) raised nothing, expected TypeError")
    if tensorbus.get_default_dtype() is not before:
        raise Mismatch("a refused default dtype was kept")

"""The element types of tensors, their promotion, and their limits."""

from __future__ import annotations

import math
from builtins import bool as bool_
from builtins import int as int_
from typing import Any

_BY_NAME: dict[str, dtype] = {}

# Promotion categories, lowest first: a result takes the highest category among its operands.
BOOL, INTEGER, FLOAT, COMPLEX = range(4)


class dtype:
    """The type of a tensor's elements; one object for each, so compare with ``is`` or ``==``.

    >>> import tensorbus
    >>> tensorbus.float32.itemsize, tensorbus.float32.is_floating_point
    (4, True)
    """

    __slots__ = ("bits", "category", "computes", "is_complex", "is_floating_point", "is_signed",
                 "itemsize", "legacy", "name")  # fmt: skip

    name: str
    itemsize: int
    category: int
    bits: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool
    legacy: str
    computes: bool_

    def __init__(
        self, name: str, itemsize: int_, category: int_, legacy: str, computes: bool_ = True
    ):
        self.name = name
        self.itemsize = itemsize
        self.bits = itemsize * 8
        self.category = category
        self.is_floating_point = category == FLOAT
        self.is_complex = category == COMPLEX
        self.is_signed = not name.startswith("uint") and name != "bool"
        self.computes = computes
        self.legacy = legacy
        _BY_NAME[name] = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return dtype_by_name, (self.name,)

    def to_real(self) -> dtype:
        """The dtype of this one's real parts."""
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(
            self.name, self
        )

    def to_complex(self) -> dtype:
        """The complex dtype with parts of this one's precision, for bfloat16 complex64."""
        if not self.computes and not self.is_complex:
            name = self.legacy.removesuffix("Tensor")
            raise RuntimeError(f"Unknown Complex ScalarType for {name}")
        if self.name in ("float16", "complex32"):
            return complex32
        return complex128 if self.name in ("float64", "complex128") else complex64

    def widened(self) -> dtype:
        """The dtype that NumPy has for all of its numbers: itself, if that has it."""
        if self.name == "bfloat16" or self.name.startswith("float8"):
            return float32
        return complex64 if self.name == "complex32" else self


def dtype_by_name(name: str) -> dtype:
    """The dtype of that name; KeyError where there is none."""
    return _BY_NAME[name]


def as_dtype(value: Any) -> dtype | None:
    """The dtype itself, the one that a Python type stands for, or None for anything else."""
    if type(value) is dtype:
        return value
    if value.__class__ is not type:
        return None
    return {"bool": bool, "int": int64, "float": float64, "complex": complex128}.get(value.__name__)


def checked(value: Any, function: str = "") -> dtype:
    """The dtype, or the one that a Python type stands for; TypeError for anything else."""
    found = as_dtype(value)
    if found is None:
        where = f"{function}(): " if function else ""
        raise TypeError(f"{where}argument 'dtype' must be torch.dtype, not {type(value).__name__}")
    return found


float16 = half = dtype("float16", 2, FLOAT, "HalfTensor")
bfloat16 = dtype("bfloat16", 2, FLOAT, "BFloat16Tensor")
float32 = float = dtype("float32", 4, FLOAT, "FloatTensor")
float64 = double = dtype("float64", 8, FLOAT, "DoubleTensor")
complex64 = cfloat = dtype("complex64", 8, COMPLEX, "ComplexFloatTensor")
complex128 = cdouble = dtype("complex128", 16, COMPLEX, "ComplexDoubleTensor")
uint8 = dtype("uint8", 1, INTEGER, "ByteTensor")
int8 = dtype("int8", 1, INTEGER, "CharTensor")
int16 = short = dtype("int16", 2, INTEGER, "ShortTensor")
int32 = int = dtype("int32", 4, INTEGER, "IntTensor")
int64 = long = dtype("int64", 8, INTEGER, "LongTensor")
bool = dtype("bool", 1, BOOL, "BoolTensor")

ALL: tuple[dtype, ...] = tuple(_BY_NAME.values())
"""The dtypes that ops compute on."""

HALVES: tuple[dtype, ...] = (float16, bfloat16)
"""What arrays hold alone: ops compute in float32, and round once."""

uint16 = dtype("uint16", 2, INTEGER, "UInt16Tensor", False)
uint32 = dtype("uint32", 4, INTEGER, "UInt32Tensor", False)
uint64 = dtype("uint64", 8, INTEGER, "UInt64Tensor", False)
float8_e4m3fn = dtype("float8_e4m3fn", 1, FLOAT, "Float8_e4m3fnTensor", False)
float8_e5m2 = dtype("float8_e5m2", 1, FLOAT, "Float8_e5m2Tensor", False)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", 1, FLOAT, "Float8_e4m3fnuzTensor", False)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", 1, FLOAT, "Float8_e5m2fnuzTensor", False)
complex32 = chalf = dtype("complex32", 4, COMPLEX, "ComplexHalfTensor", False)

STORED: tuple[dtype, ...] = tuple(d for d in _BY_NAME.values() if not d.computes)
"""The dtypes that tensors are kept and converted in, and that few ops compute on."""

_promoted: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds the values of both, by PyTorch's rules.

    >>> import tensorbus
    >>> tensorbus.promote_types(tensorbus.uint8, tensorbus.int8)
    torch.int16

    Source: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    if type1 is type2:
        return type1
    found = _promoted.get((type1, type2))
    if found is None:
        _check("promote_types", type1=type1, type2=type2)
        found = _promoted[type1, type2] = _promote(type1, type2)
    return found


def _check(function: str, **arguments: Any) -> None:
    for position, (name, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, dtype):
            raise TypeError(
                f"{function}(): argument '{name}' (position {position}) must be torch.dtype, "
                f"not {type(value).__name__}"
            )


def _promote_stored(a: dtype, b: dtype) -> dtype:
    """The same where one of them is for storage."""
    refused = ""
    if any(d.name.startswith("float8") for d in (a, b)):
        refused = "Float8 Types"
    elif any(d.name.startswith("uint") and not d.computes for d in (a, b)):
        floating = next((d for d in (a, b) if d.category == FLOAT), None)
        if floating is not None:
            return floating
        refused = "uint16, uint32, uint64 types"
    if refused:
        first, second = (d.legacy.removesuffix("Tensor") for d in (a, b))
        raise RuntimeError(
            f"Promotion for {refused} is not supported, attempted to promote {first} and {second}"
        )
    other = b if a is complex32 else a
    if other.category < FLOAT or other is float16:
        return complex32
    return _promote(complex64, other)


def _promote(a: dtype, b: dtype) -> dtype:
    if not (a.computes and b.computes):
        return _promote_stored(a, b)
    if a.category < b.category:
        a, b = b, a
    if a.category == COMPLEX:
        wide = complex128 in (a, b) or b is float64
        return complex128 if wide else complex64
    if a.category == FLOAT:
        if b.category < FLOAT:
            return a
        if {a, b} == {float16, bfloat16}:
            return float32
        order = {float16: 0, bfloat16: 0, float32: 1, float64: 2}
        return a if order[a] >= order[b] else b
    if b.category == BOOL:
        return a
    if uint8 in (a, b):
        other = b if a is uint8 else a
        return int16 if other is int8 else other
    return a if a.itemsize >= b.itemsize else b


def can_cast(from_: dtype, to: dtype) -> Any:  # bool names a dtype in this module
    """Whether PyTorch's rules let a result of *from_* be stored into *to*."""
    _check("can_cast", from_=from_, to=to)
    if from_.category == COMPLEX and to.category != COMPLEX:
        return False
    if from_.category == FLOAT and to.category < FLOAT:
        return False
    return not (from_.category == INTEGER and to.category == BOOL)


class iinfo:
    """The limits of an integer dtype.

    >>> import tensorbus
    >>> tensorbus.iinfo(tensorbus.int8).max
    127
    """

    def __init__(self, type: dtype):
        type = as_dtype(type) or type
        _check("iinfo", type=type)
        if type.category != INTEGER:
            raise TypeError(
                "torch.bool is not supported by torch.iinfo"
                if type is bool
                else "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        self.dtype = type.name
        self.bits = type.bits
        self.min = -(2 ** (type.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (type.bits - 1) - 1 if type.is_signed else 2**type.bits - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


_default = float32


def get_default_dtype() -> dtype:
    """The floating point dtype of new tensors."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of new floating point tensors; TypeError for any other dtype."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _default = d


# name: (mantissa bits with the hidden one, least exponent, largest exponent)
_FLOAT_FORMATS = {
    "float16": (11, -14, 15),
    "bfloat16": (8, -126, 127),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
    "float8_e4m3fn": (4, -6, 8),
    "float8_e5m2": (3, -14, 15),
    "float8_e4m3fnuz": (4, -7, 7),
    "float8_e5m2fnuz": (3, -15, 15),
}


class finfo:
    """The limits of a floating point dtype; a complex one gives those of its parts.

    >>> import tensorbus
    >>> tensorbus.finfo(tensorbus.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: dtype | None = None):
        type = get_default_dtype() if type is None else as_dtype(type) or type
        _check("finfo", type=type)
        type = type.to_real()
        if type.category != FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        digits, low, high = _FLOAT_FORMATS[type.name]
        self.dtype = type.name
        self.bits = type.bits
        self.eps = math.ldexp(1.0, 1 - digits)
        self.max = math.ldexp(2.0 - math.ldexp(1.0, 1 - digits), high)
        if type is float8_e4m3fn:  # the largest pattern is its NaN
            self.max = 448.0
        self.min = -self.max
        self.tiny = self.smallest_normal = math.ldexp(1.0, low)
        self.resolution = 10.0 ** -math.floor((digits - 1) * math.log10(2))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )

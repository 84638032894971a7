"""Level 4: what factories take from defaults, what they share, and the edges of their ranges."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

FAMILY = "create"
_F32 = formats.FLOAT32


def cases() -> Iterator[Case]:
    part = functools.partial
    plain: dict[str, Callable[[Trial], None]] = {
        "tensor/inferred-dtype": _inferred,
        "full/inferred-dtype": _inferred_fill,
        "arange/inferred-dtype": _inferred_range,
        "zeros/default-device": _default_device,
        "zeros/out": _out,
        "ones/requires-grad": _requires_grad,
        "tensor/copies": _copies,
        "as_tensor/shares": _as_tensor,
        "from_numpy/shares": _from_numpy,
        "zeros_like/layout": _like_layout,
        "set_default_tensor_type/dtype": _tensor_type,
        "Tensor/constructor": _constructor,
        "FloatTensor/of-the-device": _typed,
    }
    for name, check in plain.items():
        op, _, variant = name.partition("/")
        yield Case(f"L4/{op}/float32/{variant}", FAMILY, check, (_F32,))
    for d in (*formats.INTS, *formats.FLOATS):
        yield Case(f"L4/arange/{d.name}/edges", FAMILY, part(_edges, d), (d,))
    for d in formats.FLOATS:
        yield Case(f"L4/linspace/{d.name}/ends", FAMILY, part(_ends, d), (d,))


def _is(found: Any, expected: Any, what: str) -> None:
    if found is not expected and found != expected:
        raise Mismatch(f"{what} is {found}, expected {expected}")


# -- dtypes ----------------------------------------------------------------------------------
def _inferred(t: Trial) -> None:
    device = t.device.type
    for data, expected in (
        (True, formats.BOOL), ([True, False], formats.BOOL), (3, formats.INT64),
        ([1, 2], formats.INT64), ([True, 2], formats.INT64), ([1, 2.0], _F32), (1.5, _F32),
        ([], _F32), ([[]], _F32), (np.int32(3), formats.INT32),
        (np.zeros(2, np.uint8), formats.UINT8), (np.zeros((), np.int16), formats.INT16),
        ([np.float32(1)], _F32), (range(3), formats.INT64), ([np.int8(1), 2], formats.INT64),
    ):  # fmt: skip
        made = tensorbus.tensor(data, device=device)
        _is(made.dtype, expected, f"the dtype of tensor({data!r})")
    if formats.FLOAT64 in t.capabilities.dtypes:
        made = tensorbus.tensor(np.zeros(2), device=device)
        _is(made.dtype, formats.FLOAT64, "the dtype of a float64 array's tensor")
    if formats.COMPLEX64 in t.capabilities.dtypes:
        for mixed in (1j, [1, 1j], [True, 2.0, 1j]):
            made = tensorbus.tensor(mixed, device=device)
            _is(made.dtype, formats.COMPLEX64, f"the dtype of tensor({mixed!r})")


def _inferred_fill(t: Trial) -> None:
    for value, expected in ((True, formats.BOOL), (3, formats.INT64), (2.5, _F32)):
        made = tensorbus.full((2,), value, device=t.device.type)
        _is(made.dtype, expected, f"the dtype of full((2,), {value!r})")
        _is(made.tolist(), [value, value], f"full((2,), {value!r})")


def _inferred_range(t: Trial) -> None:
    for args, expected in (((3,), formats.INT64), ((1, 4), formats.INT64), ((3.0,), _F32),
                           ((0, 2, 0.5), _F32), ((0.0, 2), _F32)):  # fmt: skip
        made = tensorbus.arange(*args, device=t.device.type)
        _is(made.dtype, expected, f"the dtype of arange{args}")
    made = tensorbus.arange(0.9, 4.9, dtype=formats.INT64, device=t.device.type)
    _is(made.tolist(), [0, 1, 2, 3], "arange(0.9, 4.9) of integers")


# -- device, out, gradients ------------------------------------------------------------------
@contextlib.contextmanager
def _device_by_default(device: Any) -> Iterator[None]:
    tensorbus.set_default_device(device)
    try:
        yield
    finally:
        tensorbus.set_default_device(None)


def _default_device(t: Trial) -> None:
    expected = tensorbus.empty(0, device=t.device.type).device
    makers: dict[str, Callable[[], Any]] = {
        "zeros": lambda: tensorbus.zeros(2),
        "tensor": lambda: tensorbus.tensor([1.0]),
        "arange": lambda: tensorbus.arange(3),
        "eye": lambda: tensorbus.eye(2),
        "linspace": lambda: tensorbus.linspace(0, 1, 3),
        "full": lambda: tensorbus.full((2,), 1),
        "tril_indices": lambda: tensorbus.tril_indices(2, 2),
        "rand": lambda: tensorbus.rand(2),
    }
    for name, make in makers.items():
        with tensorbus.device(t.device.type):
            _is(make().device, expected, f"the device of {name} within ``with device``")
        with _device_by_default(t.device.type):
            _is(make().device, expected, f"the device of {name} after set_default_device")


def _out(t: Trial) -> None:
    bench = Bench(t)
    makers: dict[str, Callable[[Any], Any]] = {
        "zeros": lambda out: tensorbus.zeros(3, out=out),
        "ones": lambda out: tensorbus.ones((3,), out=out),
        "full": lambda out: tensorbus.full((3,), 2, out=out),
        "eye": lambda out: tensorbus.eye(3, out=out),
        "arange": lambda out: tensorbus.arange(3, out=out),
        "linspace": lambda out: tensorbus.linspace(0, 2, 3, out=out),
        "logspace": lambda out: tensorbus.logspace(0, 2, 3, base=2, out=out),
    }
    expected = {
        "zeros": np.zeros(3), "ones": np.ones(3), "full": np.full(3, 2.0), "eye": np.eye(3),
        "arange": np.arange(3.0), "linspace": np.arange(3.0), "logspace": 2.0 ** np.arange(3),
    }  # fmt: skip
    for name, make in makers.items():
        out = tensorbus.empty(0, dtype=_F32, device=bench.device)
        if make(out) is not out:
            raise Mismatch(f"{name}(out=...) returned another tensor than out")
        bench.same(out, expected[name], _F32, where=f"{name}: ")


def _requires_grad(t: Trial) -> None:
    device = t.device.type
    like = tensorbus.zeros(2, device=device)
    for name, made in {
        "zeros": tensorbus.zeros(2, device=device, requires_grad=True),
        "ones": tensorbus.ones(2, device=device, requires_grad=True),
        "full": tensorbus.full((2,), 1.0, device=device, requires_grad=True),
        "empty": tensorbus.empty(2, device=device, requires_grad=True),
        "eye": tensorbus.eye(2, device=device, requires_grad=True),
        "arange": tensorbus.arange(2.0, device=device, requires_grad=True),
        "linspace": tensorbus.linspace(0, 1, 3, device=device, requires_grad=True),
        "tensor": tensorbus.tensor([1.0], device=device, requires_grad=True),
        "zeros_like": tensorbus.zeros_like(like, requires_grad=True),
        "rand": tensorbus.rand(2, device=device, requires_grad=True),
        "new_ones": like.new_ones(2, requires_grad=True),
    }.items():
        if not made.requires_grad or not made.is_leaf or made.grad is not None:
            raise Mismatch(f"{name}(requires_grad=True) is no fresh leaf that requires a gradient")
    text = "Only Tensors of floating point and complex dtype can require gradients"
    for dtype in (formats.INT64, formats.BOOL):
        for make in (tensorbus.zeros, tensorbus.ones, tensorbus.empty, tensorbus.eye):
            call = functools.partial(make, 2, dtype=dtype, device=device, requires_grad=True)
            raised = expect_raises(call, RuntimeError)
            _is(str(raised), text, f"the message of {make.__name__}")


# -- memory ----------------------------------------------------------------------------------
def _copies(t: Trial) -> None:
    """``tensor`` copies whatever it is given."""
    bench = Bench(t)
    array = np.zeros(3, np.float32)
    source = bench.place(array, _F32).tensor
    made = [tensorbus.tensor(array, device=bench.device), tensorbus.tensor(source)]
    array[:] = 1
    source.fill_(1)
    for x in made:
        bench.same(x, np.zeros(3), _F32)
        if x.requires_grad:
            raise Mismatch("a copy requires a gradient")


def _as_tensor(t: Trial) -> None:
    """The same object where nothing changes; a CPU array's own memory."""
    bench = Bench(t)
    x = tensorbus.ones(3, dtype=_F32, device=bench.device)
    if tensorbus.as_tensor(x) is not x or tensorbus.as_tensor(x, dtype=_F32) is not x:
        raise Mismatch("as_tensor gave another object, though nothing had to change")
    other = tensorbus.as_tensor(x, dtype=formats.INT32)
    bench.same(other, np.ones(3), formats.INT32)
    array = np.zeros(3, np.float32)
    shared = tensorbus.as_tensor(array)
    array[1] = 5
    _is(shared.tolist(), [0.0, 5.0, 0.0], "as_tensor of an array that was written to")


def _from_numpy(t: Trial) -> None:
    """One memory on the CPU, through strides too; a copy on any other device."""
    array = np.zeros((3, 4), np.float32)
    whole, columns = tensorbus.from_numpy(array), tensorbus.from_numpy(array[:, ::2])
    array[1, 2] = 7
    _is(whole[1, 2].item(), 7.0, "an element written through NumPy")
    _is(columns[1, 1].item(), 7.0, "an element written through NumPy, seen through strides")
    _is(tuple(columns.stride()), (4, 2), "the strides of every second column")
    columns.add_(1)
    _is(float(array[1, 2]), 8.0, "an element written through the tensor")
    there = whole.to(t.device.type)
    if there is not whole:
        array[0, 0] = 99
        Bench(t).same(there[0, 0], np.float32(1), _F32)


def _like_layout(t: Trial) -> None:
    """A dense tensor's order of dimensions is kept, unless another is asked for."""
    base = tensorbus.zeros((2, 3, 4), device=t.device.type).permute(2, 0, 1)
    _is(tuple(tensorbus.zeros_like(base).stride()), tuple(base.stride()), "the strides")
    plain = tensorbus.ones_like(base, memory_format=tensorbus.contiguous_format)
    _is(tuple(plain.stride()), (6, 3, 1), "the strides of contiguous_format")
    repeated = tensorbus.zeros((3, 1), device=t.device.type).expand(3, 4)
    _is(tensorbus.empty_like(repeated).is_contiguous(), True, "density of a repeated one's like")


# -- older names -----------------------------------------------------------------------------
def _tensor_type(_: Trial) -> None:
    before = tensorbus.get_default_dtype()
    try:
        for name, dtype in (("DoubleTensor", formats.FLOAT64), ("HalfTensor", formats.FLOAT16)):
            tensorbus.set_default_tensor_type(getattr(tensorbus, name))
            _is(tensorbus.get_default_dtype(), dtype, f"the default dtype after {name}")
            tensorbus.set_default_tensor_type("torch.FloatTensor")
            _is(tensorbus.get_default_dtype(), _F32, "the default dtype after torch.FloatTensor")
        expect_raises(
            functools.partial(tensorbus.set_default_tensor_type, tensorbus.LongTensor), TypeError
        )
    finally:
        tensorbus.set_default_dtype(before)
        tensorbus.set_default_device(None)


def _constructor(t: Trial) -> None:
    """``Tensor(2, 3)`` is a size, ``Tensor([2, 3])`` are values."""
    with _device_by_default(t.device.type):
        bench = Bench(t)
        _is(tuple(tensorbus.Tensor(5, 7).shape), (5, 7), "the shape of Tensor(5, 7)")
        _is(tuple(tensorbus.Tensor(4).shape), (4,), "the shape of Tensor(4)")
        _is(tuple(tensorbus.Tensor().shape), (0,), "the shape of Tensor()")
        bench.same(tensorbus.Tensor([2, 3]), np.array([2.0, 3.0]), _F32)


def _typed(t: Trial) -> None:
    """The device type's own ``FloatTensor`` and the like construct, and know their tensors."""
    type = tensorbus.device(t.device.type).type
    home = tensorbus if type == "cpu" else getattr(tensorbus, type)
    prefix = "torch" if type == "cpu" else f"torch.{type}"
    bench = Bench(t)
    made = home.FloatTensor([2, 3])
    bench.same(made, np.array([2.0, 3.0]), _F32)
    _is(made.device.type, type, "the device of a typed constructor's tensor")
    _is(made.type(), f"{prefix}.FloatTensor", "type()")
    _is(isinstance(made, home.FloatTensor), True, "isinstance of the same type")
    _is(isinstance(made, home.LongTensor), False, "isinstance of another dtype's type")
    _is(tuple(home.FloatTensor(5, 7).shape), (5, 7), "the shape of FloatTensor(5, 7)")
    bench.same(made.type(f"{prefix}.LongTensor"), np.array([2, 3]), formats.INT64)
    bench.same(made.type(home.LongTensor), np.array([2, 3]), formats.INT64)
    moved = tensorbus.FloatTensor([2, 3]).type(f"{prefix}.FloatTensor")
    _is(moved.device.type, type, "the device of type() of a CPU tensor")
    bench.same(made.new([4, 5]), np.array([4.0, 5.0]), _F32)
    elements = home.FloatStorage([1, 2])
    _is(elements.tolist(), [1.0, 2.0], "the elements of a typed storage")
    bench.same(home.FloatTensor(elements), np.array([1.0, 2.0]), _F32)
    empty = home.sparse.FloatTensor(2, 3)
    _is(empty.layout, tensorbus.sparse_coo, "the layout of a sparse constructor's tensor")
    _is(empty.device.type, type, "the device of a sparse constructor's tensor")
    bench.same(empty.to_dense(), np.zeros((2, 3)), _F32)


# -- edges of ranges -------------------------------------------------------------------------
def _edges(d: Dtype, t: Trial) -> None:
    """Up to the limits of the dtype, and, for integers, around them."""
    bench = Bench(t)
    if d in formats.FLOATS:
        top = 2 ** {2: 8, 4: 24, 8: 53}[d.itemsize]
        for start in (-3, top - 4):
            got = tensorbus.arange(start, start + 5, dtype=d, device=bench.device)
            bench.same(got, np.arange(start, start + 5, dtype=np.float64), d)
        return
    low, high = formats.limits(d)
    for start, end, step in ((low, low + 4, 1), (high - 3, high, 1), (high, high - 9, -4)):
        got = tensorbus.arange(start, end, step, dtype=d, device=bench.device)
        want = np.array(list(range(start, end, step)), formats.value_dtype(d))
        bench.same(got, want, d, where=f"arange({start}, {end}, {step}): ")
    if d.itemsize == 1:
        got = tensorbus.arange(300, dtype=d, device=bench.device)
        bench.same(got, np.arange(300).astype(formats.value_dtype(d)), d, where="wrapped: ")


def _ends(d: Dtype, t: Trial) -> None:
    """Both ends are met exactly, and the halves mirror one another."""
    bench = Bench(t)
    for end in (1.0, 3.0, 0.75):
        for n in (2, 7, 64):
            found = bench.read(tensorbus.linspace(-end, end, n, dtype=d, device=bench.device))
            _is((float(found[0]), float(found[-1])), (-end, end), "the pair of ends")
            if not np.array_equal(found, -found[::-1]):
                raise Mismatch(f"linspace({-end}, {end}, {n}) is not symmetric: {found.tolist()}")

"""Level 2: tensors for other libraries, for Python functions, and for programs of older times."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
import tensorbus.nn.functional as F
from tensorbus import discovery
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, expect_raises
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

FAMILY = "interchange"


def cases() -> Iterator[Case]:
    checks: dict[str, Callable[[Any], None]] = {
        "asarray/sources": _asarray,
        "from_dlpack/both-ways": _dlpack,
        "frombuffer/offset": _frombuffer,
        "Tensor.__array_namespace__/versions": _namespace,
        "Tensor.__cuda_array_interface__/offered": _cuda_interface,
        "Tensor.to_device/host": _to_device,
        "Tensor.share_memory_/own": _shared,
        "Tensor.apply_/three": _applied,
        "Tensor.__setstate__/copies": _state,
        "Tensor._make_subclass/classes": _subclasses,
        "Tensor.record_stream/none": _recorded,
        "Tensor.dim_order/permuted": _orders,
        "Tensor.resize/warns": _resized,
        "Tensor.masked_copy_/warns": _masked,
        "Tensor.module_load/both": _loaded,
        "typename/kinds": _names,
        "nn.functional.has_torch_function/classes": _overriding,
    }
    for name, check in checks.items():
        op, _, variant = name.partition("/")
        run = functools.partial(_on_bench, check)
        yield Case(f"L2/{op}/float32/{variant}", FAMILY, run, (formats.FLOAT32,))


def _on_bench(check: Callable[[Bench], None], t: Trial) -> None:
    check(Bench(t))


def _is(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        raise Mismatch(f"{what} is {found!r}, expected {expected!r}")


def _ones(bench: Bench, *shape: int) -> Any:
    return tensorbus.ones(shape, device=bench.device)


def _refused(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    said = str(expect_raises(call, error))
    if text not in said:
        raise Mismatch(f"the message is {said!r}, expected {text!r} in it")


def _asarray(bench: Bench) -> None:
    x = _ones(bench, 2)
    _is(tensorbus.asarray(x) is x, True, "asarray(x) is x")
    copied = tensorbus.asarray(x, copy=True)
    copied += 1
    _is((x.tolist(), copied.tolist()), ([1.0, 1.0], [2.0, 2.0]), "asarray's copy, changed")
    made = tensorbus.asarray([1, 2.5], dtype=tensorbus.float32, device=bench.device)
    _is((made.tolist(), str(made.device)), ([1.0, 2.5], str(x.device)), "asarray of a list")


def _dlpack(bench: Bench) -> None:
    x = tensorbus.arange(6.0, device=bench.device).view(2, 3)
    try:
        pair = x.__dlpack_device__()
    except BufferError:
        _refused(x.__dlpack__, BufferError, "shares no memory")
        _refused(lambda: tensorbus.to_dlpack(x), BufferError, "shares no memory")
        x = x.cpu()
        pair = x.__dlpack_device__()
    _is(len(pair), 2, "the length of __dlpack_device__()")
    back = tensorbus.from_dlpack(x.t())
    _is((back.tolist(), back.stride()), ([[0, 3], [1, 4], [2, 5]], (1, 3)), "from_dlpack")
    tensorbus.from_dlpack(tensorbus.to_dlpack(x))[0, 0] = 7
    _is((x[0, 0].item(), back[0, 0].item()), (7, 7), "memory that three tensors share")


def _frombuffer(bench: Bench) -> None:
    memory = bytearray(np.arange(4, dtype=np.float32).tobytes())
    x = tensorbus.frombuffer(memory, dtype=tensorbus.float32, offset=4, count=2)
    x += 1
    found = x.to(bench.device).tolist(), np.frombuffer(memory, np.float32).tolist()
    _is(found, ([2.0, 3.0], [0.0, 2.0, 3.0, 3.0]), "a buffer that is written to")


def _namespace(bench: Bench) -> None:
    x = _ones(bench, 2)
    xp = x.__array_namespace__()
    _is(xp.sum(x).item(), 2, "the namespace's sum")
    _refused(lambda: x.__array_namespace__(api_version="1000.1"), ValueError, "1000.1")


def _cuda_interface(bench: Bench) -> None:
    x = _ones(bench, 2)
    if x.device.type == "cuda":
        _is(x.__cuda_array_interface__["shape"], (2,), "the shape that the interface says")
    else:
        _refused(lambda: x.__cuda_array_interface__, AttributeError, "on non-CUDA tensor type")


def _to_device(bench: Bench) -> None:
    moved = _ones(bench, 2).to_device("cpu")
    _is((str(moved.device), moved.tolist()), ("cpu", [1, 1]), "what to_device gives")


def _shared(bench: Bench) -> None:
    x = _ones(bench, 3)
    if x.device.type != "cpu":
        handles = discovery.offered(x._k.backend, "export_storage") is not None
        _is(x.is_shared(), handles, "is_shared() of a device's tensor")
        x = x.cpu()
    _is(x.is_shared(), False, "is_shared()")
    shared, view = x.share_memory_(), x[1:]
    _is(shared is x and view.is_shared(), True, "is_shared() of a view")
    x[1] = 5
    _is(view.tolist(), [5, 1], "a view of shared memory")
    _is(x.const_data_ptr(), x.data_ptr(), "const_data_ptr()")


def _applied(bench: Bench) -> None:
    x = _ones(bench, 2)
    if x.device.type != "cpu":
        _refused(lambda: x.apply_(abs), TypeError, "only implemented on CPU tensors")
        x = x.cpu()
    y = tensorbus.tensor([3.0, 4.0])
    x.apply_(lambda v: v + 1).map_(y, lambda a, b: a * b).map2_(y, y, lambda a, b, c: a + b - c)
    _is(x.tolist(), [6, 8], "what apply_, map_ and map2_ make")


def _state(bench: Bench) -> None:
    x = _ones(bench, 2)
    made = copy.copy(x)
    made.__setstate__({"label": 3})
    _is((made.label, made.tolist(), hasattr(x, "label")), (3, [1, 1], False), "attributes set")


_TENSOR: Any = tensorbus.Tensor


class _Own(_TENSOR):  # type: ignore[misc]
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "overridden"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "dispatched"


def _subclasses(bench: Bench) -> None:
    x = _ones(bench, 2)
    own = _TENSOR._make_subclass(tensorbus.nn.Parameter, x, True)
    _is((type(own), own.requires_grad), (tensorbus.nn.Parameter, True), "the subclass")
    shell = _TENSOR._make_wrapper_subclass(_Own, (2, 3), dtype=tensorbus.float32)
    _is(type(shell), _Own, "the class of a wrapper")


def _overriding(bench: Bench) -> None:
    x = _ones(bench, 2)
    own = x.as_subclass(_Own)
    asked = F.has_torch_function((x,)), F.has_torch_function((x, own))
    _is(asked, (False, True), "has_torch_function")
    asked = F.has_torch_function_unary(own), F.has_torch_function_variadic(x, x)
    _is(asked, (True, False), "has_torch_function_unary and _variadic")
    found = F.handle_torch_function(tensorbus.add, (own, x), own, x)
    _is(found, "overridden", "what handle_torch_function gives")


def _recorded(bench: Bench) -> None:
    _refused(lambda: _ones(bench, 2).record_stream(None), TypeError, "must be torch.Stream")


def _orders(bench: Bench) -> None:
    x = _ones(bench, 2, 3, 4, 5)
    found = x.dim_order(), x.permute(0, 2, 3, 1).dim_order()
    _is(found, ((0, 1, 2, 3), (0, 3, 1, 2)), "dim_order()")


def _warns(call: Callable[[], Any], text: str) -> Any:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = call()
    if not any(text in str(w.message) for w in told):
        raise Mismatch(f"the warnings are {[str(w.message) for w in told]}, expected {text!r}")
    return result


def _resized(bench: Bench) -> None:
    x = _ones(bench, 2, 3)
    _is(_warns(lambda: x.resize(3, 2), "non-inplace resize").shape, (3, 2), "resize's shape")
    like = _ones(bench, 6)
    _is(_warns(lambda: x.resize_as(like), "non-inplace resize_as").shape, (6,), "resize_as's")
    _is(x.resize_as_(like).shape, (6,), "resize_as_'s shape")
    _is(tensorbus.is_distributed(x) or x.is_distributed(), False, "is_distributed()")
    _is(_warns(lambda: x.volatile, "volatile was removed"), False, "volatile")
    _refused(lambda: x.reinforce(1.0), RuntimeError, "reinforce() was removed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a process warns once
        _is(x.storage_type().__name__, "FloatStorage", "storage_type()")


def _masked(bench: Bench) -> None:
    x = _ones(bench, 3)
    mask = tensorbus.tensor([True, False, True], device=bench.device)
    _warns(lambda: x.masked_copy_(mask, 2 * _ones(bench, 2)), "renamed to masked_scatter_")
    _is(x.tolist(), [2, 1, 2], "what masked_copy_ writes")


def _loaded(bench: Bench) -> None:
    x, y = _ones(bench, 2).requires_grad_(), 3 * _ones(bench, 2)
    with tensorbus.no_grad():
        _is(x.module_load(y).tolist(), [3, 3], "module_load's values")
        _is(x.module_load(y, assign=True).data_ptr() == y.data_ptr(), True, "whether it assigns")
    _is(x.tolist(), [3, 3], "the tensor that was loaded into")


def _names(bench: Bench) -> None:
    x = _ones(bench, 2)
    _is((tensorbus.typename(x), tensorbus.typename(3)), (x.type(), "int"), "typename")

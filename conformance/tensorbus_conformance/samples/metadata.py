"""What a tensor says of itself, and how its values leave it."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.op import ANY, BOOL, DTYPE, INTEGRAL, REAL, E, Op, S, T
from tensorbus_conformance.samples.views import out_of_range

_READABLE = tuple(d for d in ANY if d is not formats.BFLOAT16)
"""NumPy has no bfloat16."""


def _reads(name: str) -> Callable[..., Any]:
    """A property, or the result of a method."""

    def read(x: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(x, name)
        return found(*args, **kwargs) if callable(found) else found

    return read


def _measures(name: str) -> Callable[[Any, Any], bool]:
    """Whether a property or method gives the bytes of an element of a dtype."""
    read = _reads(name)
    return lambda x, d: bool(read(x) == d.itemsize)


def _refused_pinning(x: Any) -> str:
    """What pinning raises where no device allocates such memory."""
    try:
        x.pin_memory()
    except RuntimeError as error:
        return type(error).__name__ if "pinned memory" in str(error) else str(error)
    return "a tensor"


def _op(name: str, reference: Any, samples: list[Any] | None = None, **more: Any) -> Op:
    samples = samples or [S("plain", T(2, 3)), S("scalar", T()), S("empty", T(0, 2))]
    call = _reads(name.removeprefix("Tensor.")) if name.startswith("Tensor.") else None
    more = {"dtypes": ANY, "ulp": 0, "call": call, "layouts": (), **more}
    return Op(name, reference, samples, gradient=False, family="metadata", **more)


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def _after(change: Callable[[Any], Any], read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: read(change(x))


def _is(kinds: tuple[Any, ...]) -> Callable[..., bool]:
    """Whether the case's dtype, which comes as NumPy's kind, is among some kinds."""
    return lambda x: x.dtype.kind in kinds


def _shown(array: np.ndarray) -> str:
    return repr(array.tolist())


def _truth(x: np.ndarray) -> bool:
    return bool(x.reshape(-1)[0])


def _plain_size(found: Any) -> Any:
    return found if isinstance(found, int) else tuple(found)


def _sizes(shape: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple) else shape


def _described(x: Any, made: Any) -> tuple[tuple[int, ...], bool]:
    return tuple(made.shape), made.dtype is x.dtype and made.device == x.device


def _layout(x: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(x.shape), tuple(x.stride())


def _is_of_type(name: str, x: Any) -> bool:
    return getattr(x, name) == (x.device.type == name.removeprefix("is_"))


def _device_is_known(x: Any) -> bool:
    index = x.get_device()
    return bool(index == -1 if x.device.type == "cpu" else index == (x.device.index or 0))


def _base(x: Any) -> bool:
    return x._base is None


def _base_of_views(x: Any) -> bool:
    return x[1:]._base is x and x[1:].t()._base is x


def _of_a_subclass(x: Any, cls: Any = None) -> Any:
    made = type("Marked", (type(x),), {}) if cls is None else cls
    found = x.as_subclass(made)
    return found if type(found) is made else None


def _host(array: np.ndarray, d: Any) -> tuple[str, bool]:
    return _shown(array), array.dtype == formats.value_dtype(d)


_STRIDED = [S("plain", T(data=np.zeros((4, 3, 2))))]  # the strides are those of this shape
_VIEWED: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], int]] = {
    "transposed": (lambda x: x.transpose(0, 2), (1, 2, 6), 0),
    "sliced": (lambda x: x[1::2, 1:], (12, 2, 1), 8),
    "selected": (lambda x: x[2], (2, 1), 12),
    "expanded": (lambda x: x[:1].expand(5, 3, 2), (0, 2, 1), 0),
    "unsqueezed": (lambda x: x.unsqueeze(1), (6, 6, 2, 1), 0),
    "diagonal": (lambda x: x.diagonal(1, 0, 1), (1, 8), 2),
    "viewed": (lambda x: x.view(2, 12), (12, 1), 0),
}

_ONE = [S("scalar", T()), S("matrix", T(1, 1, of="nonzero")), S("zero", T(data=0))]
_MANY = [
    E("many", RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar", T(2)),
    E("none", RuntimeError, "a Tensor with 0 elements cannot be converted to Scalar", T(0)),
]

OPS = [
    _op("Tensor.shape", lambda x: True, call=lambda x: tuple(x.shape) == tuple(x.size())),
    _op("Tensor.size", lambda x, dim=None: x.shape if dim is None else x.shape[dim],
        [S("all", T(2, 3)), S("one", T(2, 3), 1), S("negative", T(2, 3), -2),
         S("name", T(2, 3), dim=0), S("scalar", T())],
        call=lambda x, *args, **kwargs: _plain_size(x.size(*args, **kwargs)),
        errors=[
            E("dim", IndexError, out_of_range(2, 2), T(2, 3), 2),
            E("scalar", IndexError, "Dimension specified as 0 but tensor has no dimensions",
              T(), 0),
        ]),
    _op("Tensor.dim", np.ndim),
    _op("Tensor.ndimension", np.ndim),
    _op("Tensor.ndim", np.ndim),
    _op("Tensor.numel", np.size),
    _op("Tensor.stride", lambda x, dim=None: _row_major(x.shape) if dim is None
        else _row_major(x.shape)[dim],
        [S("all", T(2, 3, 4)), S("one", T(2, 3, 4), 0), S("negative", T(2, 3), -1),
         S("scalar", T()), S("empty", T(0, 3))],
        errors=[E("dim", IndexError, out_of_range(2, -3), T(2, 3), -3)]),
    *(
        _op(f"stride-{name}", lambda x, _strides=strides, _offset=offset: (_strides, _offset),
            _STRIDED, call=_after(change, lambda v: (tuple(v.stride()), v.storage_offset())))
        for name, (change, strides, offset) in _VIEWED.items()
    ),
    _op("Tensor.storage_offset", lambda x: 0),
    _op("Tensor.is_contiguous", lambda x: True),
    *(
        _op(f"is_contiguous-{name}", lambda x, _name=name: _name in ("selected", "viewed",
            "unsqueezed"), _STRIDED, call=_after(change, lambda v: v.is_contiguous()))
        for name, (change, _, _) in _VIEWED.items()
    ),
    *(
        _op(f"Tensor.{name}", lambda x, d: True, [S("plain", T(2, 3), DTYPE)],
            call=_measures(name))
        for name in ("element_size", "itemsize")
    ),
    _op("Tensor.nbytes", lambda x, d: True, [S("plain", T(2, 3), DTYPE), S("empty", T(0), DTYPE)],
        call=lambda x, d: x.nbytes == x.numel() * d.itemsize),
    _op("Tensor.dtype", lambda x, d: True, [S("plain", T(2, 3), DTYPE)],
        call=lambda x, d: x.dtype is d),
    _op("Tensor.device", lambda x: True, call=lambda x: x.device == x.new_empty(1).device),
    _op("Tensor.is_set_to", lambda x: [True, False, False],
        call=lambda x: [x.is_set_to(x.view(x.shape)), x.is_set_to(x.clone()),
                        x.is_set_to(x.unsqueeze(0))],
        samples=[S("plain", T(2, 3))]),
    *(
        _op(f"Tensor.{name}", lambda x: False)
        for name in ("is_sparse", "is_sparse_csr", "is_quantized", "is_mkldnn")
    ),
    *(
        _op(f"Tensor.{name}", lambda x: True, call=functools.partial(_is_of_type, name))
        for name in "is_hpu is_ipu is_maia is_mps is_mtia is_vulkan is_xla is_xpu".split()
    ),
    _op("Tensor.dense_dim", np.ndim),
    _op("Tensor.sparse_dim", lambda x: 0),
    _op("Tensor.to_dense", lambda x, d: [True, True, True], [S("plain", T(2, 3), DTYPE)],
        call=lambda x, d: [x.to_dense() is x, x.to_dense(d).dtype is d,
                           x.to_dense(masked_grad=False) is x]),
    _op("Tensor.dequantize", lambda x: True, dtypes=REAL,
        call=lambda x: x.dequantize().dtype is x.float().dtype),
    _op("dequantize", lambda x: True, dtypes=REAL,
        call=lambda x: tensorbus.dequantize(x).dtype is x.float().dtype),
    _op("Tensor.layout", lambda x: "torch.strided", call=lambda x: str(x.layout)),
    _op("Tensor.is_pinned", lambda x: False, call=lambda x: x.is_pinned()),
    _op("Tensor.pin_memory", lambda x: "RuntimeError", call=_refused_pinning),
    _op("Tensor.is_cpu", lambda x: True, call=lambda x: x.is_cpu == (x.device.type == "cpu")),
    _op("Tensor.is_cuda", lambda x: True, call=lambda x: x.is_cuda == (x.device.type == "cuda")),
    _op("Tensor.is_meta", lambda x: True, call=lambda x: x.is_meta == (x.device.type == "meta")),
    _op("Tensor.get_device", lambda x: True, call=_device_is_known),
    _op("Tensor.names", lambda x: (None,) * x.ndim),
    _op("Tensor.data_ptr", lambda x: True, [S("plain", T(3, 2))],
        call=lambda x: x[1:].data_ptr() - x.data_ptr() == x[0].nbytes),
    _op("Tensor.untyped_storage", lambda x: [True, True], [S("plain", T(3, 2))],
        call=lambda x: [x[1:].untyped_storage() == x.untyped_storage(),
                        x[1:].untyped_storage().nbytes() == x.nbytes]),
    _op("Tensor.storage", lambda x: [True, True, True], [S("plain", T(3, 2))],
        call=lambda x: [x.storage().untyped() == x.untyped_storage(),
                        x.storage().dtype is x.dtype, x.storage()[1] == x[0, 1].item()]),
    _op("Tensor._is_view", lambda x: [False, True, False], [S("plain", T(3, 2))],
        call=lambda x: [x.clone()._is_view(), x[1:]._is_view(), x.detach().clone()._is_view()]),
    _op("Tensor._base", lambda x: [True, True], [S("plain", T(3, 2))],
        call=lambda x: [_base(x.clone()), _base_of_views(x.clone())]),
    # -- values on the host ----------------------------------------------------------------------
    _op("Tensor.item", lambda x: repr(x.item()), _ONE, call=lambda x: repr(x.item()),
        errors=_MANY),
    _op("Tensor.tolist", _shown,
        [S("matrix", T(2, 3)), S("scalar", T()), S("empty", T(2, 0)), S("vector", T(3))],
        call=lambda x: repr(x.tolist()), layouts=("transposed", "strided", "expanded")),
    _op("Tensor.numpy", lambda x, d: (_shown(x), True),
        [S("matrix", T(2, 3), DTYPE), S("scalar", T(), DTYPE), S("empty", T(2, 0), DTYPE)],
        call=lambda x, d: _host(x.cpu().numpy(), d), dtypes=_READABLE,
        layouts=("transposed", "strided", "expanded")),
    _op("numpy-forced", lambda x, d: (_shown(x), True), [S("matrix", T(2, 3), DTYPE)],
        call=lambda x, d: _host(x.numpy(force=True), d), dtypes=_READABLE),
    _op("Tensor.__array__", lambda x, d: (_shown(x), True), [S("matrix", T(2, 3), DTYPE)],
        call=lambda x, d: _host(np.asarray(x.cpu()), d), dtypes=_READABLE),
    _op("Tensor.__bool__", _truth, _ONE, call=bool,
        errors=[E("many", RuntimeError,
                  "Boolean value of Tensor with more than one value is ambiguous", T(2))]),
    _op("Tensor.__int__", lambda x: int(x.real.reshape(-1)[0]), _ONE, call=int,
        dtypes=(*REAL, *BOOL),
        errors=[E("many", ValueError,
                  "only one element tensors can be converted to Python scalars", T(2))]),
    _op("Tensor.__float__", lambda x: float(x.reshape(-1)[0]), _ONE, call=float,
        dtypes=(*REAL, *BOOL),
        errors=[E("many", ValueError,
                  "only one element tensors can be converted to Python scalars", T(2))]),
    _op("Tensor.__complex__", lambda x: complex(x.reshape(-1)[0]), _ONE, call=complex),
    _op("Tensor.__index__", lambda x: int(x.reshape(-1)[0]),
        [S("scalar", T()), S("matrix", T(1, 1))],
        call=lambda x: x.__index__(), dtypes=(*INTEGRAL, *BOOL),
        errors=[E("float", TypeError,
                  "only integer tensors of a single element can be converted to an index", T()),
                E("many", TypeError,
                  "only integer tensors of a single element can be converted to an index",
                  T(2), dtype=formats.INT64)]),
    _op("Tensor.__len__", len, [S("matrix", T(3, 2)), S("empty", T(0, 2))], call=len,
        errors=[E("scalar", TypeError, r"len\(\) of a 0-d tensor", T())]),
    _op("Tensor.__format__", lambda x: format(x.item(), ".3f"), [S("scalar", T())],
        call=lambda x: format(x, ".3f"), dtypes=formats.FLOATS),
    _op("Tensor.__reduce_ex__", lambda x: x, [S("matrix", T(2, 3)), S("scalar", T())],
        call=lambda x: pickle.loads(pickle.dumps(x)), layouts=("transposed", "expanded")),
    _op("Tensor.__array_wrap__", lambda x: np.ones(2), [S("plain", T(2))],
        dtypes=(formats.FLOAT32,),
        call=lambda x: x.__array_wrap__(np.ones(2, np.float32)).to(x.device)),
    _op("Tensor.as_subclass", lambda x: x, [S("plain", T(2, 3))], view=True, call=_of_a_subclass,
        errors=[E("no-subclass", TypeError,
                  r"as_subclass\(\): <class 'int'> is not a subclass of Tensor", T(2), int)]),
    # -- tensors like this one -------------------------------------------------------------------
    _op("Tensor.new_zeros", lambda x, *shape: np.zeros(_sizes(shape), x.dtype),
        [S("ints", T(2), 2, 3), S("tuple", T(2), (3, 1)), S("scalar", T(2), ())]),
    _op("Tensor.new_ones", lambda x, *shape: np.ones(_sizes(shape), x.dtype),
        [S("ints", T(2), 2, 3), S("tuple", T(2), (3, 1))]),
    _op("Tensor.new_full", lambda x, shape, value: np.full(shape, value).astype(x.dtype),
        [S("plain", T(2), (2, 3), 1), S("scalar", T(2), (), 0)],
        errors=[E("negative", RuntimeError,
                  r"Trying to create tensor with negative dimension -1: \[-1\]",
                  T(2), (-1,), 1)]),
    _op("Tensor.new_tensor", lambda x, data: np.asarray(data).astype(x.dtype),
        [S("list", T(2), [[1, 0], [0, 1]]), S("number", T(2), 1)]),
    _op("Tensor.new_empty", lambda x, *shape: (_sizes(shape), True),
        [S("ints", T(2), 2, 3), S("tuple", T(2), (0, 1))],
        call=lambda x, *shape: _described(x, x.new_empty(*shape))),
    _op("Tensor.new_empty_strided", lambda x, size, stride: (size, stride),
        [S("plain", T(2), (2, 3), (1, 2)), S("gaps", T(2), (2, 2), (8, 2))],
        call=lambda x, *args: _layout(x.new_empty_strided(*args))),
    _op("Tensor.new", lambda x, *args: np.asarray(args[0]).astype(x.dtype),
        [S("values", T(2), [1, 0, 1])]),
    _op("new-dtype", lambda x, *shape: np.zeros(shape, np.int64), [S("int64", T(2), 3)],
        call=lambda x, n: x.new_zeros(n, dtype=formats.INT64), result=formats.INT64),
]  # fmt: skip

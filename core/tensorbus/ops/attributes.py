"""What a tensor tells of itself, and how its values leave it."""

from __future__ import annotations

from builtins import type as class_of
from typing import Any

import numpy as np

from tensorbus import dtypes
from tensorbus._tensor import PERMUTED, Tensor, bump, from_array, new, version_of
from tensorbus.autograd.api import backward as _backward
from tensorbus.autograd.grad_mode import GRAD, THREAD
from tensorbus.autograd.node import AccumulateGrad, hooks_of
from tensorbus.devices import device as Device
from tensorbus.dtypes import dtype as Dtype
from tensorbus.kinds import kind_of
from tensorbus.ops.casting import to_kind
from tensorbus.ops.generate import core
from tensorbus.ops.inplace import check_leaf, rebase, refuse_overlap
from tensorbus.ops.public import METHODS, public
from tensorbus.ops.slow import edge_of
from tensorbus.size import Size


def _property(f: Any) -> Any:
    METHODS[f.__name__] = property(f)
    return f


# -- what it is ------------------------------------------------------------------------------
METHODS["shape"] = property(lambda self: self._s, doc="The extents, as a ``Size``.")
METHODS["dtype"] = property(lambda self: self._k.dtype, doc="The type of the elements.")
METHODS["device"] = property(lambda self: self._k.device, doc="Where the elements are.")
METHODS["ndim"] = property(lambda self: len(self._s), doc="The number of dimensions.")
METHODS["requires_grad"] = property(
    lambda self: self._e is not None or edge_of(self) is not None,
    lambda self, value: _set_requires_grad(self, value),
    doc="Whether operations on it record.",
)
METHODS["is_leaf"] = property(
    lambda self: edge_of(self) is None or class_of(self._e) is AccumulateGrad,
    doc="Whether it was made by the user, not by a recorded operation.",
)
METHODS["_version"] = property(version_of, doc="How often its storage was written.")
METHODS["itemsize"] = property(lambda self: self._k.dtype.itemsize, doc="Bytes of an element.")
METHODS["nbytes"] = property(
    lambda self: self._k.dtype.itemsize * self._s.numel(), doc="Bytes of all elements."
)
METHODS["is_cpu"] = property(lambda self: self._k.device.type == "cpu", doc="Whether on the CPU.")
METHODS["is_cuda"] = property(lambda self: self._k.device.type == "cuda", doc="Whether on CUDA.")
METHODS["is_sparse"] = property(lambda self: False, doc="Whether its layout is sparse.")
METHODS["is_quantized"] = property(lambda self: False, doc="Whether it is quantised.")
METHODS["names"] = property(lambda self: (None,) * len(self._s), doc="Names of dimensions.")


@_property
def grad(self: Tensor) -> Tensor | None:
    """The gradient that backward passes added up, or None."""
    try:
        return self._g
    except AttributeError:
        return None


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type "
                f"{class_of(value).__name__}"
            )
        if value._s != self._s:
            raise RuntimeError(
                f"assigned grad has data of a different size: expected {list(self._s)}, "
                f"got {list(value._s)}"
            )
        if value._k is not self._k:
            raise RuntimeError(
                f"assigned grad has data of a different type: expected {self._k.dtype} on "
                f"{self._k.device}, got {value._k.dtype} on {value._k.device}"
            )
    self._g = value


METHODS["grad"] = METHODS["grad"].setter(_set_grad).deleter(lambda self: _set_grad(self, None))


@_property
def grad_fn(self: Tensor) -> Any:
    """The node that made it, or None for a leaf."""
    edge = edge_of(self)
    return None if class_of(edge) is AccumulateGrad else edge


@_property
def _base(self: Tensor) -> Tensor | None:
    """The tensor it is a view of, or None."""
    return None if self._b is PERMUTED else self._b


METHODS["_is_view"] = lambda self: self._b is not None and self._b is not PERMUTED


@_property
def data(self: Tensor) -> Tensor:
    """The same storage without history, and with versions of its own."""
    t = _shared(self)
    t._c = None
    return t


def _set_data(self: Tensor, value: Tensor) -> None:
    self._a, self._k, self._s = value._a, value._k, value._s
    self._b = None if value._k.is_contiguous(value._a) else PERMUTED
    if class_of(self._e) is AccumulateGrad:
        self._e.k = value._k


METHODS["data"] = METHODS["data"].setter(_set_data)


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if class_of(self._e) is not AccumulateGrad and edge_of(self) is not None:
        if value:
            return
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a "
            "computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
    if not value:
        self._e = None
    elif self._e is None:
        if self._k.dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        if self._k.dtype.is_complex:
            raise RuntimeError(
                "gradients of complex tensors are not supported; view_as_real gives their parts"
            )
        self._e = AccumulateGrad(self)


@public(function=False)
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Start or stop recording operations on this leaf."""
    _set_requires_grad(self, requires_grad)
    return self


@public(function=False)
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or one extent."""
    if dim is None:
        return self._s
    from tensorbus.ops.dims import wrap_dim

    if not self._s:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return self._s[wrap_dim(dim, len(self._s))]


@public(function=False, aliases=("ndimension",))
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return len(self._s)


@public(aliases=("nelement",))
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input._s.numel()


@public(function=False)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """The strides in elements, or one of them."""
    strides = tuple(self._k.layout(self._a)[2])
    return strides if dim is None else strides[dim]


@public(function=False)
def storage_offset(self: Tensor) -> int:
    """Where in its storage the first element lies, in elements."""
    return self._k.layout(self._a)[1]


@public(function=False)
def data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    return self._k.backend.data_ptr(self._a)


@public(function=False)
def element_size(self: Tensor) -> int:
    """Bytes of an element."""
    return self._k.dtype.itemsize


@public(function=False)
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether it is row-major without gaps."""
    return self._b is None or self._k.is_contiguous(self._a)


@public()
def is_floating_point(input: Tensor) -> bool:
    """Whether its dtype is float16, bfloat16, float32 or float64."""
    return input._k.dtype.is_floating_point


@public()
def is_complex(input: Tensor) -> bool:
    """Whether its dtype is complex."""
    return input._k.dtype.is_complex


@public(function=False)
def get_device(self: Tensor) -> int:
    """The device's index; -1 on the CPU."""
    return -1 if self._k.device.type == "cpu" else self._k.index


@public(method=False)
def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, Tensor)


# -- values out ------------------------------------------------------------------------------
def host_read(t: Tensor) -> np.ndarray:
    """The values in a NumPy array: the one place where a program waits for a device."""
    return t._k.backend.to_host(t._a, t._k.dtype)


@public(function=False)
def item(self: Tensor) -> Any:
    """The value of a tensor of one element as a Python number."""
    if self._s.numel() != 1:
        raise RuntimeError(
            f"a Tensor with {self._s.numel()} elements cannot be converted to Scalar"
        )
    return _plain(host_read(self), self._k.dtype).item()


def _plain(host: np.ndarray, d: Dtype) -> np.ndarray:
    """bfloat16 bits as float32 values; everything else as it is."""
    if d.name != "bfloat16":
        return host
    return (host.astype(np.uint32) << 16).view(np.float32)


@public(function=False)
def tolist(self: Tensor) -> Any:
    """The values as nested lists, or as a number."""
    return _plain(host_read(self), self._k.dtype).tolist()


@public(function=False)
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """A NumPy array over the tensor's memory; *force* copies where that needs a way out."""
    if force:
        return self.detach().cpu().numpy()
    if self.requires_grad:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    if self._k.device.type != "cpu":
        raise TypeError(
            f"can't convert {self._k.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )
    if self._k.dtype.name == "bfloat16":
        raise TypeError("Got unsupported ScalarType BFloat16")
    shared = self._k.backend.view_host(self._a, self._k.dtype)
    return host_read(self) if shared is None else shared


def _array(self: Tensor, dtype: Any = None, copy: Any = None) -> np.ndarray:
    array = numpy(self)
    return array if dtype is None else array.astype(dtype, copy=False)


METHODS["__array__"] = _array
METHODS["__array_priority__"] = 1000


def _bool(self: Tensor) -> bool:
    n = self._s.numel()
    if n != 1:
        raise RuntimeError(
            "Boolean value of Tensor with no values is ambiguous"
            if n == 0
            else "Boolean value of Tensor with more than one value is ambiguous"
        )
    return bool(item(self))


def _index(self: Tensor) -> int:
    if self._k.dtype.category > dtypes.INTEGER or self._s.numel() != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


def _len(self: Tensor) -> int:
    if not self._s:
        raise TypeError("len() of a 0-d tensor")
    return self._s[0]


def _iterate(self: Tensor) -> Any:
    if not self._s:
        raise TypeError("iteration over a 0-d tensor")
    select = core("select")
    return iter([select(self, 0, i) for i in range(self._s[0])])


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    from tensorbus._tensor_str import tensor_str

    return tensor_str(self)


def _format(self: Tensor, spec: str) -> str:
    return format(item(self), spec) if spec and not self._s else format(repr(self), spec)


METHODS.update(
    __bool__=_bool,
    __index__=_index,
    __int__=lambda self: int(item(self)),
    __float__=lambda self: float(item(self)),
    __complex__=lambda self: complex(item(self)),
    __len__=_len,
    __iter__=_iterate,
    __repr__=_repr,
    __format__=_format,
    __hash__=lambda self: id(self),
    __pos__=lambda self: self,
    __contains__=lambda self, value: bool((self == value).any().item()),
)


# -- elsewhere and otherwise -----------------------------------------------------------------
@public(function=False)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor with another dtype or on another device; itself where nothing changes.

    ``to(dtype)``, ``to(device, dtype=None)``, ``to(other)``; ``copy=True`` always copies.
    """
    d, where = kwargs.get("dtype"), kwargs.get("device")
    for argument in args:
        if isinstance(argument, Dtype):
            d = argument
        elif isinstance(argument, Tensor):
            d, where = argument._k.dtype, argument._k.device
        elif isinstance(argument, (str, Device)):
            where = argument
        elif isinstance(argument, int) and not isinstance(argument, bool):
            where = Device(self._k.device.type, argument)
        elif argument is not None and not isinstance(argument, bool):
            raise TypeError(
                f"to() takes a dtype, a device or a tensor, not {class_of(argument).__name__}"
            )
    k = kind_of(
        self._k.device if where is None else Device(where), self._k.dtype if d is None else d
    )
    return to_kind(self, k, copy=bool(kwargs.get("copy", False)))


def _as(d: Dtype) -> Any:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return to_kind(self, self._k.of(d))

    convert.__doc__ = f"The tensor as {d.name}."
    return convert


for _name, _dtype in dict(
    float=dtypes.float32, double=dtypes.float64, half=dtypes.float16, bfloat16=dtypes.bfloat16,
    int=dtypes.int32, long=dtypes.int64, short=dtypes.int16, char=dtypes.int8, byte=dtypes.uint8,
    bool=dtypes.bool, cfloat=dtypes.complex64, cdouble=dtypes.complex128,
).items():  # fmt: skip
    METHODS[_name] = _as(_dtype)


@public(function=False)
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    return to_kind(self, kind_of(Device("cpu"), self._k.dtype))


@public(function=False)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on the current, or the given, device of type ``cuda``."""
    if isinstance(device, int):
        device = Device("cuda", device)
    return to_kind(self, kind_of(Device(device or "cuda"), self._k.dtype))


@public(function=False)
def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy name of the type, or the tensor converted to a dtype or a type named so."""
    if dtype is None:
        where = self._k.device.type
        return f"torch.{'' if where == 'cpu' else where + '.'}{self._k.dtype.legacy}"
    if isinstance(dtype, str):
        wanted = dtype.rsplit(".", 1)[-1]
        dtype = next((d for d in dtypes.ALL if d.legacy == wanted), None)
        if dtype is None:
            raise ValueError(f"invalid type: '{wanted}'")
    return to_kind(self, self._k.of(dtype))


@public(function=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with another's dtype and device."""
    return to_kind(self, other._k)


@public(function=False)
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor if it is row-major without gaps, else a copy that is."""
    return self if is_contiguous(self) else core("clone")(self)


@public()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy, which gradients flow through; dense tensors keep their order of dimensions."""
    if input._b is None or input._k.is_contiguous(input._a):
        return core("clone")(input)
    return to_kind(input, input._k, copy=True)


def _shared(self: Tensor) -> Tensor:
    t = new(Tensor)
    t._a, t._k, t._s, t._e = self._a, self._k, self._s, None
    t._b = None if self._b is None else PERMUTED
    return t


@public()
def detach(input: Tensor) -> Tensor:
    """The same storage and versions without the history."""
    t = _shared(input)
    if input._c is None:
        input._c = [0]
    t._c = input._c
    return t


@public(function=False)
def detach_(self: Tensor) -> Tensor:
    """Forget the history."""
    if self._b is not None and self._b is not PERMUTED:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients."
        )
    self._e = None
    return self


# -- writing ---------------------------------------------------------------------------------
@public(function=False)
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values, of any dtype and device, which broadcast."""
    if not isinstance(src, Tensor):
        src = from_array(self._k.full((), src), self._k)
    y = to_kind(src, self._k)
    if y._s != self._s:
        y = y.expand(self._s)
    recording = (GRAD.on or THREAD.on) and (self._e is not None or y._e is not None)
    if recording:
        check_leaf(self)
        if y is src or y._b is not None:
            y = core("clone")(y)
    refuse_overlap(self)
    self._k.copy_(self._a, y._a)
    bump(self)
    if recording:
        rebase(self, y._e)
    return self


@public(function=False)
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write one value everywhere."""
    if isinstance(value, Tensor):
        if value._s:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{len(value._s)} dimensions."
            )
        return copy_(self, value)
    if (GRAD.on or THREAD.on) and edge_of(self) is not None:
        return copy_(self, value)
    refuse_overlap(self)
    self._k.copy_(self._a, value)
    bump(self)
    return self


@public(function=False)
def zero_(self: Tensor) -> Tensor:
    """Write zeros everywhere."""
    return fill_(self, 0)


# -- gradients -------------------------------------------------------------------------------
@public(function=False)
def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor to ``.grad`` of the leaves it was made from."""
    _backward(self, gradient, retain_graph, create_graph, inputs)


@public(function=False)
def register_hook(self: Tensor, hook: Any) -> Any:
    """Call *hook* with the gradient when it is known; what it returns replaces the gradient."""
    edge = edge_of(self)
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return hooks_of(edge).add("tensor", hook)


@public(function=False)
def register_post_accumulate_grad_hook(self: Tensor, hook: Any) -> Any:
    """Call ``hook(tensor)`` after this leaf's ``.grad`` was updated."""
    edge = edge_of(self)
    if class_of(edge) is not AccumulateGrad:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return hooks_of(edge).add("post_accumulate", hook)


@public(function=False)
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor, which no user made, in ``.grad`` too."""
    edge = edge_of(self)
    if edge is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if class_of(edge) is AccumulateGrad or METHODS["retains_grad"].fget(self):
        return
    self.__dict__["_retains"] = True
    import weakref

    me = weakref.ref(self)

    def keep(g: Tensor) -> None:
        t = me()
        if t is not None:
            before = t.grad
            t._g = g if before is None else before + g

    hooks_of(edge).add("retain", keep)


METHODS["retains_grad"] = property(
    lambda self: self.__dict__.get("_retains", False), doc="Whether ``retain_grad`` was called."
)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    made = clone(detach(self))
    if self._e is not None:
        made.requires_grad_()
    if self.grad is not None:
        made._g = _deepcopy(self.grad, memo)
    memo[id(self)] = made
    return made


METHODS["__deepcopy__"] = _deepcopy


def _reduce(self: Tensor, protocol: Any) -> Any:
    return _unpickle, (
        host_read(self), self._k.dtype, self._k.device, self.requires_grad and self.is_leaf
    )  # fmt: skip


def _unpickle(host: np.ndarray, d: Dtype, device: Device, requires_grad: bool) -> Tensor:
    k = kind_of(device, d)
    t = from_array(k.backend.from_host(host, d, k.index), k)
    return requires_grad_(t) if requires_grad else t


METHODS["__reduce_ex__"] = _reduce

# Made by scripts/stubs from the functions and methods in core/tensorbus: not edited.

import numpy as np
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from types import ModuleType
from typing import Any
from typing import Literal
from typing import Self
from typing import overload
from tensorbus import return_types
from tensorbus import storage as storages
from tensorbus._base import dtypes
from tensorbus._base import formats
from tensorbus._base.dtypes import dtype as _dtype
from tensorbus._base.formats import layout as _layout
from tensorbus._base.formats import memory_format
from tensorbus._base.modes import InferenceCell
from tensorbus._base.size import Size
from tensorbus._device.device import device as Device
from tensorbus._device.device import device as _device
from tensorbus._dispatch.kinds import Kind
from tensorbus.autograd.node import Node
from tensorbus.random import Generator
from tensorbus.utils.hooks import RemovableHandle

_Operand = Tensor | complex | np.number[Any] | np.bool_

class Tensor:
    """An array of numbers on a device, which may record how it was made."""
    _a: Any
    _k: Kind
    _s: Size
    _e: Any
    _c: list[_int] | InferenceCell | None
    _b: Any
    _r: Any
    _v: _int
    _g: Tensor | None
    def __new__(cls, *args: Any, **kwargs: Any) -> Tensor: ...
    @classmethod
    def __init_subclass__(cls, between: _bool = False, **kwargs: Any) -> None: ...
    def __torch_dispatch__(cls, types: tuple[_type, ...], args: Any = (), kwargs: Any = None) -> Any: ...
    @classmethod
    def __torch_function__(cls, func: Any, types: tuple[_type, ...], args: Any = (), kwargs: Any = None) -> Any: ...
    @property
    def H(self) -> Tensor:
        """``x.H``: ``mH`` of a matrix."""
    @property
    def T(self) -> Tensor:
        """``x.T``: all dimensions in reverse order; deprecated but for matrices."""
    def __abs__(self) -> Tensor:
        """The absolute value, element by element."""
    def __add__(self, other: _Operand, /) -> Tensor: ...
    def __and__(self, other: _Operand, /) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """The elements for NumPy: those of ``numpy.asarray(input)`` share the tensor's memory."""
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module with the functions of the Python array API standard, ``tensorbus.array_api``."""
    __array_priority__: _int
    def __array_wrap__(self, array: np.ndarray, context: Any = None, return_scalar: _bool = False) -> Tensor:
        """What a NumPy function of a tensor returns: a tensor."""
    def __bool__(self) -> _bool:
        """Whether the one element is not zero; RuntimeError for more elements."""
    def __complex__(self) -> complex:
        """The one element as a complex."""
    def __contains__(self, value: Any) -> _bool:
        """Whether an element is equal to a number or to a tensor that broadcasts."""
    def __copy__(self) -> Tensor:
        """``copy.copy``: a leaf over the same storage, with the same attributes."""
    @property
    def __cuda_array_interface__(self) -> Any:
        """What libraries for such GPUs read an array by: address, shape, strides, type."""
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor:
        """A leaf's copy on a storage of its own; views that were copied with it share that."""
    def __delitem__(self, index: Any) -> None:
        """Refused: tensors do not change their size by index."""
    def __div__(self, y: Any) -> Any:
        """``x / y``, true division; the operands broadcast."""
    def __dlpack__(self, *, stream: Any = -1, max_version: tuple[_int, _int] | None = None, dl_device: tuple[_int, _int] | None = None, copy: _bool | None = None) -> Any:
        """A DLPack capsule over the tensor's memory, for the ``from_dlpack`` of another library."""
    def __dlpack_device__(self) -> tuple[_int, _int]:
        """DLPack's type and number of the tensor's device; BufferError where it has none."""
    def __eq__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float:
        """The one element as a float."""
    def __floordiv__(self, other: _Operand, /) -> Tensor: ...
    def __format__(self, spec: str) -> str:
        """Default object formatter."""
    def __ge__(self, other: _Operand, /) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor:
        """Part of the tensor: a view for ints, slices, None and ``...``, else a copy."""
    def __gt__(self, other: _Operand, /) -> Tensor: ...
    def __hash__(self) -> _int:
        """Return hash(self)."""
    def __iadd__(self, other: _Operand, /) -> Self: ...
    def __iand__(self, other: _Operand, /) -> Self: ...
    def __idiv__(self, other: _Operand) -> Any:
        """In-place version of ``div``."""
    def __ifloordiv__(self, other: _Operand, /) -> Self: ...
    def __ilshift__(self, other: _Operand, /) -> Self: ...
    def __imod__(self, other: _Operand, /) -> Self: ...
    def __imul__(self, other: _Operand, /) -> Self: ...
    def __index__(self) -> _int:
        """The one element as an int; TypeError where its dtype is not of integers."""
    def __int__(self) -> _int:
        """The one element as an int."""
    def __invert__(self) -> Tensor:
        """``~input``: the bits inverted, truth values negated."""
    def __ior__(self, other: _Operand, /) -> Self: ...
    def __ipow__(self, other: _Operand, /) -> Self: ...
    def __irshift__(self, other: _Operand, /) -> Self: ...
    def __isub__(self, other: _Operand, /) -> Self: ...
    def __iter__(self) -> Iterator[Tensor]:
        """The slices of the first dimension, one after another."""
    def __itruediv__(self, other: _Operand, /) -> Self: ...
    def __ixor__(self, other: _Operand, /) -> Self: ...
    def __le__(self, other: _Operand, /) -> Tensor: ...
    def __len__(self) -> _int:
        """The size of the first dimension; TypeError where there is none."""
    def __long__(self) -> Any:
        """The one element as an int."""
    def __lshift__(self, other: _Operand, /) -> Tensor: ...
    def __lt__(self, other: _Operand, /) -> Tensor: ...
    def __matmul__(self, other: Tensor, /) -> Tensor: ...
    def __mod__(self, other: _Operand, /) -> Tensor: ...
    def __mul__(self, other: _Operand, /) -> Tensor: ...
    def __ne__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor:
        """``-x``, element by element."""
    def __nonzero__(self) -> _bool:
        """Whether the one element is not zero, as ``bool(input)`` has it."""
    def __or__(self, other: _Operand, /) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """The tensor itself; RuntimeError for truth values."""
    def __pow__(self, other: _Operand, /) -> Tensor: ...
    def __radd__(self, other: _Operand, /) -> Tensor: ...
    def __rand__(self, other: _Operand, /) -> Tensor: ...
    def __rdiv__(self, other: Any) -> Tensor:
        """``input / other``, true division; the operands broadcast, where this tensor is the right operand."""
    def __reduce_ex__(self, protocol: Any) -> Any:
        """Helper for pickle."""
    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        """Return repr(self)."""
    def __reversed__(self) -> Tensor:
        """``reversed(input)``: the first dimension flipped."""
    def __rfloordiv__(self, other: _Operand, /) -> Tensor: ...
    def __rlshift__(self, other: _Operand, /) -> Tensor: ...
    def __rmatmul__(self, other: Tensor, /) -> Tensor: ...
    def __rmod__(self, other: _Operand, /) -> Tensor: ...
    def __rmul__(self, other: _Operand, /) -> Tensor: ...
    def __ror__(self, other: _Operand, /) -> Tensor: ...
    def __rpow__(self, other: _Operand, /) -> Tensor: ...
    def __rrshift__(self, other: _Operand, /) -> Tensor: ...
    def __rshift__(self, other: _Operand, /) -> Tensor: ...
    def __rsub__(self, other: _Operand, /) -> Tensor: ...
    def __rtruediv__(self, other: _Operand, /) -> Tensor: ...
    def __rxor__(self, other: _Operand, /) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None:
        """Write a number or a tensor that broadcasts into part of the tensor."""
    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes that a pickle has besides the values."""
    def __sub__(self, other: _Operand, /) -> Tensor: ...
    def __truediv__(self, other: _Operand, /) -> Tensor: ...
    def __xor__(self, other: _Operand, /) -> Tensor: ...
    @property
    def _base(self) -> Tensor | None:
        """The tensor it is a view of, or None."""
    def _coalesced_(self, *args: Any, **kwargs: Any) -> Any:
        """Say whether each coordinate of a sparse tensor is there once and in order; an error for a dense one."""
    def _indices(self, *args: Any, **kwargs: Any) -> Any:
        """The coordinates of a sparse tensor; an error for a dense one."""
    def _is_view(self) -> _bool:
        """Whether it shares the memory of another tensor that it was made from."""
    def _make_subclass(self, data: Tensor, require_grad: _bool = False) -> Any:
        """An object of a subclass of Tensor over the memory of *data*, without its history."""
    def _make_wrapper_subclass(self, size: Any, strides: Any = None, storage_offset: Any = None, memory_format: Any = None, dtype: Any = None, layout: Any = ..., device: Any = None, pin_memory: _bool = False, requires_grad: _bool = False, dispatch_sizes_strides_policy: Any = None) -> Any:
        """An object of a class with ``__torch_dispatch__`` that has a shape, a dtype and no values."""
    def _nnz(self, *args: Any, **kwargs: Any) -> Any:
        """The number of elements of a sparse tensor; an error for a dense one."""
    def _values(self, *args: Any, **kwargs: Any) -> Any:
        """The values of a sparse tensor without history; an error for a dense one."""
    @property
    def _version(self) -> _int:
        """How often its storage was written."""
    def abs(self) -> Tensor:
        """The absolute value, element by element; *out* receives the result where given."""
    def abs_(self) -> Self:
        """In-place version of ``abs``."""
    def absolute(self) -> Tensor:
        """The absolute value, element by element; *out* receives the result where given."""
    def absolute_(self) -> Self:
        """In-place version of ``abs``."""
    def acos(self) -> Tensor:
        """The arc cosine, element by element; *out* receives the result where given."""
    def acos_(self) -> Self:
        """In-place version of ``acos``."""
    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine, element by element; *out* receives the result where given."""
    def acosh_(self) -> Self:
        """In-place version of ``acosh``."""
    def add(self, other: _Operand, *, alpha: complex = 1) -> Tensor:
        """``input + other``; the operands broadcast."""
    def add_(self, other: _Operand, *, alpha: complex = 1) -> Self:
        """In-place version of ``add``."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """``beta * input + alpha * sum over the batch of (batch1 @ batch2)``."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In-place version of ``addbmm``."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
        """``input + value * tensor1 / tensor2`` in the dtype of the result; the operands broadcast."""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Self:
        """In-place version of ``addcdiv``."""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Tensor:
        """``input + value * tensor1 * tensor2`` in the dtype of the result; the operands broadcast."""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1) -> Self:
        """In-place version of ``addcmul``."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """``beta * input + alpha * (mat1 @ mat2)``; *input* broadcasts."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In-place version of ``addmm``."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """``beta * input + alpha * (mat @ vec)``; *input* broadcasts."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In-place version of ``addmv``."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In-place version of ``addr``."""
    def adjoint(self) -> Tensor:
        """The last two dimensions exchanged, complex numbers conjugated."""
    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements are true."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements are close: ``abs(input - other) <= atol + rtol * abs(other)``."""
    def amax(self, dim: _int | Sequence[_int] | None = (), keepdim: _bool = False) -> Tensor:
        """The largest value over some dimensions; the gradient is shared among equals."""
    def amin(self, dim: _int | Sequence[_int] | None = (), keepdim: _bool = False) -> Tensor:
        """The smallest value over some dimensions; the gradient is shared among equals."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> return_types.aminmax:
        """(min, max) of all elements or along a dimension."""
    def angle(self) -> Tensor:
        """The angle of a complex number; of a real one pi where it is negative, else 0."""
    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether any element is true."""
    def apply_(self, callable: Any) -> Self:
        """Replace each element by a Python function of it; for tensors on the CPU alone, and slow."""
    def arccos(self) -> Tensor:
        """The arc cosine, element by element; *out* receives the result where given."""
    def arccos_(self) -> Self:
        """In-place version of ``acos``."""
    def arccosh(self) -> Tensor:
        """The inverse hyperbolic cosine, element by element; *out* receives the result where given."""
    def arccosh_(self) -> Self:
        """In-place version of ``acosh``."""
    def arcsin(self) -> Tensor:
        """The arc sine, element by element; *out* receives the result where given."""
    def arcsin_(self) -> Self:
        """In-place version of ``asin``."""
    def arcsinh(self) -> Tensor:
        """The inverse hyperbolic sine, element by element; *out* receives the result where given."""
    def arcsinh_(self) -> Self:
        """In-place version of ``asinh``."""
    def arctan(self) -> Tensor:
        """The arc tangent, element by element; *out* receives the result where given."""
    def arctan2(self, other: _Operand) -> Tensor:
        """The angle of the point ``(other, input)``; the operands broadcast."""
    def arctan2_(self, other: _Operand) -> Self:
        """In-place version of ``atan2``."""
    def arctan_(self) -> Self:
        """In-place version of ``atan``."""
    def arctanh(self) -> Tensor:
        """The inverse hyperbolic tangent, element by element; *out* receives the result where given."""
    def arctanh_(self) -> Self:
        """In-place version of ``atanh``."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The index of the largest value, int64; the first among equals."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The index of the smallest value, int64; the first among equals."""
    def argsort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False) -> Tensor:
        """The indices of the elements in order along a dimension; always stable."""
    def argwhere(self) -> Tensor:
        """The coordinates of what is not zero, a row for each."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view with any shape, strides and offset within the storage."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Self:
        """A view with any shape, strides and offset within the storage."""
    def as_strided_scatter(self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A copy of *input* with *src* at the elements that size, strides and offset select."""
    def as_subclass(self, cls: _type) -> Any:
        """The same storage and history as an object of a subclass of Tensor."""
    def asin(self) -> Tensor:
        """The arc sine, element by element; *out* receives the result where given."""
    def asin_(self) -> Self:
        """In-place version of ``asin``."""
    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine, element by element; *out* receives the result where given."""
    def asinh_(self) -> Self:
        """In-place version of ``asinh``."""
    def atan(self) -> Tensor:
        """The arc tangent, element by element; *out* receives the result where given."""
    def atan2(self, other: _Operand) -> Tensor:
        """The angle of the point ``(other, input)``; the operands broadcast."""
    def atan2_(self, other: _Operand) -> Self:
        """In-place version of ``atan2``."""
    def atan_(self) -> Self:
        """In-place version of ``atan``."""
    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent, element by element; *out* receives the result where given."""
    def atanh_(self) -> Self:
        """In-place version of ``atanh``."""
    def backward(self, gradient: Tensor | None = None, retain_graph: _bool | None = None, create_graph: _bool = False, inputs: Any = None) -> None:
        """Add the gradients of this tensor to ``.grad`` of the leaves it was made from."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
        """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Self:
        """In-place version of ``baddbmm``."""
    def bernoulli(self, p: _float = ..., *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that *input* (or *p*) says, else 0."""
    def bernoulli_(self, p: Tensor | complex = 0.5, *, generator: Generator | None = None) -> Self:
        """Overwrite with 1 with probability *p*, else 0."""
    def bfloat16(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each non-negative integer occurs, or the sum of its weights."""
    def bitwise_and(self, other: _Operand) -> Tensor:
        """``input & other``; the operands broadcast."""
    def bitwise_and_(self, other: _Operand) -> Self:
        """In-place version of ``bitwise_and``."""
    def bitwise_left_shift(self, other: _Operand) -> Tensor:
        """``input << other``; the operands broadcast."""
    def bitwise_left_shift_(self, other: _Operand) -> Self:
        """In-place version of ``lshift``."""
    def bitwise_not(self) -> Tensor:
        """``~input``, element by element; *out* receives the result where given."""
    def bitwise_not_(self) -> Self:
        """In-place version of ``bitwise_not``."""
    def bitwise_or(self, other: _Operand) -> Tensor:
        """``input | other``; the operands broadcast."""
    def bitwise_or_(self, other: _Operand) -> Self:
        """In-place version of ``bitwise_or``."""
    def bitwise_right_shift(self, other: _Operand) -> Tensor:
        """``input >> other``; the operands broadcast."""
    def bitwise_right_shift_(self, other: _Operand) -> Self:
        """In-place version of ``rshift``."""
    def bitwise_xor(self, other: _Operand) -> Tensor:
        """``input ^ other``; the operands broadcast."""
    def bitwise_xor_(self, other: _Operand) -> Self:
        """In-place version of ``bitwise_xor``."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices."""
    def bool(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as bool."""
    def broadcast_to(self, size: _int | Sequence[_int]) -> Tensor:
        """``expand`` as a function."""
    def btrifact(self, pivot: _bool = True) -> Any:
        """Deprecated: ``linalg.lu_factor`` of a batch of matrices, as a tuple."""
    def btrifact_with_info(self, pivot: _bool = True) -> Any:
        """Deprecated: ``linalg.lu_factor_ex`` of a batch of matrices, as a tuple."""
    def btrisolve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Deprecated: ``linalg.lu_solve``; a vector for each matrix is solved for, too."""
    def bucketize(self, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False) -> Tensor:
        """The number of the bucket between boundaries that each value lies in."""
    def byte(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as uint8."""
    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: Generator | None = None) -> Self:
        """Overwrite with random numbers of Cauchy's distribution."""
    def ccol_indices(self, *args: Any, **kwargs: Any) -> Any:
        """Where the columns of a sparse tensor by compressed columns begin; an error for a dense one."""
    def cdouble(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as complex128."""
    def ceil(self) -> Tensor:
        """The smallest integer not below, element by element; *out* receives the result where given."""
    def ceil_(self) -> Self:
        """In-place version of ``ceil``."""
    def cfloat(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as complex64."""
    def chalf(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as complex32."""
    def char(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as int8."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """``linalg.cholesky`` under its older name."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of the matrix whose Cholesky factor is *input*, lower or *upper*."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """The solution of ``A @ X = input`` by A's Cholesky factor *input2*, lower or *upper*."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Views of at most *chunks* pieces of one size, the last smaller where it must be."""
    def clamp(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Tensor:
        """The values cut to [min, max]; either may be missing, a number or a tensor."""
    def clamp_(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Self:
        """In-place version of ``clamp``."""
    def clamp_max(self, max: Tensor | complex) -> Tensor:
        """The values, and *max* where they are above; *max* is a number or a tensor."""
    def clamp_max_(self, max: Tensor | complex) -> Self:
        """In-place version of ``clamp_max``."""
    def clamp_min(self, min: Tensor | complex) -> Tensor:
        """The values, and *min* where they are below; *min* is a number or a tensor."""
    def clamp_min_(self, min: Tensor | complex) -> Self:
        """In-place version of ``clamp_min``."""
    def clip(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Tensor:
        """The values cut to [min, max]; either may be missing, a number or a tensor."""
    def clip_(self, min: Tensor | complex | None = None, max: Tensor | complex | None = None) -> Self:
        """In-place version of ``clip``."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy, which gradients flow through; dense tensors keep their order of dimensions."""
    def coalesce(self, *args: Any, **kwargs: Any) -> Any:
        """A sparse tensor with each coordinate once and in order; an error for a dense one."""
    def col_indices(self, *args: Any, **kwargs: Any) -> Any:
        """The columns of the elements of a sparse tensor by compressed rows; an error for a dense one."""
    def conj(self) -> Tensor:
        """The complex conjugate; a real tensor itself."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate; a real tensor itself."""
    def conj_physical_(self) -> Self:
        """In-place version of ``conj_physical``."""
    def const_data_ptr(self) -> _int:
        """The address of the first element, for reading alone."""
    def contiguous(self, *, memory_format: Any = None) -> Tensor:
        """The tensor if its elements lie in a memory format without gaps, else a copy that does."""
    def copy_(self, src: Any, non_blocking: _bool = False) -> Self:
        """Write another tensor's values, of any dtype and device, which broadcast."""
    def copysign(self, other: _Operand) -> Tensor:
        """The size of *input* with the sign of *other*; the operands broadcast."""
    def copysign_(self, other: _Operand) -> Self:
        """In-place version of ``copysign``."""
    def corrcoef(self) -> Tensor:
        """The matrix of correlation coefficients of variables in rows."""
    def cos(self) -> Tensor:
        """The cosine, element by element; *out* receives the result where given."""
    def cos_(self) -> Self:
        """In-place version of ``cos``."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine, element by element; *out* receives the result where given."""
    def cosh_(self) -> Self:
        """In-place version of ``cosh``."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """How many elements are not zero, of all or along some dimensions."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables in rows, observations in columns."""
    def cpu(self, memory_format: Any = None) -> Tensor:
        """The tensor on the CPU."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The vector product along a dimension of size 3: the given one, or the first such."""
    def crow_indices(self, *args: Any, **kwargs: Any) -> Any:
        """Where the rows of a sparse tensor by compressed rows begin; an error for a dense one."""
    def cuda(self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None) -> Tensor:
        """The tensor on the current, or the given, device of type ``cuda``."""
    def cummax(self, dim: _int) -> return_types.cummax:
        """(values, indices) of the largest element so far; its last place among equals."""
    def cummin(self, dim: _int) -> return_types.cummin:
        """(values, indices) of the smallest element so far; its last place among equals."""
    def cumprod(self, dim: _int, *, dtype: dtypes.dtype | None = None) -> Tensor:
        """Running products along a dimension; integers give int64."""
    def cumprod_(self, dim: _int, *, dtype: dtypes.dtype | None = None) -> Self:
        """In-place version of ``cumprod``."""
    def cumsum(self, dim: _int, *, dtype: dtypes.dtype | None = None) -> Tensor:
        """Running sums along a dimension; integers give int64."""
    def cumsum_(self, dim: _int, *, dtype: dtypes.dtype | None = None) -> Self:
        """In-place version of ``cumsum``."""
    @property
    def data(self) -> Tensor:
        """The same storage without history, and with versions of its own."""
    @data.setter
    def data(self, value: Tensor) -> None: ...
    def data_ptr(self) -> _int:
        """The address of the first element."""
    def deg2rad(self) -> Tensor:
        """Degrees in radians, element by element; *out* receives the result where given."""
    def deg2rad_(self) -> Self:
        """In-place version of ``deg2rad``."""
    def dense_dim(self) -> _int:
        """How many dimensions are dense: all, where the layout is strided."""
    def dequantize(self) -> Tensor:
        """The tensor as float32, which is all that is left to do where none is quantised."""
    def det(self) -> Tensor:
        """The determinants of square matrices: (..., n, n) -> (...)."""
    def detach(self) -> Tensor:
        """The same storage and versions without the history."""
    def detach_(self) -> Self:
        """Forget the history."""
    @property
    def device(self) -> Device:
        """Where the elements are."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A vector as a matrix's diagonal, or a matrix's diagonal as a vector."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """The last dimension on a diagonal of new matrices that are zero elsewhere."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """All elements as the diagonal of a matrix."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of two dimensions as a new last one, without a copy."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of *input* with *src* on a diagonal."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """Differences of neighbours along a dimension, taken *n* times."""
    def digamma(self) -> Tensor:
        """The derivative of ``lgamma``, element by element; *out* receives the result where given."""
    def digamma_(self) -> Self:
        """In-place version of ``digamma``."""
    def dim(self) -> _int:
        """The number of dimensions."""
    def dim_order(self, *, ambiguity_check: _bool | list[Any] = False) -> tuple[_int, ...]:
        """The dimensions from the outermost in memory to the innermost."""
    def dist(self, other: Tensor, p: complex = 2) -> Tensor:
        """The *p*-norm of ``input - other``; the operands broadcast."""
    def div(self, other: _Operand, *, rounding_mode: str | None = None) -> Tensor:
        """``input / other``; the operands broadcast."""
    def div_(self, other: _Operand, *, rounding_mode: str | None = None) -> Self:
        """In-place version of ``div``."""
    def divide(self, other: Any, *, rounding_mode: str | None = None) -> Tensor:
        """``input / other``; the operands broadcast."""
    def divide_(self, other: _Operand, *, rounding_mode: str | None = None) -> Self:
        """In-place version of ``div``."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The inner product of two vectors."""
    def double(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as float64."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Views of that many equal pieces, or of the pieces between the indices listed, along the dimension that the stack of that name joins."""
    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
    def eig(self, eigenvectors: _bool = False) -> Any:
        """Deprecated: ``linalg.eig`` of one matrix; of real numbers, with real numbers."""
    def element_size(self) -> _int:
        """Bytes of an element."""
    def eq(self, other: _Operand) -> Tensor:
        """``input == other``; the operands broadcast."""
    def eq_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``eq``: 1 where it holds, else 0."""
    def equal(self, other: Tensor) -> _bool:
        """Whether both have the same shape and the same values."""
    def erf(self) -> Tensor:
        """The error function, element by element; *out* receives the result where given."""
    def erf_(self) -> Self:
        """In-place version of ``erf``."""
    def erfc(self) -> Tensor:
        """``1 - erf(input)``, exact where erf is near 1, element by element; *out* receives the result where given."""
    def erfc_(self) -> Self:
        """In-place version of ``erfc``."""
    def erfinv(self) -> Tensor:
        """The inverse of the error function, element by element; *out* receives the result where given."""
    def erfinv_(self) -> Self:
        """In-place version of ``erfinv``."""
    def exp(self) -> Tensor:
        """The exponential, element by element; *out* receives the result where given."""
    def exp2(self) -> Tensor:
        """Two to the power, element by element; *out* receives the result where given."""
    def exp2_(self) -> Self:
        """In-place version of ``exp2``."""
    def exp_(self) -> Self:
        """In-place version of ``exp``."""
    def expand(self, *args: Any, size: Any = None) -> Tensor:
        """Sizes of 1 repeated without a copy; -1 keeps a size; new dimensions come in front."""
    def expand_as(self, other: Tensor) -> Tensor:
        """``expand`` to the shape of another tensor."""
    def expm1(self) -> Tensor:
        """``exp(input) - 1``, exact near 0, element by element; *out* receives the result where given."""
    def expm1_(self) -> Self:
        """In-place version of ``expm1``."""
    def exponential_(self, lambd: _float = 1, *, generator: Generator | None = None) -> Self:
        """Overwrite with exponential random numbers, of which none is 0."""
    def fill_(self, value: Any) -> Self:
        """Write one value everywhere."""
    def fill_diagonal_(self, fill_value: complex, wrap: _bool = False) -> Self:
        """Write one value to the main diagonal; *wrap* begins it anew below a tall matrix."""
    def fix(self) -> Tensor:
        """The integer part, element by element; *out* receives the result where given."""
    def fix_(self) -> Self:
        """In-place version of ``trunc``."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dimensions from *start_dim* to *end_dim* joined into one."""
    def flip(self, *args: Any, dims: Any = None) -> Tensor:
        """The order of some dimensions reversed, in a copy."""
    def fliplr(self) -> Tensor:
        """Columns in reverse order."""
    def flipud(self) -> Tensor:
        """Rows in reverse order."""
    def float(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as float32."""
    def float_power(self, exponent: Any) -> Tensor:
        """``input ** exponent`` computed in float64, or complex128."""
    def float_power_(self, exponent: Any) -> Self:
        """In-place version of ``float_power``: for float64 and complex128 only."""
    def floor(self) -> Tensor:
        """The largest integer not above, element by element; *out* receives the result where given."""
    def floor_(self) -> Self:
        """In-place version of ``floor``."""
    def floor_divide(self, other: _Operand) -> Tensor:
        """``input // other``, rounded towards minus infinity; the operands broadcast."""
    def floor_divide_(self, other: _Operand) -> Self:
        """In-place version of ``floor_divide``."""
    def fmax(self, other: _Operand) -> Tensor:
        """The larger of both, the other one where either is NaN; the operands broadcast."""
    def fmin(self, other: _Operand) -> Tensor:
        """The smaller of both, the other one where either is NaN; the operands broadcast."""
    def fmod(self, other: _Operand) -> Tensor:
        """The remainder of division with the sign of *input*; the operands broadcast."""
    def fmod_(self, other: _Operand) -> Self:
        """In-place version of ``fmod``."""
    def frac(self) -> Tensor:
        """The part behind the point, element by element; *out* receives the result where given."""
    def frac_(self) -> Self:
        """In-place version of ``frac``."""
    def frexp(self) -> return_types.frexp:
        """(mantissa, exponent) with ``input = mantissa * 2**exponent``; exponents are int32."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``: one element for each index."""
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisors of integers, by Euclid's algorithm; the operands broadcast."""
    def gcd_(self, other: Tensor) -> Self:
        """In-place version of ``gcd``."""
    def ge(self, other: _Operand) -> Tensor:
        """``input >= other``; the operands broadcast."""
    def ge_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``ge``: 1 where it holds, else 0."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """Overwrite with how many trials, each with probability *p*, it takes to succeed once."""
    def geqrf(self) -> return_types.geqrf:
        """(a, tau): the QR factorization with Q as a product of reflections."""
    def ger(self, vec2: Tensor) -> Tensor:
        """``outer`` under its older name."""
    def gesv(self, A: Tensor) -> Any:
        """Deprecated: ``linalg.solve`` with its arguments the other way round, and the LU factors."""
    def get_device(self) -> _int:
        """The device's index; -1 on the CPU."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes added up, or None."""
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...
    @grad.deleter
    def grad(self) -> None: ...
    @property
    def grad_dtype(self) -> Any:
        """The dtype of ``.grad``, to which gradients are converted; None: any may be assigned."""
    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The node that made it, or None for a leaf."""
    def greater(self, other: _Operand) -> Tensor:
        """``input > other``; the operands broadcast."""
    def greater_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``greater``: 1 where it holds, else 0."""
    def greater_equal(self, other: _Operand) -> Tensor:
        """``input >= other``; the operands broadcast."""
    def greater_equal_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``greater_equal``: 1 where it holds, else 0."""
    def gt(self, other: _Operand) -> Tensor:
        """``input > other``; the operands broadcast."""
    def gt_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``gt``: 1 where it holds, else 0."""
    def half(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as float16."""
    def hardshrink(self, lambd: complex = 0.5) -> Tensor:
        """The values outside [-lambd, lambd], else 0."""
    def hash_tensor(self, dim: Any = (), *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """The exclusive or of the elements' bits along some dimensions, all by default, as uint64."""
    def heaviside(self, values: Tensor, **keywords: Any) -> Tensor:
        """0 below 0, 1 above, *values* at 0; both of one dtype."""
    def heaviside_(self, values: Tensor, **keywords: Any) -> Self:
        """In-place version of ``heaviside``."""
    def histc(self, bins: _int = 100, min: complex = 0, max: complex = 0) -> Tensor:
        """How many values lie in each of equal bins from *min* to *max*, or from least to greatest."""
    def histogram(self, bins: _int | Tensor = 100, *, range: Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> return_types.histogram:
        """(hist, bin_edges): how many values lie in each bin, or the sum of their weights."""
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Views of that many equal pieces, or of the pieces between the indices listed, along the dimension that the stack of that name joins."""
    def hypot(self, other: _Operand) -> Tensor:
        """``sqrt(input**2 + other**2)`` without overflow; the operands broadcast."""
    def hypot_(self, other: _Operand) -> Self:
        """In-place version of ``hypot``."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind of order 0, element by element; *out* receives the result where given."""
    def i0_(self) -> Self:
        """In-place version of ``i0``."""
    def igamma(self, other: _Operand) -> Tensor:
        """The regularized lower incomplete gamma function; the operands broadcast."""
    def igamma_(self, other: _Operand) -> Self:
        """In-place version of ``igamma``."""
    def igammac(self, other: _Operand) -> Tensor:
        """The regularized upper incomplete gamma function; the operands broadcast."""
    def igammac_(self, other: _Operand) -> Self:
        """In-place version of ``igammac``."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts, sharing memory; RuntimeError for a real dtype."""
    @imag.setter
    def imag(self, value: Tensor) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: complex = 1) -> Tensor:
        """``index_add_`` on a copy."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: complex = 1) -> Self:
        """Add ``alpha * source`` to the slices at the indices; every duplicate counts."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """``index_copy_`` on a copy."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """Write *source* into the slices at the indices."""
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """``index_fill_`` on a copy."""
    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Self:
        """Write a number or a 0-dim tensor into the slices at the indices."""
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
        """``index_put_`` on a copy."""
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Self:
        """``self[indices] = values``, or ``+=`` with every duplicate applied where *accumulate*."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """A copy with the slices of *source* reduced at their indices along a dimension."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True) -> Self:
        """In-place version of ``index_reduce``."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """Whole slices at the indices of a vector; negative ones are out of range."""
    def indices(self, *args: Any, **kwargs: Any) -> Any:
        """The coordinates of a coalesced sparse tensor; an error for a dense one."""
    def inner(self, other: Tensor) -> Tensor:
        """The inner products along the last dimensions: (..., k) x (---, k) -> (..., ---)."""
    def int(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as int32."""
    def inverse(self) -> Tensor:
        """``linalg.inv`` under its older name."""
    def is_coalesced(self, *args: Any, **kwargs: Any) -> Any:
        """Whether a sparse tensor has each coordinate once and in order; an error for a dense one."""
    def is_complex(self) -> _bool:
        """Whether its dtype is complex."""
    def is_conj(self) -> _bool:
        """False: conjugates are always computed at once here."""
    def is_contiguous(self, *, memory_format: Any = None) -> _bool:
        """Whether its elements lie in a memory format without gaps; row-major if none is given."""
    @property
    def is_cpu(self) -> _bool:
        """Whether it is on the CPU."""
    @property
    def is_cuda(self) -> _bool:
        """Whether it is on a device of type ``cuda``."""
    def is_distributed(self) -> _bool:
        """False: no tensor is spread over several machines."""
    def is_floating_point(self) -> _bool:
        """Whether its dtype is float16, bfloat16, float32 or float64."""
    @property
    def is_hpu(self) -> _bool:
        """Whether it is on a device of type ``hpu``."""
    def is_inference(self) -> _bool:
        """Whether the tensor was made in inference mode: it never enters a graph."""
    @property
    def is_ipu(self) -> _bool:
        """Whether it is on a device of type ``ipu``."""
    @property
    def is_leaf(self) -> _bool:
        """Whether it was made by the user, not by a recorded operation."""
    @property
    def is_maia(self) -> _bool:
        """Whether it is on a device of type ``maia``."""
    @property
    def is_meta(self) -> _bool:
        """Whether it is on the device ``meta``: it has a shape, a dtype and strides, and no values."""
    @property
    def is_mkldnn(self) -> _bool:
        """Whether it is in a layout of a vendor's library, which no tensor is."""
    @property
    def is_mps(self) -> _bool:
        """Whether it is on a device of type ``mps``."""
    @property
    def is_mtia(self) -> _bool:
        """Whether it is on a device of type ``mtia``."""
    def is_neg(self) -> _bool:
        """False: negations are always computed at once here."""
    def is_nonzero(self) -> _bool:
        """Whether the one element is not zero; RuntimeError for any other number of elements."""
    def is_pinned(self, device: Any = None) -> _bool:
        """Whether it is in pinned memory, which no tensor is."""
    @property
    def is_quantized(self) -> _bool:
        """Whether it is quantised."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether both have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both are the same view of the same storage."""
    def is_shared(self) -> _bool:
        """Whether other processes see what is written into the tensor."""
    def is_signed(self) -> _bool:
        """Whether its dtype has negative values."""
    @property
    def is_sparse(self) -> _bool:
        """Whether its layout is sparse."""
    @property
    def is_sparse_csr(self) -> _bool:
        """Whether its layout is that of compressed sparse rows."""
    @property
    def is_vulkan(self) -> _bool:
        """Whether it is on a device of type ``vulkan``."""
    @property
    def is_xla(self) -> _bool:
        """Whether it is on a device of type ``xla``."""
    @property
    def is_xpu(self) -> _bool:
        """Whether it is on a device of type ``xpu``."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Where ``abs(input - other) <= atol + rtol * abs(other)``; the operands broadcast."""
    def isfinite(self) -> Tensor:
        """Whether it is neither NaN nor infinite, element by element."""
    def isinf(self) -> Tensor:
        """Whether it is infinite, element by element."""
    def isnan(self) -> Tensor:
        """Whether it is NaN, element by element."""
    def isneginf(self) -> Tensor:
        """Where a value is negative infinity."""
    def isposinf(self) -> Tensor:
        """Where a value is positive infinity."""
    def isreal(self) -> Tensor:
        """Where a value has no imaginary part: everywhere, unless the dtype is complex."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal whose windows have these Fourier transforms: the inverse of ``stft``."""
    def item(self) -> Any:
        """The value of a tensor of one element as a Python number."""
    @property
    def itemsize(self) -> _int:
        """Bytes of an element."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: every element of *input* times all of *other*."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> return_types.kthvalue:
        """(values, indices) of the *k*-th smallest along a dimension; *k* counts from 1."""
    @property
    def layout(self) -> formats.layout:
        """How its elements are kept: ``strided``."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiples of integers; the operands broadcast."""
    def lcm_(self, other: Tensor) -> Self:
        """In-place version of ``lcm``."""
    def ldexp(self, other: Tensor) -> Tensor:
        """``input * 2**other``."""
    def ldexp_(self, other: Tensor) -> Self:
        """In-place version of ``ldexp``."""
    def le(self, other: _Operand) -> Tensor:
        """``input <= other``; the operands broadcast."""
    def le_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``le``: 1 where it holds, else 0."""
    def lerp(self, end: Tensor, weight: Any) -> Tensor:
        """``input + weight * (end - input)``, exact at both ends; the operands broadcast."""
    def lerp_(self, end: Tensor, weight: Any) -> Self:
        """In-place version of ``lerp``."""
    def less(self, other: _Operand) -> Tensor:
        """``input < other``; the operands broadcast."""
    def less_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``less``: 1 where it holds, else 0."""
    def less_equal(self, other: _Operand) -> Tensor:
        """``input <= other``; the operands broadcast."""
    def less_equal_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``less_equal``: 1 where it holds, else 0."""
    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function, element by element; *out* receives the result where given."""
    def lgamma_(self) -> Self:
        """In-place version of ``lgamma``."""
    def log(self) -> Tensor:
        """The natural logarithm, element by element; *out* receives the result where given."""
    def log10(self) -> Tensor:
        """The logarithm to base 10, element by element; *out* receives the result where given."""
    def log10_(self) -> Self:
        """In-place version of ``log10``."""
    def log1p(self) -> Tensor:
        """``log(1 + input)``, exact near 0, element by element; *out* receives the result where given."""
    def log1p_(self) -> Self:
        """In-place version of ``log1p``."""
    def log2(self) -> Tensor:
        """The logarithm to base 2, element by element; *out* receives the result where given."""
    def log2_(self) -> Self:
        """In-place version of ``log2``."""
    def log_(self) -> Self:
        """In-place version of ``log``."""
    def log_normal_(self, mean: _float = 1, std: _float = 2, *, generator: Generator | None = None) -> Self:
        """Overwrite with the exponentials of normal random numbers of such a mean and deviation."""
    def log_softmax(self, dim: _int, dtype: dtypes.dtype | None = None) -> Tensor:
        """``log(softmax(input))`` along a dimension, without overflow."""
    def logaddexp(self, other: _Operand) -> Tensor:
        """``log(exp(input) + exp(other))`` without overflow; the operands broadcast."""
    def logaddexp2(self, other: _Operand) -> Tensor:
        """``log2(2**input + 2**other)`` without overflow; the operands broadcast."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """The logarithm of the running sums of exponentials along a dimension, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithms of the determinants: NaN for a negative one, -inf for 0."""
    def logical_and(self, other: _Operand) -> Tensor:
        """Whether both are true; the operands broadcast."""
    def logical_and_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``logical_and``: 1 where it holds, else 0."""
    def logical_not(self) -> Tensor:
        """Whether it is zero, element by element; *out* receives the result where given."""
    def logical_not_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``logical_not``: 1 where it holds, else 0."""
    def logical_or(self, other: _Operand) -> Tensor:
        """Whether either is true; the operands broadcast."""
    def logical_or_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``logical_or``: 1 where it holds, else 0."""
    def logical_xor(self, other: _Operand) -> Tensor:
        """Whether exactly one is true; the operands broadcast."""
    def logical_xor_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``logical_xor``: 1 where it holds, else 0."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """``log(input / (1 - input))``; *input* is cut to [eps, 1 - eps] where *eps* is given."""
    def logit_(self, eps: _float | None = None) -> Self:
        """In-place version of ``logit``."""
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
        """``log(sum(exp(input)))`` over some dimensions, without overflow."""
    def long(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as int64."""
    def lshift(self, other: _Operand) -> Tensor:
        """``input << other``; the operands broadcast."""
    def lshift_(self, other: _Operand) -> Self:
        """In-place version of ``lshift``."""
    def lstsq(self, A: Tensor) -> Any:
        """Deprecated: ``linalg.lstsq`` with its arguments the other way round, of one matrix."""
    def lt(self, other: _Operand) -> Tensor:
        """``input < other``; the operands broadcast."""
    def lt_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``lt``: 1 where it holds, else 0."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Any:
        """``linalg.lu_factor_ex`` under its older name; without *get_infos* no info is returned."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """``linalg.lu_solve(LU_data, LU_pivots, input)`` under its older name."""
    @property
    def mH(self) -> Tensor:
        """``x.mH``: the last two dimensions exchanged, complex numbers conjugated."""
    @property
    def mT(self) -> Tensor:
        """``x.mT``: the last two dimensions exchanged."""
    def map2_(self, x: Tensor, y: Tensor, callable: Any) -> Self:
        """Replace each element by a Python function of it and those of two other tensors."""
    def map_(self, other: Tensor, callable: Any) -> Self:
        """Replace each element by a Python function of it and *other*'s, which is expanded."""
    def masked_copy_(self, mask: Tensor, source: Tensor) -> Self:
        """Deprecated: the older name of ``masked_scatter_``."""
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """*value*, a number or a 0-dim tensor, where the mask is true; the mask broadcasts."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Self:
        """Write *value* where the mask, which broadcasts, is true."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """The elements of *source*, in order, where the mask is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In-place version of ``masked_scatter``."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the mask is true, in one dimension; both broadcast."""
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product; vectors count as rows or columns, leading dimensions broadcast."""
    def matrix_exp(self) -> Tensor:
        """``linalg.matrix_exp``."""
    def matrix_power(self, n: _int) -> Tensor:
        """A square matrix multiplied with itself *n* times; its inverse *-n* times where n < 0."""
    @overload
    def max(self) -> Tensor:
        """The largest element; with *dim* (values, indices), the first among equals."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The largest element; with *dim* (values, indices), the first among equals."""
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> return_types.max:
        """The largest element; with *dim* (values, indices), the first among equals."""
    def maximum(self, other: _Operand) -> Tensor:
        """The larger of both, NaN where either is; the operands broadcast."""
    def mean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
        """The mean of all elements, or over some dimensions; floating point or complex only."""
    @overload
    def median(self) -> Tensor:
        """The lower median, NaN if any element is; with *dim* (values, indices)."""
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> return_types.median:
        """The lower median, NaN if any element is; with *dim* (values, indices)."""
    @overload
    def min(self) -> Tensor:
        """The smallest element; with *dim* (values, indices), the first among equals."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smallest element; with *dim* (values, indices), the first among equals."""
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> return_types.min:
        """The smallest element; with *dim* (values, indices), the first among equals."""
    def minimum(self, other: _Operand) -> Tensor:
        """The smaller of both, NaN where either is; the operands broadcast."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> return_types.mode:
        """(values, indices) of the most frequent value, the smallest of several; its last place."""
    def module_load(self, other: Tensor, assign: _bool = False) -> Tensor:
        """What ``load_state_dict`` puts in this tensor's place for *other*, without history."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Dimensions moved to other positions, the rest in their order."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """Dimensions moved to other positions, the rest in their order."""
    def msort(self) -> Tensor:
        """Sorted along the first dimension."""
    def mul(self, other: _Operand) -> Tensor:
        """``input * other``; the operands broadcast."""
    def mul_(self, other: _Operand) -> Self:
        """In-place version of ``mul``."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor:
        """Indices drawn by rows of weights, int64."""
    def multiply(self, other: _Operand) -> Tensor:
        """``input * other``; the operands broadcast."""
    def multiply_(self, other: _Operand) -> Self:
        """In-place version of ``mul``."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of *p* dimensions."""
    def mvlgamma_(self, p: _int) -> Self:
        """In-place version of ``mvlgamma``."""
    @property
    def names(self) -> tuple[None, ...]:
        """The names of the dimensions, which have none."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """NaN and the infinities replaced: by 0, and by the dtype's largest and smallest numbers."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Self:
        """In-place version of ``nan_to_num``."""
    def nanmean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
        """The mean of the values that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """The lower median of what is not NaN; with *dim* (values, indices)."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> return_types.nanmedian:
        """The lower median of what is not NaN; with *dim* (values, indices)."""
    def nanquantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear') -> Tensor:
        """``quantile`` of the values that are not NaN; NaN where all are."""
    def nansum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
        """The sum with NaN counted as 0."""
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """*length* indices of one dimension from *start* on, without a copy."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """``narrow``, with a memory of its own."""
    @property
    def nbytes(self) -> _int:
        """Bytes of all elements."""
    @property
    def ndim(self) -> _int:
        """The number of dimensions."""
    def ndimension(self) -> _int:
        """The number of dimensions."""
    def ne(self, other: _Operand) -> Tensor:
        """``input != other``; the operands broadcast."""
    def ne_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``ne``: 1 where it holds, else 0."""
    def neg(self) -> Tensor:
        """``-input``, element by element; *out* receives the result where given."""
    def neg_(self) -> Self:
        """In-place version of ``neg``."""
    def negative(self) -> Tensor:
        """``-input``, element by element; *out* receives the result where given."""
    def negative_(self) -> Self:
        """In-place version of ``neg``."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any, device: Any = None, **named: Any) -> Tensor:
        """A tensor of this one's dtype: uninitialised of a shape given as ints, or of values."""
    def new_empty(self, *size: Any, dtype: _dtype | _type | None = None, layout: _layout | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of any values of the given shape, with this tensor's dtype and device if not given."""
    def new_empty_strided(self, size: Any, stride: Any, *, dtype: _dtype | _type | None = None, layout: _layout | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """``empty_strided`` with this tensor's dtype and device if not given."""
    def new_full(self, size: Any, fill_value: Any, *, dtype: _dtype | _type | None = None, layout: _layout | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """One value in the given shape, with this tensor's dtype and device if not given."""
    def new_ones(self, *size: Any, dtype: _dtype | _type | None = None, layout: _layout | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of ones of the given shape, with this tensor's dtype and device if not given."""
    def new_tensor(self, data: Any, *, dtype: _dtype | _type | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False) -> Tensor:
        """A copy of the data, with this tensor's dtype and device if not given."""
    def new_zeros(self, *size: Any, dtype: _dtype | _type | None = None, layout: _layout | None = None, device: _device | str | _int | None = None, requires_grad: _bool = False, pin_memory: _bool = False) -> Tensor:
        """A tensor of zeros of the given shape, with this tensor's dtype and device if not given."""
    def nextafter(self, other: Tensor, **keywords: Any) -> Tensor:
        """The next floating point number after *input* towards *other*."""
    def nextafter_(self, other: Tensor, **keywords: Any) -> Self:
        """In-place version of ``nextafter``."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """The coordinates of what is not zero: a matrix, or one vector for each dimension."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]:
        """The coordinates of what is not zero: a matrix, or one vector for each dimension."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The indices of the first *size* elements other than 0; *fill_value* where there are fewer."""
    def norm(self, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, dtype: dtypes.dtype | None = None) -> Tensor:
        """The *p*-norm of all elements, or along some dimensions."""
    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: Generator | None = None) -> Self:
        """Overwrite with normal random numbers."""
    def not_equal(self, other: _Operand) -> Tensor:
        """``input != other``; the operands broadcast."""
    def not_equal_(self, *operands: Any, other: Any = ...) -> Self:
        """In-place version of ``not_equal``: 1 where it holds, else 0."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = False) -> np.ndarray:
        """A NumPy array over the tensor's memory; *force* copies where that needs a way out."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """``linalg.householder_product`` under its older name."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """``Q @ input3``, Q being the square product of the reflections of *input* and tau, *input2*."""
    def outer(self, vec2: Tensor) -> Tensor:
        """All products of the elements of two vectors."""
    @property
    def output_nr(self) -> _int:
        """Which of the results of ``grad_fn`` it is; 0 of a leaf."""
    def permute(self, *args: Any, dims: Any = None) -> Tensor:
        """The dimensions in another order, without a copy."""
    def pin_memory(self, device: Any = None) -> Tensor:
        """The tensor in memory that a device can read while the program runs on."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """``linalg.pinv`` under its older name: *rcond* is relative to the largest singular value."""
    def polygamma(self, n: _int) -> Tensor:
        """The *n*-th derivative of ``digamma``."""
    def polygamma_(self, n: _int) -> Self:
        """In-place version of ``polygamma``."""
    def positive(self) -> Tensor:
        """The tensor itself; RuntimeError for truth values."""
    def potrf(self, upper: _bool = True) -> Tensor:
        """Deprecated: ``linalg.cholesky``, the upper factor unless told otherwise."""
    def potri(self, upper: _bool = True) -> Tensor:
        """Deprecated: ``cholesky_inverse``, of an upper factor unless told otherwise."""
    def potrs(self, input2: Tensor, upper: _bool = True) -> Tensor:
        """Deprecated: ``cholesky_solve``, of an upper factor unless told otherwise."""
    def pow(self, exponent: _Operand) -> Tensor:
        """``input ** exponent``; the operands broadcast, and one of them may be a number."""
    def pow_(self, exponent: _Operand) -> Self:
        """In-place version of ``pow``."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``leaky_relu`` with a slope that is learnt, one for all or one for each channel."""
    def prod(self, dim: _int = ..., keepdim: _bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
        """The product of all elements, or over one dimension; integers give int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """``put_`` on a copy."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """Write *source* at indices of the flattened tensor; negative ones count from the end."""
    def qr(self, some: _bool = True) -> return_types.qr:
        """``linalg.qr`` under its older name: reduced where *some*, else complete."""
    def quantile(self, q: _float | Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: str = 'linear') -> Tensor:
        """The values below which the parts *q* lie, of all elements or along a dimension."""
    def rad2deg(self) -> Tensor:
        """Radians in degrees, element by element; *out* receives the result where given."""
    def rad2deg_(self) -> Self:
        """In-place version of ``rad2deg``."""
    def random_(self, *bounds: Any, generator: Generator | None = None, **kwargs: Any) -> Self:
        """Overwrite with random integers: all the dtype holds, below *to*, or in [from, to)."""
    def ravel(self) -> Tensor:
        """All elements in one dimension, row-major."""
    @property
    def real(self) -> Tensor:
        """The real parts, sharing memory; a real tensor itself."""
    @real.setter
    def real(self, value: Tensor) -> None: ...
    def reciprocal(self) -> Tensor:
        """``1 / input``, element by element; *out* receives the result where given."""
    def reciprocal_(self) -> Self:
        """In-place version of ``reciprocal``."""
    def record_stream(self, stream: Any) -> None:
        """Keep the tensor's memory until what a stream has now is done, though the tensor is gone."""
    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call *hook* with the gradient when it is known; what it returns replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call ``hook(tensor)`` as soon as this leaf's ``.grad`` was updated in a backward pass."""
    def reinforce(self, reward: Any = None) -> None:
        """Removed: a loss of ``-log_prob(action) * reward`` does what it did; RuntimeError."""
    def relu(self) -> Tensor:
        """``max(input, 0)``, NaN kept, element by element."""
    def relu_(self) -> Self:
        """In-place version of ``relu``."""
    def remainder(self, other: _Operand) -> Tensor:
        """The remainder of division with the sign of *other*; the operands broadcast."""
    def remainder_(self, other: _Operand) -> Self:
        """In-place version of ``remainder``."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """The slices along a dimension scaled down to a norm of *maxnorm* where theirs is larger."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Self:
        """In-place version of ``renorm``."""
    def repeat(self, *args: Any, repeats: Any = None) -> Tensor:
        """Copies side by side: that many along each dimension; further ones come in front."""
    def repeat_interleave(self, repeats: _int | Tensor, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Each slice several times: a count for all, or one for each; flat without *dim*."""
    @property
    def requires_grad(self) -> _bool:
        """Whether operations on it record."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self:
        """Start or stop recording operations on this leaf."""
    def reshape(self, *args: Any, shape: Any = None) -> Tensor:
        """The same elements in another shape: a view where the layout allows it, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """``reshape`` in the shape of another tensor."""
    def resize(self, *sizes: Any) -> Tensor:
        """Deprecated: ``reshape`` without a -1."""
    def resize_(self, *sizes: Any, memory_format: Any = None) -> Self:
        """Give the tensor another shape; the first values in memory are kept as far as they fit."""
    def resize_as(self, tensor: Tensor) -> Tensor:
        """Deprecated: ``reshape`` to another tensor's shape."""
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = None) -> Self:
        """Give the tensor another's shape, in place; memory is kept as ``resize_`` does it."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugates are always computed at once here."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself: negations are always computed at once here."""
    def retain_grad(self) -> None:
        """Keep the gradient of this tensor, which no user made, in ``.grad`` too."""
    @property
    def retains_grad(self) -> _bool:
        """Whether ``retain_grad`` was called."""
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = ()) -> Tensor:
        """Elements shifted along some dimensions, those at the end going to the front; or flat."""
    def rot90(self, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
        """A quarter turn in the plane of two dimensions, *k* times, from the first to the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest integer, or the nearest number of so many decimals; halves to even."""
    def round_(self, *, decimals: _int = 0) -> Self:
        """In-place version of ``round``."""
    def row_indices(self, *args: Any, **kwargs: Any) -> Any:
        """The rows of the elements of a sparse tensor by compressed columns; an error for a dense one."""
    def rshift(self, other: _Operand) -> Tensor:
        """``input >> other``; the operands broadcast."""
    def rshift_(self, other: _Operand) -> Self:
        """In-place version of ``rshift``."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(input)``, element by element; *out* receives the result where given."""
    def rsqrt_(self) -> Self:
        """In-place version of ``rsqrt``."""
    def scatter(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
        """A copy with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``; *src* may be a number."""
    def scatter_(self, dim: _int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Self:
        """In-place version of ``scatter``."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """A copy with every element of *src* added at its index; each duplicate counts."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """In-place version of ``scatter_add``."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Tensor:
        """A copy with the elements of *src* reduced at their indices."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True) -> Self:
        """In-place version of ``scatter_reduce``."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """One index of a dimension, which disappears; without a copy."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of *input* with *src* at an index of a dimension."""
    def set_(self, source: Any = None, storage_offset: _int | None = None, size: Any = None, stride: Any = None) -> Self:
        """Make the tensor a view of another's storage: the same one, or by offset, size and strides."""
    def sgn(self) -> Tensor:
        """``input / abs(input)``, 0 where it is 0: for real numbers the sign."""
    def sgn_(self) -> Self:
        """In-place version of ``sgn``."""
    @property
    def shape(self) -> Size:
        """The sizes, as a ``Size``."""
    def share_memory_(self) -> Self:
        """Move the tensor's storage into memory that other processes use too."""
    def short(self, *, memory_format: Any = None) -> Tensor:
        """The tensor as int16."""
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-input))``, element by element; *out* receives the result where given."""
    def sigmoid_(self) -> Self:
        """In-place version of ``sigmoid``."""
    def sign(self) -> Tensor:
        """-1, 0 or 1, element by element; *out* receives the result where given."""
    def sign_(self) -> Self:
        """In-place version of ``sign``."""
    def signbit(self) -> Tensor:
        """Whether the sign is set: of -0.0 and of a negative NaN too, element by element; *out* receives the result where given."""
    def silu(self) -> Tensor:
        """``input * sigmoid(input)``, element by element."""
    def silu_(self) -> Self:
        """In-place version of ``silu``."""
    def sin(self) -> Tensor:
        """The sine, element by element; *out* receives the result where given."""
    def sin_(self) -> Self:
        """In-place version of ``sin``."""
    def sinc(self) -> Tensor:
        """``sin(pi * input) / (pi * input)``, 1 at 0, element by element; *out* receives the result where given."""
    def sinc_(self) -> Self:
        """In-place version of ``sinc``."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine, element by element; *out* receives the result where given."""
    def sinh_(self) -> Self:
        """In-place version of ``sinh``."""
    @overload
    def size(self, dim: None = None) -> Size:
        """The shape, or one size."""
    @overload
    def size(self, dim: _int) -> _int:
        """The shape, or one size."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """A copy of *input* with *src* at the indices from *start* to *end* of a dimension."""
    def slogdet(self) -> tuple[Tensor, Tensor]:
        """``linalg.slogdet``."""
    def smm(self, *args: Any, **kwargs: Any) -> Any:
        """The product of a sparse and a dense matrix as a sparse one; an error for a dense one."""
    def softmax(self, dim: _int, dtype: dtypes.dtype | None = None) -> Tensor:
        """``exp(input) / sum(exp(input))`` along a dimension."""
    def solve(self, A: Tensor) -> Any:
        """Deprecated: ``linalg.solve`` with its arguments the other way round, and the LU factors."""
    def sort(self, dim: _int = -1, descending: _bool = False, stable: _bool = False) -> return_types.sort:
        """(values, indices) in order along a dimension; NaN counts as largest."""
    def sparse_dim(self) -> _int:
        """How many dimensions are sparse: none, where the layout is strided."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements at the coordinates of a sparse tensor, as a sparse tensor of that layout."""
    def sparse_resize_(self, *args: Any, **kwargs: Any) -> Self:
        """Give a sparse tensor another size; an error for a dense one."""
    def sparse_resize_and_clear_(self, *args: Any, **kwargs: Any) -> Self:
        """Give a sparse tensor another size and no elements; an error for a dense one."""
    def split(self, split_size: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Views of pieces of one size (the last may be smaller), or of the sizes listed."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Views of pieces of the sizes listed, which must add up to that of the dimension."""
    def sqrt(self) -> Tensor:
        """The square root, element by element; *out* receives the result where given."""
    def sqrt_(self) -> Self:
        """In-place version of ``sqrt``."""
    def square(self) -> Tensor:
        """``input * input``, element by element; *out* receives the result where given."""
    def square_(self) -> Self:
        """In-place version of ``square``."""
    def squeeze(self, dim: _int | Sequence[_int] = ...) -> Tensor:
        """Without the dimensions of size 1, or without those named where their size is 1."""
    def squeeze_(self, dim: _int | Sequence[_int] = ...) -> Self:
        """Without the dimensions of size 1, or without those named where their size is 1."""
    def sspaddmm(self, *args: Any, **kwargs: Any) -> Any:
        """A sparse matrix plus the product of a sparse and a dense one; an error for a dense one."""
    def std(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool = ..., keepdim: _bool = False, *, correction: complex | None = None) -> Tensor:
        """The standard deviation, with Bessel's correction unless ``correction=0``."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The Fourier transforms of windows of *n_fft* samples, *hop_length* apart."""
    def storage(self) -> storages.TypedStorage:
        """The elements that the tensor and all views of it share; a UserWarning at the first call."""
    def storage_offset(self) -> _int:
        """Where in its storage the first element lies, in elements."""
    def storage_type(self) -> Any:
        """The class of the storages of this tensor's dtype: ``torch.FloatStorage``."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]:
        """The strides in elements, or one of them."""
    @overload
    def stride(self, dim: _int) -> _int:
        """The strides in elements, or one of them."""
    def sub(self, other: _Operand, *, alpha: complex = 1) -> Tensor:
        """``input - other``; the operands broadcast."""
    def sub_(self, other: _Operand, *, alpha: complex = 1) -> Self:
        """In-place version of ``sub``."""
    def subtract(self, other: Any, *, alpha: complex = 1) -> Tensor:
        """``sub`` under its longer name."""
    def subtract_(self, other: Any, *, alpha: complex = 1) -> Self:
        """In-place version of ``subtract``."""
    def sum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: dtypes.dtype | None = None) -> Tensor:
        """The sum of all elements, or over some dimensions; integers give int64."""
    def sum_to_size(self, *args: Any, size: Any = None) -> Tensor:
        """The sum over the dimensions along which *size* would be repeated to give this shape."""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> return_types.svd:
        """(U, S, V) with ``input = U @ diag(S) @ V.mH``: ``linalg.svd`` under its older name."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """``transpose`` under NumPy's name."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """``transpose`` under NumPy's name."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged, without a copy."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """Two dimensions exchanged, without a copy."""
    def symeig(self, eigenvectors: _bool = False, upper: _bool = True) -> Any:
        """Deprecated: ``linalg.eigh``, of the upper triangle unless told otherwise."""
    def t(self) -> Tensor:
        """A matrix transposed; tensors of fewer dimensions as they are."""
    def t_(self) -> Self:
        """A matrix transposed; tensors of fewer dimensions as they are."""
    def take(self, index: Tensor) -> Tensor:
        """The elements at indices of the flattened tensor; negative ones count from the end."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """``gather`` whose operands broadcast in the other dimensions; flat without *dim*."""
    def tan(self) -> Tensor:
        """The tangent, element by element; *out* receives the result where given."""
    def tan_(self) -> Self:
        """In-place version of ``tan``."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent, element by element; *out* receives the result where given."""
    def tanh_(self) -> Self:
        """In-place version of ``tanh``."""
    def tensor_split(self, indices_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """Views of that many nearly equal pieces, or of the pieces between the indices listed."""
    def tile(self, *args: Any, dims: Any = None) -> Tensor:
        """``repeat`` where missing counts are 1."""
    @overload
    def to(self, dtype: _dtype, non_blocking: _bool = False, copy: _bool = False, *, memory_format: Any = None) -> Tensor:
        """The tensor with another dtype, on another device or in a memory format; itself if it is so."""
    @overload
    def to(self, device: _device | str | _int | None = None, dtype: _dtype | None = None, non_blocking: _bool = False, copy: _bool = False, *, memory_format: Any = None) -> Tensor:
        """The tensor with another dtype, on another device or in a memory format; itself if it is so."""
    @overload
    def to(self, other: Tensor, non_blocking: _bool = False, copy: _bool = False, *, memory_format: Any = None) -> Tensor:
        """The tensor with another dtype, on another device or in a memory format; itself if it is so."""
    def to_dense(self, dtype: Any = None, *, masked_grad: _bool = True) -> Tensor:
        """The tensor itself, for all tensors are strided; a conversion where *dtype* is another."""
    def to_device(self, device: Any, /, *, stream: Any = None) -> Tensor:
        """The tensor on another device, by the array API standard's name for ``to``."""
    def to_sparse(self, sparse_dim: _int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: _int | None = None) -> Tensor:
        """The elements that are not zero as a sparse tensor, by coordinates or in another layout."""
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """The blocks that are not zero as a sparse tensor by compressed columns of blocks."""
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = None) -> Tensor:
        """The blocks that are not zero as a sparse tensor by compressed rows of blocks."""
    def to_sparse_coo(self) -> Tensor:
        """The elements that are not zero as a sparse tensor by coordinates."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """The elements that are not zero as a sparse tensor by compressed columns."""
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """The elements that are not zero as a sparse tensor by compressed rows."""
    def tolist(self) -> Any:
        """The values as nested lists, or as a number."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> return_types.topk:
        """(values, indices) of the *k* largest, or smallest, along a dimension, in order."""
    def trace(self) -> Tensor:
        """The sum of a matrix's main diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions exchanged, without a copy."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """Two dimensions exchanged, without a copy."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> Any:
        """The solution of ``A @ x = input`` for triangular *A*, and a copy of *A*."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The matrices (..., n, m) with zeros above a diagonal, counted to the right from the main."""
    def tril_(self, diagonal: _int = 0) -> Self:
        """In-place version of ``tril``."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The matrices (..., n, m) with zeros below a diagonal, counted to the right from the main."""
    def triu_(self, diagonal: _int = 0) -> Self:
        """In-place version of ``triu``."""
    def trtrs(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> Any:
        """Deprecated: ``triangular_solve`` under its older name."""
    def true_divide(self, other: _Operand) -> Tensor:
        """``input / other``, true division; the operands broadcast."""
    def true_divide_(self, other: _Operand) -> Self:
        """In-place version of ``div``."""
    def trunc(self) -> Tensor:
        """The integer part, element by element; *out* receives the result where given."""
    def trunc_(self) -> Self:
        """In-place version of ``trunc``."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False, *, memory_format: memory_format | None = None) -> str:
        """The legacy name of the type, or the tensor to_kind_warned to a dtype or a type named so."""
    @overload
    def type(self, dtype: _dtype | str | _type, non_blocking: _bool = False, *, memory_format: memory_format | None = None) -> Tensor:
        """The legacy name of the type, or the tensor to_kind_warned to a dtype or a type named so."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with another's dtype and device."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """Views of all slices of a dimension, which disappears."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """One dimension split into several; one of the sizes may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of one dimension as a new last one, without a copy."""
    def uniform_(self, from_: _float = 0, to: _float = 1, *, generator: Generator | None = None, **kwargs: Any) -> Self:
        """Overwrite with uniform random numbers in [from, to)."""
    @overload
    def unique(self, sorted: _bool = True, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The different elements in order, or slices of a dimension; with inverse and counts."""
    @overload
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The different elements in order, or slices of a dimension; with inverse and counts."""
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = False, return_counts: Literal[False] = False, dim: _int | None = None) -> Tensor:
        """The first element of each run of equal ones; with inverse and counts."""
    @overload
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The first element of each run of equal ones; with inverse and counts."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """``chunk`` whose pieces may be written to in place, although they share memory."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """``split`` whose pieces may be written to in place, although they share memory."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """``split_with_sizes`` whose pieces may be written to in place, although they share memory."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A new dimension of size 1."""
    def unsqueeze_(self, dim: _int) -> Self:
        """A new dimension of size 1."""
    def untyped_storage(self) -> storages.UntypedStorage:
        """The bytes that the tensor and all views of it share."""
    def values(self, *args: Any, **kwargs: Any) -> Any:
        """The values of a sparse tensor; an error for a dense one."""
    def var(self, dim: _int | Sequence[_int] | None = None, unbiased: _bool = ..., keepdim: _bool = False, *, correction: complex | None = None) -> Tensor:
        """The variance, with Bessel's correction unless ``correction=0``."""
    def vdot(self, other: Tensor) -> Tensor:
        """The inner product of two vectors, the first one conjugated."""
    @overload
    def view(self, *size: _int | Sequence[_int]) -> Tensor:
        """The same elements in another shape, sharing memory; one size may be -1."""
    @overload
    def view(self, dtype: _dtype) -> Tensor:
        """The same elements in another shape, sharing memory; one size may be -1."""
    def view_as(self, other: Tensor) -> Tensor:
        """``view`` in the shape of another tensor."""
    @property
    def volatile(self) -> _bool:
        """False, with a warning: ``torch.no_grad()`` says it of a block now."""
    @volatile.setter
    def volatile(self, value: _bool) -> None: ...
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Views of that many equal pieces, or of the pieces between the indices listed, along the dimension that the stack of that name joins."""
    @overload
    def where(self) -> tuple[Tensor, ...]:
        """The tensor where the condition holds, else *other*."""
    @overload
    def where(self, input: Tensor | complex, other: Tensor | complex) -> Tensor:
        """The tensor where the condition holds, else *other*."""
    def xlogy(self, other: _Operand) -> Tensor:
        """``input * log(other)``, 0 where *input* is 0; the operands broadcast."""
    def xlogy_(self, other: _Operand) -> Self:
        """In-place version of ``xlogy``."""
    def zero_(self) -> Self:
        """Write zeros everywhere."""

def dispatches(cls: _type) -> _bool:
    """Whether ops ask a class, which has a ``__torch_dispatch__`` of its own."""
PERMUTED: Any
new = object.__new__
make: Callable[[], Tensor]
RETAINS, SWITCHED_OFF, GRAD_DTYPE = ('_retains', '_switched_off', '_grad_dtype')
def attributes_of(t: Tensor) -> dict[str, Any]:
    """The attributes that users have given a tensor, which go with its copies and pickles."""
def from_array(array: Any, kind: Kind) -> Tensor:
    """A tensor without history for a fresh row-major array."""
def wrap_like(array: Any, kind: Kind, edge: Any) -> Tensor:
    """A tensor for a fresh array of any dense layout, with a given edge."""
def shared(t: Tensor) -> Tensor:
    """Another tensor of the same array, with neither history nor version cell of its own yet."""
def same_memory(t: Tensor) -> Tensor:
    """Another tensor of the same array and versions, without history."""
def order_mark(kind: Kind, array: Any) -> Any:
    """What ``_b`` says of a tensor that is no view: PERMUTED where it is not row-major."""
def check_inference(t: Tensor) -> None:
    """RuntimeError for a write to an inference tensor outside inference mode."""
def bump(t: Tensor) -> None:
    """Count a write into the tensor's storage, before it: no interrupt can come between then."""
def unbump(t: Tensor) -> None:
    """Count one write less: it was refused."""
def version_of(t: Tensor) -> _int:
    """How often the tensor's storage was written."""

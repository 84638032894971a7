"""The namespace F over tensors: what composites and rules see while a graph is recorded."""

from __future__ import annotations

from typing import Any

from tensorbus._base import dtypes, registered
from tensorbus._tensor.tensor import from_array
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.cores import core
from tensorbus.rows.registry import ROWS


@registered.tensor_namespace.provide
class TensorNamespace:
    """``kind`` with tensors for arrays: every call records where gradients are wanted.

    Ops are attributes of the class, put there when first asked for (``__getattr__`` is reached only
    for those not yet made).
    """

    records = True

    def __init__(self, kind: Any):
        self.kind = kind
        self.device = kind.device
        self.dtype = kind.dtype
        self.index = kind.index
        self.has_values = kind.has_values
        self.is_float = kind.is_float
        self.is_complex = kind.is_complex

    def __getattr__(self, name: str) -> Any:
        if name not in ROWS:
            raise AttributeError(f"no op is called {name!r}")
        function = core(name)
        setattr(TensorNamespace, name, staticmethod(function))
        return function

    @property
    def backend(self) -> Any:
        """The backend of the kind."""
        return self.kind.backend

    @property
    def known_dtypes(self) -> Any:
        """The dtypes of the device."""
        return self.kind.known_dtypes

    def of(self, dtype: dtypes.dtype) -> TensorNamespace:
        """The namespace of another dtype on the same device."""
        return self.kind.of(dtype).T

    @property
    def bool(self) -> TensorNamespace:
        """The namespace of truth values."""
        return self.kind.bool.T

    @property
    def i64(self) -> TensorNamespace:
        """The namespace of indices."""
        return self.kind.i64.T

    @property
    def i32(self) -> TensorNamespace:
        """The namespace of int32 numbers."""
        return self.kind.i32.T

    @property
    def real(self) -> TensorNamespace:
        """The namespace of the parts of complex numbers."""
        return self.kind.real.T

    @property
    def complex(self) -> TensorNamespace:
        """The namespace of complex numbers of such parts."""
        return self.kind.complex.T

    def empty(self, shape: tuple[int, ...]) -> Any:
        """A new tensor of any values."""
        return _wrap(self.kind.empty(shape), self.kind)

    def full(self, shape: tuple[int, ...], value: Any) -> Any:
        """A new tensor filled with a Python number."""
        return _wrap(self.kind.full(shape, value), self.kind)

    def number(self, value: Any) -> Any:
        """A 0-dim tensor of a Python number."""
        return _wrap(self.kind.full((), value), self.kind)

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """A new tensor of zeros."""
        return _wrap(self.kind.zeros(shape), self.kind)

    def cast(self, x: Any, source: Any) -> Any:
        """The tensor in this namespace's dtype."""
        return to_kind(x, self.kind)

    def contiguous(self, x: Any) -> Any:
        """The tensor if it is row-major, else a copy that is."""
        return x.contiguous()

    def clone(self, x: Any) -> Any:
        """A copy."""
        return x.clone()

    def is_contiguous(self, x: Any) -> Any:
        """Whether a tensor is row-major without gaps."""
        return x.is_contiguous()


def _wrap(array: Any, kind: Any) -> Any:
    return from_array(array, kind)

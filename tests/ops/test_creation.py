"""Factories beside PyTorch: values, dtypes, keywords, errors; legacy constructors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorbus

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda m: m.zeros(2, 3),
    "zeros of a tuple": lambda m: m.zeros((2, 3), dtype=m.int32),
    "zeros by keyword": lambda m: m.zeros(size=(2, 3)),
    "zeros of no dimensions": lambda m: m.zeros(()),
    "zeros of nothing given": lambda m: m.zeros(),
    "zeros of a float": lambda m: m.zeros(2.5),
    "zeros of a negative extent": lambda m: m.zeros(2, -1),
    "ones that require grad": lambda m: m.ones(2, requires_grad=True),
    "ints that require grad": lambda m: m.ones(2, dtype=m.int64, requires_grad=True),
    "ones into out": lambda m: m.ones(2, 3, out=m.zeros(0)),
    "full of an int": lambda m: m.full((2,), 3),
    "full of a truth value": lambda m: m.full((2,), True),
    "full of a tensor": lambda m: m.full((2,), m.tensor(3.0)),
    "full into out": lambda m: m.full((2,), 1, out=m.zeros(2)),
    "full of an int as size": lambda m: m.full(2, 1),
    "full of a vector": lambda m: m.full((2,), m.ones(2)),
    "eye": lambda m: m.eye(3),
    "eye wide": lambda m: m.eye(2, 4, dtype=m.int64),
    "eye tall": lambda m: m.eye(4, 2),
    "eye of nothing": lambda m: m.eye(0),
    "eye negative": lambda m: m.eye(-1),
    "eye of a float": lambda m: m.eye(2.0),
    "arange": lambda m: m.arange(5),
    "arange of floats": lambda m: m.arange(1, 2.5, 0.5),
    "arange down": lambda m: m.arange(5, 0, -2),
    "arange of a dtype": lambda m: m.arange(5, dtype=m.float64),
    "arange of half floats": lambda m: m.arange(5, dtype=m.float16),
    "arange cut to ints": lambda m: m.arange(2.5, dtype=m.int64),
    "arange of step 0": lambda m: m.arange(0, 5, 0),
    "arange backwards": lambda m: m.arange(0, -5),
    "arange without end": lambda m: m.arange(0, float("inf")),
    "arange of text": lambda m: m.arange("a"),
    "arange into out": lambda m: m.arange(5, out=m.zeros(0)),
    "range": lambda m: m.range(0, 3),
    "linspace": lambda m: m.linspace(0, 1, 7),
    "linspace down": lambda m: m.linspace(3, -3, 4),
    "linspace of ints": lambda m: m.linspace(9, -9, 7, dtype=m.int8),
    "linspace of ints between": lambda m: m.linspace(0, 9, 5, dtype=m.int32),
    "linspace of one": lambda m: m.linspace(2, 5, 1),
    "linspace of none": lambda m: m.linspace(2, 5, 0),
    "linspace of tensors": lambda m: m.linspace(m.tensor(0.0), m.tensor(1.0), 3),
    "linspace of vectors": lambda m: m.linspace(0.0, m.ones(1), 3),
    "linspace of a negative number": lambda m: m.linspace(0, 1, -1),
    "logspace": lambda m: m.logspace(-1, 2, 4),
    "logspace base 2": lambda m: m.logspace(0, 4, 5, base=2, dtype=m.int32),
    "empty_strided": lambda m: m.empty_strided((2, 3), (1, 2)).zero_(),
    "empty_strided of two lengths": lambda m: m.empty_strided((2, 3), (1,)),
    "tril_indices": lambda m: m.tril_indices(3, 4, 1),
    "triu_indices": lambda m: m.triu_indices(3, 4, -1),
    "triu_indices negative": lambda m: m.triu_indices(-3, 4),
    "new_zeros": lambda m: m.ones(1, dtype=m.int32).new_zeros(2, 3),
    "new_ones by keyword": lambda m: m.ones(1).new_ones(size=(2, 3)),
    "new_full": lambda m: m.ones(1).new_full((2,), 5),
    "new_tensor": lambda m: m.ones(1).new_tensor([1, 2]),
    "new_tensor of a tensor": lambda m: m.ones(1).new_tensor(m.tensor([1, 2])),
    "new_empty": lambda m: m.ones(1).new_empty((2, 0)),
    "like a number": lambda m: m.zeros_like(3),
    "full_like of ints": lambda m: m.full_like(m.tensor([1, 2]), 2.5),
    "meshgrid": lambda m: m.meshgrid(m.arange(3), m.arange(2), indexing="ij"),
    "meshgrid xy": lambda m: m.meshgrid([m.arange(3), m.arange(2), m.arange(4)], indexing="xy"),
    "meshgrid of a scalar": lambda m: m.meshgrid(m.tensor(1), m.arange(2), indexing="ij"),
    "meshgrid of nothing": lambda m: m.meshgrid(),
    "meshgrid of two dtypes": lambda m: m.meshgrid(m.ones(2), m.arange(2)),
    "meshgrid of an unknown order": lambda m: m.meshgrid(m.ones(2), indexing="ab"),
    "cartesian_prod": lambda m: m.cartesian_prod(m.arange(2), m.arange(3)),
    "cartesian_prod of one": lambda m: m.cartesian_prod(m.arange(2)),
    "cartesian_prod of a matrix": lambda m: m.cartesian_prod(m.ones(2, 2)),
    "combinations": lambda m: m.combinations(m.arange(4), 3),
    "combinations with replacement": lambda m: m.combinations(m.arange(3), with_replacement=True),
    "combinations of too few": lambda m: m.combinations(m.arange(1)),
    "combinations of a negative number": lambda m: m.combinations(m.arange(3), -1),
    "vander": lambda m: m.vander(m.tensor([1, 2, 3])),
    "vander increasing": lambda m: m.vander(m.tensor([1.0, 2.0]), 4, increasing=True),
    "broadcast_tensors": lambda m: m.broadcast_tensors(m.ones(2, 1), m.ones(3)),
    "block_diag": lambda m: m.block_diag(m.ones(2, 2), m.ones(1, 3), m.tensor(5.0)),
    "atleast_2d": lambda m: m.atleast_2d(m.tensor(1.0), m.ones(2)),
    "tensor of a mixture": lambda m: m.tensor([1, 2.5]),
    "tensor of truth values": lambda m: m.tensor([[True], [False]]),
    "tensor of nothing": lambda m: m.tensor([]),
    "tensor of nested nothing": lambda m: m.tensor([[], []]),
    "tensor of a range": lambda m: m.tensor(range(3)),
    "tensor of ragged lists": lambda m: m.tensor([[1, 2], [3]]),
    "tensor of ragged depths": lambda m: m.tensor([[1, 2], 3]),
    "tensor of an array": lambda m: m.tensor(np.arange(3.0)),
    "tensor of a NumPy number": lambda m: m.tensor(np.float32(2.5)),
    "tensor of tensors": lambda m: m.tensor([m.tensor(1.0), m.tensor(2.0)]),
    "tensor that wraps": lambda m: m.tensor([255], dtype=m.uint8),
    "tensor cut to ints": lambda m: m.tensor([1.9, -1.9], dtype=m.int32),
}  # fmt: skip

# Errors whose text says more than PyTorch's.
OTHER_WORDS = {"linspace of a negative number"}


ON_DEVICES = [
    *(("cpu", name) for name in PROGRAMS),
    *(("opencl", name) for name in PROGRAMS if "half" not in name),
]


@pytest.mark.parametrize(("device", "name"), ON_DEVICES, indirect=["device"])
def test_program(name: str, like_torch: Callable[..., None], device: str) -> None:
    like_torch(PROGRAMS[name], text=name not in OTHER_WORDS, strides=device == "cpu")


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "complex": lambda m: m.complex(m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0])),
    "complex of two dtypes": lambda m: m.complex(m.ones(2), m.ones(2).double()),
    "complex of ints": lambda m: m.complex(m.ones(2).int(), m.ones(2).int()),
    "polar": lambda m: m.polar(m.tensor([1.0, 2.0]), m.tensor([0.0, 1.0])),
    "view_as_complex": lambda m: m.view_as_complex(m.arange(6.0).reshape(3, 2)),
    "real": lambda m: m.real(m.tensor([1 + 2j])),
    "imag": lambda m: m.imag(m.tensor([1 + 2j])),
    "imag of a real tensor": lambda m: m.imag(m.ones(2)),
    "conj": lambda m: m.conj(m.tensor([1 + 2j])),
    "angle": lambda m: m.angle(m.tensor([1 + 2j, -1])),
    "full": lambda m: m.full((2,), 1 + 2j),
}


@pytest.mark.parametrize("device", ["cpu"], indirect=True)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(COMPLEX[name], text=True)


LEGACY: dict[str, Callable[[Any], Any]] = {
    "shape": lambda m: m.FloatTensor(2, 3).shape,
    "one number is a size": lambda m: m.Tensor(5).shape,
    "Tensor(5, 7)": lambda m: m.Tensor(5, 7).shape,
    "values": lambda m: m.DoubleTensor([1, 2]),
    "a tuple holds values": lambda m: m.FloatTensor((1, 2)),
    "a Size is a shape": lambda m: m.FloatTensor(m.ones(1, 2).shape).shape,
    "nothing": lambda m: m.LongTensor(),
    "cut to ints": lambda m: m.LongTensor([1.5, 2]),
    "a float": lambda m: m.FloatTensor(2.5),
    "None": lambda m: m.Tensor(None),
    "another dtype": lambda m: m.FloatTensor(m.ones(2, dtype=m.int64)),
    "of a tensor": lambda m: m.Tensor(m.ones(2, dtype=m.int64)),
    "new": lambda m: m.ones(2).int().new([2, 3]),
    "isinstance": lambda m: isinstance(m.ones(2).double(), m.DoubleTensor),
    "not an instance": lambda m: isinstance(m.ones(2), m.DoubleTensor),
    "parameter": lambda m: isinstance(m.nn.Parameter(m.ones(2)), m.FloatTensor),
    "name": lambda m: m.HalfTensor.__name__,
    "dtype": lambda m: m.ByteTensor.dtype,
    "conversion": lambda m: m.ones(2).type(m.DoubleTensor),
    "type": lambda m: m.ones(2).double().type(),
}


@pytest.mark.parametrize("device", ["cpu"], indirect=True)
@pytest.mark.parametrize("name", LEGACY)
def test_legacy_constructors(name: str, like_torch: Callable[..., None]) -> None:
    like_torch(LEGACY[name])


def test_range_is_deprecated() -> None:
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        tensorbus.range(0, 2)


def test_factories_make_leaves_on_the_device(device: str) -> None:
    for t in (
        tensorbus.zeros(2, device=device, requires_grad=True),
        tensorbus.full((2,), 1.0, device=device, requires_grad=True),
        tensorbus.linspace(0, 1, 3, device=device, requires_grad=True),
        tensorbus.eye(2, device=device, requires_grad=True),
        tensorbus.ones_like(tensorbus.ones(2, device=device), requires_grad=True),
        tensorbus.ones(2, device=device).new_zeros(2, requires_grad=True),
    ):
        assert t.device.type == device
        assert t.is_leaf
        assert t.requires_grad


def test_default_tensor_type_is_a_dtype_and_a_device() -> None:
    try:
        tensorbus.set_default_tensor_type(tensorbus.DoubleTensor)
        assert tensorbus.ones(1).dtype is tensorbus.float64
    finally:
        tensorbus.set_default_tensor_type("torch.FloatTensor")
        tensorbus.set_default_device(None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tensorbus.ones(1).dtype is tensorbus.float32


class ArrayLike:
    """An array of another library: it can be indexed, and iterated unless it has no dimensions."""

    def __init__(self, values: Any):
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype, copy=copy)

    def __getitem__(self, at: Any) -> ArrayLike:
        return ArrayLike(self.values[at])

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter([ArrayLike(v) for v in self.values])  # TypeError without dimensions


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "bool", "complex64"])
def test_arrays_of_other_libraries_give_their_dtype(dtype: str) -> None:
    for values in (1, [0, 1], [[0, 1], [1, 0]]):
        made = tensorbus.tensor(ArrayLike(np.array(values, dtype)))
        assert made.dtype is getattr(tensorbus, dtype) and made.tolist() == values
    assert tensorbus.tensor(ArrayLike([1, 2]), dtype=tensorbus.float16).tolist() == [1, 2]

"""``asarray``, ``frombuffer``, ``from_numpy``: what is shared, copied, refused. As PyTorch 2.13."""

from __future__ import annotations

import array
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tensorbus as torch


class Exporter:
    """An object with DLPack's two methods and nothing else."""

    def __init__(self) -> None:
        self.values = np.arange(4.0)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def names() -> dict[str, Any]:
    """What the tables' programs see: as they would be with PyTorch for ``torch``."""
    return {
        "torch": torch, "np": np, "array": array.array, "D": Exporter, "a": np.arange(4.0),
        "x": torch.arange(4.0), "g": torch.ones(2, requires_grad=True),
        "i": array.array("i", [1, 2]), "b": bytearray(b"abcd"),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
@pytest.mark.parametrize(
    ("program", "values", "dtype"),
    [
        ("torch.asarray([1, 2])", [1, 2], "int64"),
        ("torch.asarray(3)", 3, "int64"),
        ("torch.asarray(3.0)", 3, "float32"),
        ("torch.asarray(True)", True, "bool"),
        ("torch.asarray(1j)", 1j, "complex64"),
        ("torch.asarray([])", [], "float32"),
        ("torch.asarray(range(3))", [0, 1, 2], "int64"),
        ("torch.asarray(obj=[1], dtype=torch.float64)", [1], "float64"),
        ("torch.asarray(a)", [0, 1, 2, 3], "float64"),
        ("torch.asarray(a, dtype=torch.float32)", [0, 1, 2, 3], "float32"),
        ("torch.asarray(np.float32(3))", 3, "float32"),
        ("torch.asarray(np.array(3))", 3, "int64"),
        ("torch.asarray(D())", [0, 1, 2, 3], "float64"),
        ("torch.asarray(D(), copy=True)", [0, 1, 2, 3], "float64"),
        ("torch.asarray(D(), dtype=torch.int32)", [0, 1, 2, 3], "int32"),
        ("torch.as_tensor(D())", [0, 1, 2, 3], "float64"),
        ("torch.asarray(torch.to_dlpack(x))", [0, 1, 2, 3], "float32"),
        ("torch.asarray(i, dtype=torch.int32)", [1, 2], "int32"),
        ("torch.asarray(b, dtype=torch.uint8)", [97, 98, 99, 100], "uint8"),
        ("torch.asarray(memoryview(a), dtype=torch.float64)", [0, 1, 2, 3], "float64"),
        ("torch.asarray(b)", [1.6777999408082104e22], "float32"),
        ("torch.frombuffer(b, dtype=torch.int32)", [1684234849], "int32"),
        ("torch.frombuffer(b, dtype=torch.int16, offset=2)", [25699], "int16"),
        ("torch.frombuffer(b, dtype=torch.int8, count=2, offset=1)", [98, 99], "int8"),
        ("torch.frombuffer(b, dtype=torch.int16, count=-2)", [25185, 25699], "int16"),
        ("torch.frombuffer(b + b'e', dtype=torch.int16, offset=1)", [25442, 25956], "int16"),
        ("torch.frombuffer(b'\\x80?\\x00@', dtype=torch.bfloat16)", [1, 2], "bfloat16"),
        ("torch.frombuffer(a, dtype=torch.float64, offset=8, count=2)", [1, 2], "float64"),
    ],
)
def test_values(program: str, values: Any, dtype: str) -> None:
    made = eval(program, names())
    assert made.tolist() == values and made.dtype is getattr(torch, dtype)


@pytest.mark.parametrize(
    ("program", "shared"),
    [
        ("torch.asarray(x)", True),
        ("torch.asarray(x, copy=False)", True),
        ("torch.asarray(x, copy=True)", False),
        ("torch.asarray(x, dtype=torch.float64)", False),
        ("torch.asarray(x.numpy())", True),
        ("torch.asarray(x.numpy(), copy=True)", False),
        ("torch.asarray(torch.to_dlpack(x))", True),
        ("torch.asarray(memoryview(x.numpy()))", True),
        ("torch.frombuffer(x.numpy(), dtype=torch.int32)", True),
        ("torch.frombuffer(x.numpy(), dtype=torch.float32, requires_grad=True)", True),
        ("torch.as_tensor(x.numpy())", True),
        ("torch.tensor(x.numpy())", False),
    ],
)
def test_what_is_shared(program: str, shared: bool) -> None:
    found = names()
    made = eval(program, found)
    assert (made.data_ptr() == found["x"].data_ptr()) is shared
    found["x"][0] = 9
    assert (made[0].item() != 0) is shared


@pytest.mark.parametrize(
    ("program", "error", "text"),
    [
        ("torch.asarray(x, dtype=torch.float64, copy=False)", ValueError, "can't alias tensor"),
        ("torch.asarray(x, device='meta', copy=False)", ValueError, "from device 'cpu' to 'meta'"),
        ("torch.asarray([1.0], copy=False)", ValueError, "can't alias arbitrary sequence"),
        ("torch.asarray(np.float32(1), copy=False)", RuntimeError, "can't alias NumPy scalars"),
        ("torch.asarray([1], requires_grad=True)", RuntimeError, "require"),
        ("torch.asarray('a')", TypeError, "invalid data type 'str'"),
        ("torch.asarray([1, 'a'])", TypeError, "invalid data type 'str'"),
        ("torch.asarray([[1], ['a']])", TypeError, "invalid data type 'str'"),
        ("torch.asarray([['a'], [1]])", ValueError, "too many dimensions 'str'"),
        ("torch.asarray([b'a'])", TypeError, "invalid data type 'bytes'"),
        ("torch.asarray({})", RuntimeError, "Could not infer dtype of dict"),
        ("torch.asarray([1, {}])", RuntimeError, "Could not infer dtype of dict"),
        ("torch.asarray(None)", RuntimeError, "Could not infer dtype of NoneType"),
        ("torch.asarray([[1, 2], [3]])", ValueError, "expected sequence of length 2"),
        ("torch.asarray(a[::-1])", ValueError, "negative"),
        ("torch.asarray(a.astype('>f8'))", ValueError, "byte order"),
        ("torch.asarray(a, torch.float32)", TypeError, ""),
        ("torch.asarray(a, copy=3)", TypeError, "argument 'copy' must be bool, not int"),
        ("torch.asarray(b[:3])", ValueError, "must be a multiple of element size"),
        ("torch.frombuffer(b, dtype=torch.int16, offset=1)", ValueError, "multiple of element"),
        ("torch.frombuffer(b, dtype=torch.int16, count=3)", ValueError, "not be greater than"),
        ("torch.frombuffer(b, dtype=torch.int16, count=0)", ValueError, "must not be 0"),
        ("torch.frombuffer(b[:0], dtype=torch.int16)", ValueError, "must not be 0"),
        ("torch.frombuffer(b, dtype=torch.int16, offset=4)", ValueError, "must be non-negative"),
        ("torch.frombuffer(b, dtype=torch.int16, offset=-1)", ValueError, "must be non-negative"),
        ("torch.frombuffer(b)", TypeError, "dtype"),
        ("torch.frombuffer(b, dtype=None)", TypeError, "dtype"),
        ("torch.frombuffer(3, dtype=torch.int8)", ValueError, "buffer protocol"),
        ("torch.frombuffer(a[::2], dtype=torch.float64)", RuntimeError, "retrieve buffer"),
        ("torch.frombuffer(b, dtype=torch.int32, requires_grad=True)", RuntimeError, "require"),
        ("x.__cuda_array_interface__", AttributeError, r"use tensor.cuda\(\)"),
    ],
)
def test_refusals(program: str, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text or None):
        eval(program, names())


def test_gradients() -> None:
    g = torch.ones(2, requires_grad=True)
    assert torch.asarray(g) is g
    assert torch.asarray(g, copy=True).grad_fn is not None
    assert torch.asarray(g, dtype=torch.float64).grad_fn is not None
    assert torch.asarray(g * 2, requires_grad=False).requires_grad is False
    assert torch.asarray(np.ones(2), requires_grad=True).is_leaf
    x = torch.zeros(2)
    assert torch.asarray(x, requires_grad=True) is x and x.requires_grad
    assert torch.asarray(x, requires_grad=False) is x and not x.requires_grad


def test_other_devices() -> None:
    made = torch.asarray(np.arange(3, dtype="float32"), device="strict")
    assert made.device == torch.device("strict:0") and made.tolist() == [0, 1, 2]
    assert torch.asarray(made) is made
    assert torch.asarray([1, 2], device="strict").device == torch.device("strict:0")


def test_read_only_memory_warns_once_and_refuses_writes() -> None:
    program = """
import warnings, numpy as np, tensorbus as torch
a = np.arange(3.0); a.flags.writeable = False
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    made = [torch.from_numpy(a), torch.as_tensor(a), torch.asarray(a), torch.from_dlpack(a)]
    made.append(torch.frombuffer(b"12345678", dtype=torch.int64))
    np.add(torch.ones(3), np.broadcast_to(np.float32(1), 3))
print(len(told), told[0].category.__name__, told[0].filename, str(told[0].message)[:37])
for x in made:
    try: x.add_(1)
    except ValueError as error: print(error)
print(a)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "1 UserWarning <string> The given NumPy array is not writable"
    assert lines[1:] == ["assignment destination is read-only"] * 5 + ["[0. 1. 2.]"]


def test_numpy_reads_tensors() -> None:
    x = torch.arange(4.0)
    assert np.shares_memory(np.asarray(x), x.numpy())
    assert np.array(x, copy=False).dtype == np.float32
    assert np.asarray(x, dtype="int8").dtype == np.int8
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype="int8", copy=False)
    assert type(np.add(x, 1)) is torch.Tensor and np.add(np.ones(4), x).tolist() == [1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match=r"Tensor.cpu\(\)"):
        np.asarray(torch.ones(2, device="strict"))

"""The options that factories share: what is not honoured is refused, and wrong types are."""

from __future__ import annotations

import pytest

import tensorbus

FACTORIES = (
    "zeros(2", "ones(2", "empty(2", "full((2,), 1.0", "eye(2", "arange(2", "linspace(0, 1, 3",
    "logspace(0, 1, 3", "rand(2", "randn(2", "randint(3, (2,)", "randperm(3",
    "normal(0.0, 1.0, (2,)",
    "empty_strided((2,), (1,)", "zeros_like(x", "empty_like(x", "full_like(x, 1", "rand_like(x",
    "randint_like(x, 3", "tril_indices(2, 2", "empty_permuted((2,), (0,)",
    "hann_window(3", "hamming_window(3", "bartlett_window(3",
    "blackman_window(3", "kaiser_window(3",
)  # fmt: skip


@pytest.mark.parametrize("call", [*FACTORIES, "tensor([1.0]"])
def test_pinned_memory_is_refused(call):
    with pytest.raises(RuntimeError, match="no pinned memory allocator"):
        eval(f"torch.{call}, pin_memory=True)", {"torch": tensorbus, "x": tensorbus.ones(2)})


SPARSE_TOO = ("zeros(", "zeros_like(", "empty(", "empty_like(")
"""What has no elements; tests/sparse/test_factories.py has the rest of it."""


@pytest.mark.parametrize("call", FACTORIES)
def test_sparse_layouts_are_for_tensors_without_elements_alone(call):
    names = {"torch": tensorbus, "x": tensorbus.ones(2)}
    if call.startswith(SPARSE_TOO):
        made = eval(f"torch.{call}, layout=torch.sparse_coo)", names)
        assert made.layout is tensorbus.sparse_coo and made._nnz() == 0
    else:
        with pytest.raises(NotImplementedError, match="layout torch.sparse_coo is not supported"):
            eval(f"torch.{call}, layout=torch.sparse_coo)", names)
    assert isinstance(eval(f"torch.{call}, layout=torch.strided)", names), tensorbus.Tensor)


@pytest.mark.parametrize("call", FACTORIES)
def test_options_of_a_wrong_type_are_refused(call):
    names = {"torch": tensorbus, "x": tensorbus.ones(2)}
    for option in (
        "dtype='float32'", "layout='strided'", "device=1.5", "requires_grad=1", "pin_memory='no'"
    ):  # fmt: skip
        with pytest.raises(TypeError, match=f"argument '{option.split('=')[0]}' must be"):
            eval(f"torch.{call}, {option})", names)


@pytest.mark.parametrize("call", [c for c in FACTORIES if "like" not in c and "strided" not in c])
def test_out_decides_dtype_and_takes_no_other(call):
    if any(part in call for part in ("indices", "permuted", "window")):
        with pytest.raises(TypeError, match="unexpected keyword argument 'out'"):
            eval(f"torch.{call}, out=x)", {"torch": tensorbus, "x": tensorbus.ones(2)})
        return
    out = tensorbus.empty(0, dtype=tensorbus.float64)
    made = eval(f"torch.{call}, out=out)", {"torch": tensorbus, "out": out})
    assert made is out and out.numel() > 0
    with pytest.raises(RuntimeError, match="Float does not match dtype of out parameter .Double."):
        eval(f"torch.{call}, out=out, dtype=torch.float32)", {"torch": tensorbus, "out": out})


def test_python_types_stand_for_dtypes():
    for python, dtype in ((float, "float64"), (int, "int64"), (bool, "bool")):
        expected = getattr(tensorbus, dtype)
        assert tensorbus.zeros(2, dtype=python).dtype is expected
        assert tensorbus.ones(2).to(python).dtype is expected
    assert tensorbus.ones(2).sum(dtype=float).dtype is tensorbus.float64


def test_tensors_are_not_pinned():
    x = tensorbus.ones(2)
    assert not x.is_pinned()
    with pytest.raises(RuntimeError, match="no pinned memory allocator"):
        x.pin_memory()
    loader = tensorbus.utils.data.DataLoader([1, 2], pin_memory=True)
    with pytest.warns(UserWarning, match="pinned memory won't be used"):
        assert [batch.tolist() for batch in loader] == [[1], [2]]

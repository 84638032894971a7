"""Factories that make sparse tensors without elements, beside PyTorch."""

from __future__ import annotations

import warnings

import pytest

import tensorbus as torch

CALLS = {
    "zeros, coordinates": lambda t: t.zeros(2, 3, layout=t.sparse_coo),
    "zeros, rows": lambda t: t.zeros((2, 3), layout=t.sparse_csr, dtype=t.float64),
    "zeros, columns": lambda t: t.zeros(2, 3, layout=t.sparse_csc),
    "zeros, a batch of rows": lambda t: t.zeros(4, 2, 3, layout=t.sparse_csr),
    "empty": lambda t: t.empty(2, 3, 4, layout=t.sparse_coo, dtype=t.int64),
    "like a dense one": lambda t: t.zeros_like(t.ones(2, 2), layout=t.sparse_coo),
    "like a sparse one": lambda t: t.zeros_like(t.ones(2, 2).to_sparse(), layout=t.sparse_csr),
    "new": lambda t: t.ones(1).double().new_zeros(2, 2, layout=t.sparse_coo),
    "a leaf": lambda t: t.zeros(2, 3, layout=t.sparse_coo, requires_grad=True),
    "blocks": lambda t: t.zeros(2, 2, layout=t.sparse_bsr),
}


@pytest.mark.parametrize("case", CALLS)
def test_tensors_without_elements(case, oracle, device):
    def program(lib):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = CALLS[case](lib)
            except RuntimeError as error:
                return str(error)
            dense = made.detach().to_dense().tolist()
            facts = (str(made.layout), str(made.dtype), list(made.shape), made.requires_grad)
            return [repr(made), *facts, made._nnz(), dense]

    with torch.device(device):
        ours = program(torch)
    theirs = oracle(program)
    if isinstance(theirs, str) or device == "cpu":
        assert ours == (theirs if isinstance(theirs, str) else list(theirs))
    else:
        assert ours[1:] == list(theirs)[1:]


def test_other_factories_say_what_to_do():
    with pytest.raises(NotImplementedError, match=r"ones\(\): layout torch.sparse_coo is not"):
        torch.ones(2, layout=torch.sparse_coo)
    x = torch.zeros(2, 3, layout=torch.sparse_coo)
    assert (x + torch.ones(2, 3).to_sparse()).to_dense().tolist() == [[1.0] * 3] * 2


def test_two_of_four_elements_are_refused_with_words(oracle):
    def program(lib):
        try:
            lib.sparse.to_sparse_semi_structured(lib.ones(128, 128).half())
        except RuntimeError as error:
            return str(error)

    assert program(torch) == oracle(program)
    assert not isinstance(torch.ones(2), torch.sparse.SparseSemiStructuredTensor)
    with pytest.raises(NotImplementedError, match="no backend has kernels for two of four"):
        torch.sparse.semi_structured.SparseSemiStructuredTensorCUTLASS()

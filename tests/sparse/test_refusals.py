"""What sparse tensors are refused with, and batches of compressed matrices, beside PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import tensorbus


def rows(torch, *args, **options):
    return torch.sparse_csr_tensor(*args, check_invariants=True, **options)


def blocks(torch, *args):
    return torch.sparse_bsr_tensor(*args, check_invariants=True)


def example(torch):
    return torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))


REFUSED = {
    "no dimension": lambda t: rows(t, t.tensor(1), t.tensor([0]), t.tensor([1.0]), (1, 1)),
    "plain without": lambda t: rows(t, t.tensor([0, 1]), t.tensor(0), t.tensor([1.0]), (1, 1)),
    "batches of one": lambda t: rows(t, t.tensor([[0, 1]]), t.tensor([0]), t.ones(1), (1, 1)),
    "values without": lambda t: rows(t, [0, 1], [0], t.tensor(1.0), (1, 1)),
    "size of a vector": lambda t: rows(t, [0, 1], [0], [1.0], (1,)),
    "size of a cube": lambda t: rows(t, [0, 1], [0], [1.0], (1, 1, 1)),
    "rows of blocks": lambda t: blocks(t, [0, 1], [0], t.ones(1, 2, 2), (3, 2)),
    "columns of blocks": lambda t: blocks(t, [0, 1], [0], t.ones(1, 2, 2), (2, 3)),
    "values of blocks": lambda t: blocks(t, [0, 1], [0], t.ones(1, 2), (2, 2)),
    "count of blocks": lambda t: blocks(t, [0, 1], [0], t.ones(1, 2, 2), (4, 2)),
    "count of rows": lambda t: rows(t, [0, 1], [0], [1.0], (2, 2)),
    "count of columns": lambda t: t.sparse_csc_tensor(
        [0, 1], [0], [1.0], (2, 2), check_invariants=True
    ),
    "count of values": lambda t: rows(t, [0, 1, 1], [0], [1.0, 2.0], (2, 2)),
    "mixed indices": lambda t: rows(t, [0, 1, 1], t.tensor([0], dtype=t.int32), [1.0], (2, 2)),
    "float indices": lambda t: rows(t, t.tensor([0.0, 1.0]), t.tensor([0.0]), [1.0], (1, 1)),
    "short indices": lambda t: rows(
        t, t.tensor([0, 1], dtype=t.int16), t.tensor([0], dtype=t.int16), [1.0], (1, 1)
    ),
    "size of a batch": lambda t: rows(t, [[0, 1], [0, 1]], [[0], [0]], [[1.0], [1.0]], (3, 1, 1)),
    "values of a batch": lambda t: rows(t, [[0, 1], [0, 1]], [[0], [0]], [[1.0]], (2, 1, 1)),
    "dense layout": lambda t: t.sparse_compressed_tensor([0, 1], [0], [1.0], layout=t.strided),
    "coordinates": lambda t: t.sparse_compressed_tensor([0, 1], [0], [1.0], layout=t.sparse_coo),
    "no layout": lambda t: t.sparse_compressed_tensor([0, 1], [0], [1.0]),
    "a list as size": lambda t: t.sparse_coo_tensor([[0]]),
    "a float as size": lambda t: t.sparse_coo_tensor((1.5, 2)),
    "power of zero": lambda t: example(t) ** 0,
    "assignment": lambda t: example(t).__setitem__(0, 1.0),
    "backward": lambda t: example(t).backward(),
    "norm of columns": lambda t: example(t).norm(dim=0),
    "many dimensions": lambda t: t.ones(2, 2).to_sparse(5),
    "no sparse ones": lambda t: t.ones(2, 2).to_sparse(0),
    "fewer than none": lambda t: t.ones(2, 2).to_sparse(-1),
    "blocks that do not fit": lambda t: t.ones(2, 2).to_sparse_bsr((3, 2)),
    "wide blocks": lambda t: t.ones(2, 2).to_sparse_bsc((2, 3)),
    "empty blocks": lambda t: t.ones(2, 2).to_sparse_bsr((0, 2)),
    "half a block": lambda t: t.ones(2, 2).to_sparse_bsr((2,)),
    "uneven batch": lambda t: t.stack([t.eye(2), t.ones(2, 2)]).to_sparse_csr(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(oracle, name):
    def asked(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                REFUSED[name](torch)
            except Exception as error:
                return [type(error).__name__, str(error)]
        return "accepted"

    assert asked(tensorbus) == list(oracle(asked))


GIVEN = {
    "csr": lambda t: t.eye(2).repeat(3, 1, 1).to_sparse_csr(),
    "csc": lambda t: t.tensor([[[0.0, 2], [0, 1]], [[3, 0], [4, 0]]]).to_sparse_csc(),
    "bsr": lambda t: t.eye(4).repeat(2, 1, 1).to_sparse_bsr((2, 2)),
    "two batches": lambda t: t.arange(16.0).view(2, 1, 2, 4).add(1).to_sparse_csr(),
    "dense parts": lambda t: t.ones(2, 2, 2, 3).to_sparse_csr(dense_dim=1),
    "by layout": lambda t: t.eye(2).repeat(2, 1, 1).to_sparse(layout=t.sparse_csr),
    "different places": lambda t: t.diag_embed(t.tensor([[1.0, 0], [0, 5.0]])).to_sparse_csr(),
}


@pytest.mark.parametrize("name", GIVEN)
def test_batches_of_matrices_are_pytorchs(oracle, device, name):
    def parts(torch, move):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = GIVEN[name](torch)
        columns = made.layout is torch.sparse_csc
        places = (
            (made.ccol_indices(), made.row_indices())
            if columns
            else (made.crow_indices(), made.col_indices())
        )
        whole = made.to_dense()
        return [list(made.shape), *(move(x).tolist() for x in (*places, made.values(), whole))]

    before = tensorbus.get_default_device()
    tensorbus.set_default_device(device)
    try:
        found = parts(tensorbus, lambda x: x.cpu())
    finally:
        tensorbus.set_default_device(before)
    assert found == list(oracle(lambda torch: parts(torch, lambda x: x)))


def test_powers_norms_and_sizes(oracle):
    def program(torch):
        x = example(torch)
        empty = torch.sparse_coo_tensor(3)
        return [
            (x**-1).coalesce().values().tolist(),
            x.norm(dim=(0, 1)).item(),
            list(empty.shape),
            x.narrow_copy(1, 1, 2).to_dense().tolist(),
            torch.arange(6.0).view(2, 3).narrow_copy(1, 1, 2).tolist(),
        ]

    found, wanted = program(tensorbus), list(oracle(program))
    assert found[0] == pytest.approx(wanted[0]) and found[1] == pytest.approx(wanted[1])
    assert found[2:] == wanted[2:]


def test_a_narrow_copy_has_its_own_memory():
    x = tensorbus.zeros(4, requires_grad=True)
    y = tensorbus.narrow_copy(x, 0, 1, 2)
    assert y.data_ptr() != x.data_ptr() and y._base is None
    (y * tensorbus.tensor([2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 3.0, 0.0]

"""Methods take the ints of their last argument one by one: ``x.squeeze(0, 1)``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorbus as torch

HOST = np.arange(64.0).reshape(4, 4, 4) % 5
ONES = np.arange(4.0).reshape(1, 4, 1)

CALLS: dict[str, tuple[Any, Any, Any]] = {
    "squeeze": (ONES, lambda x: x.squeeze(0, -1), lambda a: a[0, :, 0]),
    "squeeze_": (ONES, lambda x: x.squeeze_(2, 0), lambda a: a[0, :, 0]),
    "squeeze some": (ONES, lambda x: x.squeeze(0, 1), lambda a: a[0]),
    "count_nonzero": (HOST, lambda x: x.count_nonzero(0, 2), lambda a: (a != 0).sum((0, 2))),
    "hsplit": (HOST, lambda x: x.hsplit(1, 3), lambda a: np.hsplit(a, (1, 3))),
    "vsplit": (HOST, lambda x: x.vsplit(0, 3), lambda a: np.vsplit(a, (0, 3))),
    "dsplit": (HOST, lambda x: x.dsplit(1, 2, 2), lambda a: np.dsplit(a, (1, 2, 2))),
    "broadcast_to": (
        ONES,
        lambda x: x.broadcast_to(2, 4, 3),
        lambda a: a.repeat(2, 0).repeat(3, 2),
    ),
    "subtract": (HOST, lambda x: x.subtract(2, 3), lambda a: a - 6),
    "subtract_": (HOST, lambda x: x.subtract_(2, 3), lambda a: a - 6),
    "to_sparse_bsr": (HOST[0], lambda x: x.to_sparse_bsr(2).to_dense(), lambda a: a),
    "to_sparse_bsc": (HOST[0], lambda x: x.to_sparse_bsc(2).to_dense(), lambda a: a),
}


@pytest.mark.filterwarnings("ignore:This overload of subtract")
@pytest.mark.parametrize("name", CALLS)
def test_values(name: str, device: str) -> None:
    host, call, reference = CALLS[name]
    found, wanted = call(torch.tensor(host, device=device)), reference(host)
    if not isinstance(found, tuple):
        found, wanted = [found], [wanted]
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        assert tuple(f.shape) == w.shape and (f.cpu().numpy() == w).all()


def test_the_node_is_that_of_several_dimensions() -> None:
    x = torch.tensor(ONES, requires_grad=True)
    y = x.squeeze(0, 2)
    assert type(y.grad_fn).__name__ == "SqueezeBackward2"
    z = (x * 1).squeeze_(0, 2)
    assert type(z.grad_fn).__name__ == "SqueezeBackward5"
    (y * z.detach()).sum().backward()
    assert x.grad.tolist() == ONES.tolist()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.squeeze((0,), 1), TypeError, r"squeeze\(\).*got \(tuple, int\): it takes one"),
        (lambda x: x.hsplit(0.5, 1), TypeError, r"hsplit\(\).*got \(float, int\)"),
        (lambda x: x.count_nonzero(0, "a"), TypeError, r"found element of type str at pos 1"),
        (lambda x: x.squeeze(0, 0), RuntimeError, "dim 0 appears multiple times"),
        (lambda x: x.count_nonzero(0, 9), IndexError, r"Dimension out of range \(expected"),
        (lambda x: torch.squeeze(x, 0, 1), TypeError, "takes from 1 to 2 positional arguments"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(torch.tensor(HOST))

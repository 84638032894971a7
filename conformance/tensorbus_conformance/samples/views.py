"""Other shapes and orders of the same elements: views that name all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance.op import ANY, E, Op, S, T

NO_COPY = (
    r"view size is not compatible with input tensor's size and stride \(at least one dimension "
    r"spans across two contiguous subspaces\)\. Use \.reshape\(\.\.\.\) instead\."
)
OUT_OF_RANGE = (
    r"Dimension out of range \(expected to be in range of \[{low}, {high}\], but got {got}\)"
)


def out_of_range(rank: int, got: int) -> str:
    """The text for a dimension that a tensor of a rank does not have."""
    return OUT_OF_RANGE.format(low=-max(rank, 1), high=max(rank, 1) - 1, got=got)


def as_shape(*shape: Any) -> tuple[int, ...]:
    """A shape given as ints or as one sequence."""
    return tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape


def reshaped(x: np.ndarray, *shape: Any) -> np.ndarray:
    """The reference of ``view`` and ``reshape``."""
    return x.reshape(as_shape(*shape))


def _expanded(x: np.ndarray, *sizes: Any) -> np.ndarray:
    wanted = as_shape(*sizes)
    own = (1,) * (len(wanted) - x.ndim) + x.shape
    return np.broadcast_to(x, [o if n == -1 else n for n, o in zip(wanted, own, strict=True)])


def _squeezed(x: np.ndarray, dim: Any = None) -> np.ndarray:
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = {d % x.ndim for d in dims} if x.ndim else set()
    return x.reshape([n for d, n in enumerate(x.shape) if d not in gone or n != 1])


def _swapped(x: np.ndarray, a: int, b: int) -> np.ndarray:
    return np.swapaxes(x, a, b) if x.ndim else x


def _property(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(x, name)


def _view(
    name: str, reference: Callable[..., Any], samples: list[Any], errors: Any = (), **more: Any
) -> Op:
    more = {"dtypes": ANY, **more}
    return Op(name, reference, samples, ulp=0, view=True, errors=errors, family="views", **more)


_SWAPS = [
    S("first-two", T(2, 3, 4), 0, 1),
    S("negative", T(2, 3), -1, -2),
    S("same", T(2, 3), 1, 1),
    S("scalar", T(), 0, -1),
    S("empty", T(0, 3), 0, 1),
]
_SWAP_ERRORS = [
    E("second-dim", IndexError, out_of_range(2, 2), T(2, 3), 0, 2),
    E("first-dim", IndexError, out_of_range(2, -3), T(2, 3), -3, 1),
    E("scalar", IndexError, out_of_range(0, 1), T(), 0, 1),
]
_MOVES = [
    S("one", T(2, 3, 4), 0, 2),
    S("negative", T(2, 3, 4), -1, 0),
    S("several", T(2, 3, 4), (0, 1), (2, 0)),
    S("empty", T(0, 3), 0, 1),
]

OPS = [
    # A view must not copy: only operands that are laid out as the sample says can be viewed.
    _view(
        "Tensor.view",
        reshaped,
        [
            S("ints", T(2, 6), 3, 4),
            S("tuple", T(2, 3, 4), (6, 4)),
            S("inferred", T(2, 6), -1, 3),
            S("to-scalar", T(1, 1), ()),
            S("scalar", T(), 1, 1),
            S("empty", T(0, 3), 3, 0, 2),
        ],
        [
            E("size", RuntimeError, r"shape '\[4, 4\]' is invalid for input of size 12",
              T(2, 6), 4, 4),
            E("inferred", RuntimeError, r"shape '\[-1, 5\]' is invalid for input of size 12",
              T(2, 6), -1, 5),
            E("two-inferred", RuntimeError, "only one dimension can be inferred", T(2, 6), -1, -1),
            E("negative", RuntimeError, r"invalid shape dimension -2 at index 0 of shape \[-2, 6\]",
              T(2, 6), -2, 6),
            E("ambiguous", RuntimeError,
              r"cannot reshape tensor of 0 elements into shape \[-1, 0\] because the unspecified "
              r"dimension size -1 can be any value and is ambiguous", T(0, 3), -1, 0),
        ],
        layouts=(),
    ),
    _view(
        "view-of-permuted",
        lambda x: x.transpose(1, 0, 2).reshape(3, 2, 2, 2),
        [S("inner", T(2, 3, 4))],
        [],
        call=lambda x: x.permute(1, 0, 2).view(3, 2, 2, 2),
        layouts=(),
    ),
    _view(
        "view-refused",
        lambda x: x.T.T,
        [S("twice", T(2, 3))],
        [E("transposed", RuntimeError, NO_COPY, T(2, 3), (6,))],
        call=lambda x, shape=None: x.t().t() if shape is None else x.t().view(shape),
        gradient=False,
    ),
    _view("Tensor.view_as", lambda x, y: x.reshape(y.shape),
          [S("plain", T(2, 6), T(3, 4, grad=False)), S("empty", T(0, 2), T(5, 0, grad=False))],
          layouts=()),
    _view(
        "Tensor.expand",
        _expanded,
        [
            S("rows", T(1, 3), 4, 3),
            S("kept", T(2, 1), -1, 3),
            S("leading", T(3), (2, 1, 3)),
            S("scalar", T(), 2, 2),
            S("to-nothing", T(1, 3), 0, 3),
            S("same", T(2, 3), 2, 3),
        ],
        [
            E("extent", RuntimeError,
              r"The expanded size of the tensor \(4\) must match the existing size \(3\) at "
              r"non-singleton dimension 1\.  Target sizes: \[2, 4\]\.  Tensor sizes: \[2, 3\]",
              T(2, 3), 2, 4),
            E("fewer", RuntimeError,
              r"expand\(torch\.FloatTensor\{\[2, 3\]\}, size=\[3\]\): the number of sizes provided "
              r"\(1\) must be greater or equal to the number of dimensions in the tensor \(2\)",
              T(2, 3), 3),
            E("leading", RuntimeError,
              r"The expanded size of the tensor \(-1\) isn't allowed in a leading, non-existing "
              r"dimension 0", T(3), -1, 3),
        ],
    ),
    _view("Tensor.expand_as", lambda x, y: np.broadcast_to(x, y.shape),
          [S("plain", T(1, 3), T(2, 3, grad=False)), S("scalar", T(), T(2, grad=False))]),
    _view("broadcast_to", np.broadcast_to,
          [S("plain", T(2, 1, 3), (2, 4, 3)), S("scalar", T(), (3,)), S("empty", T(1), (0,))]),
    _view(
        "permute",
        lambda x, *dims: x.transpose(as_shape(*dims)),
        [
            S("tuple", T(2, 3, 4), (2, 0, 1)),
            S("negative", T(2, 3, 4), (-1, 0, -2)),
            S("scalar", T(), ()),
            S("empty", T(0, 3), (1, 0)),
        ],
        [
            E("count", RuntimeError,
              r"permute\(sparse_coo\): number of dimensions in the tensor input does not match the "
              r"length of the desired ordering of dimensions i\.e\. input\.dim\(\) = 2 is not equal"
              r" to len\(dims\) = 3", T(2, 3), (0, 1, 2)),
            E("twice", RuntimeError, r"permute\(\): duplicate dims are not allowed\.",
              T(2, 3), (1, 1)),
            E("dim", IndexError, out_of_range(2, 2), T(2, 3), (0, 2)),
        ],
    ),
    _view("Tensor.permute", lambda x, *dims: x.transpose(dims), [S("ints", T(2, 3, 4), 1, 2, 0)]),
    _view("transpose", _swapped, _SWAPS, _SWAP_ERRORS),
    _view("Tensor.transpose", _swapped, _SWAPS, _SWAP_ERRORS),
    _view("swapaxes", _swapped, _SWAPS, _SWAP_ERRORS),
    _view("swapdims", _swapped, _SWAPS, _SWAP_ERRORS),
    _view("t", lambda x: x.T, [S("matrix", T(2, 3)), S("vector", T(3)), S("scalar", T())],
          [E("rank", RuntimeError, r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D",
             T(2, 3, 4))]),
    _view("Tensor.T", lambda x: x.T, [S("matrix", T(2, 3)), S("empty", T(0, 2))],
          call=_property("T")),
    _view("Tensor.mT", lambda x: np.swapaxes(x, -2, -1),
          [S("matrix", T(2, 3)), S("batch", T(2, 3, 2))],
          [E("vector", RuntimeError, "tensor.mT is only supported on matrices or batches of "
             "matrices. Got 1-D tensor.", T(3))],
          call=_property("mT")),
    # Of complex numbers the adjoint is computed; of real ones it is a view.
    *(
        Op(name, lambda x: np.swapaxes(x, -2, -1).conj(), [S("matrix", T(2, 3)), *batch],
           dtypes=ANY, ulp=0, fresh=False, family="views", call=call,
           errors=[E("vector", RuntimeError, text, T(3))])
        for name, batch, call, text in (
            ("adjoint", [S("batch", T(2, 3, 2))], lambda x: x.adjoint(),
             r"tensor\.adjoint\(\) is only supported on matrices or batches of matrices\. "
             r"Got 1-D tensor\."),
            ("Tensor.mH", [S("batch", T(2, 3, 2))], _property("mH"),
             r"tensor\.mH is only supported on matrices or batches of matrices\. "
             r"Got 1-D tensor\."),
            ("Tensor.H", [], _property("H"),
             r"tensor\.H is only supported on matrices \(2-D tensors\)\. Got 1-D tensor\."),
        )
    ),
    _view(
        "squeeze",
        _squeezed,
        [
            S("all", T(1, 3, 1)),
            S("dim", T(1, 3, 1), 0),
            S("negative", T(1, 3, 1), -1),
            S("several", T(1, 3, 1, 1), (0, 2)),
            S("longer", T(2, 3), 1),
            S("none", T(1, 3), ()),
            S("scalar", T(), 0),
            S("empty", T(0, 1)),
        ],
        [
            E("dim", IndexError, out_of_range(2, 2), T(1, 3), 2),
            E("twice", RuntimeError, "dim 0 appears multiple times in the list of dims",
              T(1, 3), (0, -2)),
        ],
    ),
    _view(
        "unsqueeze",
        lambda x, dim: np.expand_dims(x, dim),
        [
            S("front", T(2, 3), 0),
            S("middle", T(2, 3), 1),
            S("end", T(2, 3), -1),
            S("negative", T(2, 3), -3),
            S("scalar", T(), 0),
            S("empty", T(0), 0),
        ],
        [E("dim", IndexError, out_of_range(3, 3), T(2, 3), 3)],
    ),
    _view(
        "movedim",
        np.moveaxis,
        _MOVES,
        [
            E("count", RuntimeError,
              r"movedim: Invalid source or destination dims: source \(\[0, 1\] dims\) should "
              r"contain the same number of dims as destination \(\[0\] dims\)",
              T(2, 3), (0, 1), (0,)),
            E("twice", RuntimeError, r"movedim: repeated dim in `source` \(\[0, 0\]\)",
              T(2, 3), (0, 0), (0, 1)),
            E("dim", IndexError, out_of_range(2, 2), T(2, 3), 2, 0),
        ],
    ),
    _view("moveaxis", np.moveaxis, _MOVES[:2]),
    _view("detach", lambda x: x, [S("plain", T(2, 3)), S("scalar", T()), S("empty", T(0))],
          gradient=False, inplace=False),
    _view("Tensor.data", lambda x: x, [S("plain", T(2, 3))], call=_property("data"),
          gradient=False),
]  # fmt: skip

"""Calls of ops whose kernels backends may keep to arrays of many elements, in blocks of rows.

Even the samples that are small elsewhere have some ten thousand elements here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorbus_conformance.fused_forms import Form
from tensorbus_conformance.op import I, S, Sample, T

_ROWS = (700, 48)
_MANY = (2_048, 70)
_NINE = (1, 2, 1, 2, 1, 1, 60, 2, 70)
_IMAGES = (4, 3, 53, 61)
_MANY_IMAGES = (64, 3, 30, 30)
_NINE_IMAGES = (2, 3, 1, 2, 1, 1, 60, 1, 70)
_F = "nn.functional."


def _zeros(*shape: int) -> T:
    return T(data=np.zeros(shape), grad=False)


def _lines(*shape: int) -> Sample:
    """A layer normalised over its last dimension."""
    n = shape[-1]
    return S("", T(*shape), (n,), T(n), T(n, of="nonzero"))


def _scaled(*shape: int) -> Sample:
    """A layer over its root mean square."""
    return S("", T(*shape), shape[-1:], T(shape[-1], of="nonzero"), eps=0.1)


def _channels(*shape: int) -> Sample:
    """A batch normalised by its own statistics."""
    n = shape[1]
    return S("", T(*shape), None, None, T(n), T(n, of="nonzero"), True)


def _estimated(*shape: int) -> Sample:
    """A batch normalised by the estimates that were kept."""
    n = shape[1]
    kept = T(n, grad=False), T(n, of="positive", grad=False)
    return S("", T(*shape), *kept, T(n), T(n, of="nonzero"), False)


def _network(name: str, gates: int, sizes: tuple[int, int, int, int]) -> Sample:
    """A recurrent network of one layer, for steps, sequences, inputs and hidden states.

    Of two draws only the inputs differ, and not the first: what is kept by first values is found.
    The rest is small, so that what is lost in rounding does not grow from step to step.
    """
    steps, batch, inputs, hidden = sizes

    def fixed(*shape: int) -> T:
        return T(data=np.sin(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape) / 5)

    rows, state = gates * hidden, fixed(1, batch, hidden)
    hx = (state, fixed(1, batch, hidden)) if name == "lstm" else state
    weights = [fixed(rows, inputs), fixed(rows, hidden), fixed(rows), fixed(rows)]
    return S("", T(steps, batch, inputs), hx, weights, True, 1, 0.0, False, False, False)


def _bags(count: int, rows: int, width: int, mode: str = "sum", factors: bool = False) -> Sample:
    """Joins of four rows of a table each."""
    indices, bounds = np.arange(4 * count) * 7 % rows, np.arange(count + 1) * 4
    options = {"mode": mode, "include_last_offset": True}
    if factors:
        options["per_sample_weights"] = T(4 * count)
    return S("", I(indices), T(rows, width), I(bounds), **options)


def _places(n: int, channels: int, side: int) -> Sample:
    """Planes, sampled at as many places as they have elements."""
    return S("", T(n, channels, side, side), T(n, side, side, 2), align_corners=False)


def _spoken(steps: int, n: int, classes: int) -> Sample:
    """Scores of steps, and two labels for each sample."""
    labels = np.arange(2 * n).reshape(n, 2) % (classes - 1) + 1
    return S("", T(steps, n, classes), I(labels), [steps] * n, [2] * n)


def _forms() -> Iterator[tuple[str, Form]]:
    """By the name of the op, and where it has more than one, of the variant."""
    for name in ("softmax", "log_softmax"):
        yield name, Form(S("", T(*_ROWS), 1), None, S("", T(*_MANY), 1), S("", T(*_NINE), 8))
    # Rows of one element each have the variance 0, which they may hold themselves.
    same = S("", _zeros(40_000, 1), 1, correction=0)
    yield "var", Form(S("", T(*_ROWS), 1), None, S("", T(*_MANY), 1), S("", T(*_NINE), 8), same)
    # Where a derivative is wanted, the kernel is not asked.
    plain, single, many = (S("", T(*shape), 1) for shape in (_ROWS, (1, 1), _MANY))
    yield "linalg.matrix_norm", Form(plain, single, many, slopes=False, kernel="extreme_sum")
    # Zeros stay zeros.
    same = S("", _zeros(*_ROWS), (_ROWS[1],))
    yield _F + "layer_norm", Form(
        _lines(*_ROWS), None, _lines(*_MANY), _lines(*_NINE), same
    )  # fmt: skip
    same = S("", _zeros(*_ROWS), (_ROWS[1],), eps=0.1)
    yield _F + "rms_norm", Form(
        _scaled(*_ROWS), None, _scaled(*_MANY), _scaled(*_NINE), same
    )  # fmt: skip
    same = S("", _zeros(*_IMAGES), None, None, None, None, True)
    yield (
        _F + "batch_norm",
        Form(_channels(*_IMAGES), None, _channels(*_MANY_IMAGES), _channels(*_NINE_IMAGES), same),
    )
    one = T(data=np.ones(3), grad=False)
    same = S("", _zeros(*_IMAGES), _zeros(3), one, None, None, False)
    yield (
        _F + "batch_norm/evaluation",
        Form(
            _estimated(*_IMAGES), None, _estimated(*_MANY_IMAGES), _estimated(*_NINE_IMAGES), same
        ),
    )
    for name, gates in {"lstm": 4, "gru": 3, "rnn_tanh": 1}.items():
        plain, single, many = (
            _network(name, gates, sizes) for sizes in ((3, 2, 3, 2), (1, 1, 1, 1), (37, 61, 31, 31))
        )
        yield name, Form(plain, single, many, kernel=f"{name.partition('_')[0]}_layer")
    for variant, mode, factors, kernel in (
        ("", "sum", False, "bag_sum"),
        ("/max", "max", False, "bag_max"),
        ("/factors", "sum", True, "bag_products"),
    ):
        plain, many = (
            _bags(*sizes, mode, factors) for sizes in ((300, 50, 17), (2_048, 2_048, 70))
        )
        yield _F + "embedding_bag" + variant, Form(plain, None, many, kernel=kernel)
    plain, many = _bags(300, 50, 17, factors=True), _bags(2_048, 2_048, 70, factors=True)
    yield _F + "embedding_bag-sparse", Form(plain, None, many, slopes=False, kernel="bag_rows")
    plain, many = _places(2, 3, 29), _places(3, 31, 70)
    yield _F + "grid_sample", Form(plain, None, many, kernel="sampled")
    plain, single, many = (_spoken(*sizes) for sizes in ((5, 2, 3), (3, 1, 3), (37, 61, 31)))
    yield _F + "ctc_loss", Form(plain, single, many, kernel="ctc_loss")
    name = _F + "gelu"
    for variant, options in {"": {}, "/tanh": {"approximate": "tanh"}}.items():
        plain, many, nine = (S("", T(*shape), **options) for shape in (_ROWS, _MANY, _NINE))
        yield name + variant, Form(plain, None, many, nine, S("", _zeros(*_ROWS), **options))


BLOCKS = dict(_forms())

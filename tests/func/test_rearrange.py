"""``func.rearrange``: PyTorch's answers to patterns, and its refusals."""

from __future__ import annotations

from typing import Any

import pytest

import tensorbus as tb

PATTERNS: list[tuple[str, dict[str, int]]] = [
    *((p, {}) for p in (
        "a b c -> c b a", "a b c -> (a b) c", "... c -> c ...", "a ... -> ... a", "A b c->c A b",
        "a b c -> a b c 1", "a b c -> a 1 b c ()", "a ... c -> (a ...) c", "... -> (...)",
        "a b c -> (c b a)", "a b c -> b (c a)",
    )),
    ("(a d) b c -> a d b c", {"a": 2}), ("a b (c d) -> c d (a b)", {"d": 2}),
    ("a (b1 b2) c -> a b1 b2 c", {"b1": 1, "b2": 3}), ("a b c -> a b c", {"a": 2}),
]  # fmt: skip

REFUSED: list[tuple[str, dict[str, int]]] = [
    *((p, {}) for p in (
        "a b c -> a b", "a b -> a b", "a b c", "a a c -> a c", "(a ...) -> a", "a b c -> a b c c",
        "a (... ) -> a ...", "a1_ b c -> a1_ b c", "2 b c -> b c", "a b c -> (a (b c))",
        "a b c -> -> ", "(a b c -> a", "a b) c -> a", "a-b c d -> c", "a ... ... -> a",
        "a b c -> ...", "a b c . -> a", "a b c d ... -> a b c d ...",
    )),
    ("a b c -> a b c", {"z": 3}),
]  # fmt: skip


def asked(torch: Any, pattern: str, lengths: dict[str, int]) -> Any:
    x = torch.arange(24.0).reshape(2, 3, 4)
    try:
        y = torch.func.rearrange(x, pattern, **lengths)
    except ValueError as error:
        return str(error)
    return y.tolist(), list(y.shape), list(y.stride()), y.data_ptr() == x.data_ptr()


@pytest.mark.parametrize(("pattern", "lengths"), PATTERNS + REFUSED)
def test_patterns(pattern: str, lengths: dict[str, int], oracle: Any) -> None:
    expected = oracle(lambda torch: asked(torch, pattern, lengths))
    found = asked(tb, pattern, lengths)
    assert isinstance(found, str) == ((pattern, lengths) in REFUSED)
    assert (found if isinstance(found, str) else list(found)) == (
        expected if isinstance(expected, str) else list(expected)
    )


def test_sequences_units_and_gradients() -> None:
    x = tb.arange(6.0).reshape(2, 3).requires_grad_()
    y = tb.func.rearrange([x, x], "n a b -> b (n a)")
    assert y.tolist() == [[0, 3, 0, 3], [1, 4, 1, 4], [2, 5, 2, 5]]
    y.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2
    assert tb.func.rearrange(x[:, :1], "a 1 -> a").shape == (2,)
    assert tb.func.rearrange(tb.ones(()), "->").shape == ()
    assert tb.func.rearrange(tb.ones(0, 4), "a (b c) -> a b c", b=2).shape == (0, 2, 2)
    each = tb.vmap(lambda t: tb.func.rearrange(t, "(a b) -> b a", a=3))(tb.arange(12).reshape(2, 6))
    assert each.shape == (2, 2, 3) and each[1].tolist() == [[6, 8, 10], [7, 9, 11]]


@pytest.mark.parametrize(
    ("pattern", "lengths", "text"),
    [
        ("(a d) b -> a d b", {}, "cannot infer the sizes of two dimensions at once"),
        ("(a d) b -> a d b", {"a": 4}, "size 2 cannot be split into"),
        ("a (b c) -> a b c", {"b": 3, "c": 2}, "size 3 cannot be split into"),
        ("1 b -> b", {}, "size 2 cannot be split into"),
        ("a b c -> a b c", {}, r"Number of dimensions in pattern \(3\)"),
    ],
)
def test_what_does_not_fit(pattern: str, lengths: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tb.func.rearrange(tb.ones(2, 3), pattern, **lengths)


def test_other_arguments() -> None:
    with pytest.raises(TypeError, match="must be str, not int"):
        tb.func.rearrange(tb.ones(2), 3)
    with pytest.raises(TypeError, match="axis lengths must be integers"):
        tb.func.rearrange(tb.ones(2), "a -> a", a=2.0)

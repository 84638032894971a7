"""Checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.api import grad
from tensorbus.op_engine.signatures import hide_private


class GradcheckError(RuntimeError):
    """A derivative is not what finite differences say."""


def _outputs(made: Any) -> list[Tensor]:
    listed = [made] if isinstance(made, Tensor) else list(made)
    return [t for t in listed if isinstance(t, Tensor)]


def _host(t: Tensor) -> np.ndarray:
    kind = np.complex128 if t.is_complex() else np.float64
    return np.array(t.detach().cpu().tolist(), dtype=kind).reshape(tuple(t.shape))


def _numerical(
    f: Callable[..., Any], inputs: Sequence[Any], which: int, eps: float
) -> list[np.ndarray]:
    """d(outputs) / d(one input), a matrix (input element, output element) for each output.

    That for a complex number is the derivative for its real part plus i times that for the
    imaginary one; outputs are real.
    """
    x = inputs[which]
    base = _host(x)
    columns: list[list[np.ndarray]] = []
    for at in np.ndindex(base.shape):
        found: list[Any] = []
        for direction in (1, 1j) if x.is_complex() else (1,):
            sides = []
            for sign in (1.0, -1.0):
                moved = base.copy()
                moved[at] += sign * eps * direction
                t = x.new_tensor(moved)
                given = [t if i == which else y for i, y in enumerate(inputs)]
                sides.append([_host(o).ravel() for o in _outputs(f(*given))])
            slopes = [direction * (a - b) / (2 * eps) for a, b in zip(*sides, strict=True)]
            found = [a + b for a, b in zip(found, slopes, strict=True)] if found else slopes
        columns.append(found)
    return [np.array(rows) for rows in zip(*columns, strict=True)] if columns else []


def _analytical(outputs: list[Tensor], inputs: list[Tensor], o: int) -> list[np.ndarray]:
    """The same matrices from the recorded graph, one backward pass for each output element."""
    out = outputs[o]
    n = out.numel()
    found = [np.zeros((x.numel(), n), dtype=_host(x).dtype) for x in inputs]
    for j in range(n):
        seed = np.zeros(n)
        seed[j] = 1.0
        g = out.new_tensor(seed.reshape(tuple(out.shape)))
        gradients = grad([out], inputs, [g], retain_graph=True, allow_unused=True)
        for matrix, value in zip(found, gradients, strict=True):
            if value is not None:
                matrix[:, j] = _host(value).ravel()
    return found


def _part(func: Callable[..., Any], part: str) -> Callable[..., list[Tensor]]:
    """The function whose outputs are the real or the imaginary parts of those of *func*."""
    return lambda *given: [
        getattr(o, part) if o.is_complex() else o for o in _outputs(func(*given))
    ]


@hide_private
def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    **_: Any,
) -> bool:
    """Whether the gradients of *func* agree with central differences; inputs in float64.

    Complex inputs are moved along both axes, complex outputs checked part by part.
    GradcheckError (a RuntimeError) where they do not, or False with ``raise_exception=False``.

    >>> import tensorbus as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x.sin() * x, (x,))
    True

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    indices = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    if not indices:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    made = _outputs(func(*given))
    try:
        if any(o.is_complex() for o in made):
            for part, shown in (("imag", "imaginary"), ("real", "real")):
                told = [
                    f"While considering the {shown} part of complex outputs only, "
                    if o.is_complex()
                    else ""
                    for o in made
                ]
                _check(_part(func, part), given, indices, eps, atol, rtol, nondet_tol, told)
        else:
            _check(func, given, indices, eps, atol, rtol, nondet_tol, [""] * len(made))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(
    func: Callable[..., Any], given: tuple[Any, ...], indices: list[int], eps: float, atol: float,
    rtol: float, nondet_tol: float, told: list[str],
) -> None:  # fmt: skip
    made = _outputs(func(*given))
    outputs = [t for t in made if t.requires_grad]
    plain = [x.detach() if isinstance(x, Tensor) else x for x in given]
    numerical = {i: _numerical(func, plain, i, eps) for i in indices}
    if not outputs:  # then no output may change
        if any(np.any(matrix) for found in numerical.values() for matrix in found):
            raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    kept = [o for o, t in enumerate(made) if t.requires_grad]
    for o, out in enumerate(outputs):
        analytical = _analytical(outputs, [given[i] for i in indices], o)
        again = _analytical(outputs, [given[i] for i in indices], o)
        for i, matrix, second in zip(indices, analytical, again, strict=True):
            expected = numerical[i][kept[o]] if numerical[i] else np.zeros_like(matrix)
            expected = expected.reshape(matrix.shape)
            if not np.allclose(matrix, expected, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(
                    f"{told[kept[o]]}Jacobian mismatch for output {o} with respect to input {i},\n"
                    f"numerical:{expected}\nanalytical:{matrix}\n"
                )
            if np.abs(matrix - second).max(initial=0.0) > nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    f"gradient matches numerical gradient. The tolerance for nondeterminism was "
                    f"{nondet_tol}."
                )
        for i in indices:
            g = grad(
                [out], [given[i]], [out.detach() * 0 + 1], retain_graph=True, allow_unused=True
            )
            if g[0] is not None and g[0].shape != given[i].shape:
                raise GradcheckError(f"the gradient of input {i} has shape {g[0].shape}")


@hide_private
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    gen_non_contig_grad_outputs: bool = False,
    **_: Any,
) -> bool:
    """``gradcheck`` of the gradients of *func*, as functions of the inputs and of their seeds.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradgradcheck.html
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = [t for t in _outputs(func(*given)) if t.requires_grad]
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = tuple(
            t.new_tensor(
                _normal(rng, t), requires_grad=True,
            )
            for t in outputs
        )  # fmt: skip
    else:
        seeds = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    n = len(given)

    def first(*args: Any) -> tuple[Tensor, ...]:
        leaves = [
            x.detach().requires_grad_() if _wants(y) and not _wants(x) else x
            for x, y in zip(args[:n], given, strict=True)
        ]  # fmt: skip
        made = [t for t in _outputs(func(*leaves)) if t.requires_grad]
        wanted = [x for x, y in zip(leaves, given, strict=True) if _wants(y)]
        found = grad(made, wanted, list(args[n:]), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first, (*given, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol,
    )  # fmt: skip


def _normal(rng: np.random.Generator, like: Tensor) -> np.ndarray:
    values = rng.standard_normal(tuple(like.shape))
    return values + 1j * rng.standard_normal(values.shape) if like.is_complex() else values


def _wants(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad

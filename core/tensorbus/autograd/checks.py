"""Checks of derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd import forward_ad
from tensorbus.autograd.api import grad
from tensorbus.op_engine.batches import enter, in_batch, in_current_batches, leave
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
    imaginary one; outputs are real. The input itself is changed, and put back: functions may use it
    besides their argument, as that of a module uses its parameters.
    """
    x = inputs[which]
    base = _host(x)
    repeats = any(step == 0 and n > 1 for step, n in zip(x.stride(), x.shape, strict=True))
    given = [x.detach().clone() if i == which and repeats else y for i, y in enumerate(inputs)]
    values = given[which].data
    try:
        return _slopes(lambda: _outputs(f(*given)), values, base, eps)
    finally:
        values.copy_(x.new_tensor(base))


def _slopes(
    run: Callable[[], list[Tensor]], x: Tensor, base: np.ndarray, eps: float
) -> list[np.ndarray]:
    """``_numerical`` where *x* has the values of the input, which are *base* at first."""
    columns: list[list[np.ndarray]] = []
    for at in np.ndindex(base.shape):
        found: list[Any] = []
        for direction in (1, 1j) if x.is_complex() else (1,):
            sides = []
            for sign in (1.0, -1.0):
                moved = base.copy()
                moved[at] += sign * eps * direction
                x.copy_(x.new_tensor(moved))
                sides.append([_host(o).ravel() for o in run()])
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


def _tangents(
    func: Callable[..., Any], plain: Sequence[Any], which: int, seed: Tensor
) -> list[Tensor]:
    """The derivative of each output along *seed*, a direction of one input, by forward mode."""
    with forward_ad.dual_level():
        given = [
            forward_ad.make_dual(in_current_batches(x), seed) if i == which else x
            for i, x in enumerate(plain)
        ]
        found = []
        for o in _outputs(func(*given)):
            tangent = forward_ad.unpack_dual(o).tangent
            found.append(o.detach() * 0 if tangent is None else tangent)
        return found


def _forward(
    func: Callable[..., Any], plain: Sequence[Any], which: int, batched: bool
) -> list[np.ndarray]:
    """The matrices of ``_numerical`` by forward mode, one direction after the other or at once."""
    x = plain[which]
    n, matrices = x.numel(), []
    for direction in (1, 1j) if x.is_complex() else (1,):
        rows = x.new_tensor(direction * np.eye(n)).reshape((n, *x.shape))
        if batched:
            with in_batch(n, "error"):
                made = _tangents(func, plain, which, enter(rows, n))
                found = [leave(in_current_batches(t)) for t in made]
                slopes = [_host(t).reshape(n, -1) for t in found]
        else:
            each = [[_host(t).ravel() for t in _tangents(func, plain, which, row)] for row in rows]
            slopes = [np.array(of_output) for of_output in zip(*each, strict=True)]
        matrices.append([direction * slope for slope in slopes])
    return [np.sum(parts, 0) for parts in zip(*matrices, strict=True)]


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
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of *func* agree with central differences; inputs in float64.

    Complex inputs are moved along both axes, complex outputs checked part by part. With
    *check_forward_ad* the derivatives of forward mode are compared, too; with *check_batched_grad*
    and *check_batched_forward_grad* those of several gradients or tangents at once with those of
    each alone; with *check_grad_dtypes* gradients have the dtypes of the inputs. The whole Jacobian
    is compared, with *fast_mode* too, and each output differentiated alone, so that the gradients
    of the others are undefined; all tensors are dense, so *masked* changes nothing.

    GradcheckError (a RuntimeError) where they do not, or False with ``raise_exception=False``.
    A UserWarning for an input that requires grad in less than double precision.

    >>> import tensorbus as torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x.sin() * x, (x,), check_forward_ad=True)
    True

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    indices = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    if not indices:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them "
            "have requires_grad=True."
        )
    for i in indices:
        if given[i].dtype not in (dtypes.float64, dtypes.complex128):
            warn_user(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex. "
            )
    made = _outputs(func(*given))
    checks = _Checks(
        given, indices, eps, atol, rtol, nondet_tol, check_backward_ad, check_grad_dtypes,
        check_batched_grad, check_forward_ad, check_batched_forward_grad,
    )  # fmt: skip
    try:
        if any(o.is_complex() for o in made):
            for part, shown in (("imag", "imaginary"), ("real", "real")):
                told = [
                    f"While considering the {shown} part of complex outputs only, "
                    if o.is_complex()
                    else ""
                    for o in made
                ]
                checks.run(_part(func, part), told)
        else:
            checks.run(func, [""] * len(made))
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


@dataclass
class _Checks:
    """What is checked of a function with real outputs, and how closely."""

    given: tuple[Any, ...]
    indices: list[int]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    backward: bool
    dtypes: bool
    batched: bool
    forward: bool
    batched_forward: bool

    def run(self, func: Callable[..., Any], told: list[str]) -> None:
        """GradcheckError for the first derivative that is wrong; *told* begins its text."""
        made = _outputs(func(*self.given))
        outputs = [t for t in made if t.requires_grad]
        plain = [x.detach() if isinstance(x, Tensor) else x for x in self.given]
        numerical = {i: _numerical(func, self.given, i, self.eps) for i in self.indices}
        if not outputs:  # then no output may change
            if any(np.any(matrix) for found in numerical.values() for matrix in found):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        if self.forward:
            self._check_forward(func, plain, numerical, told)
        if not self.backward:
            return
        kept = [o for o, t in enumerate(made) if t.requires_grad]
        for o in range(len(outputs)):
            self._check_output(outputs, o, kept[o], numerical, told[kept[o]])

    def _differ(self, analytical: np.ndarray, expected: np.ndarray) -> bool:
        return not np.allclose(analytical, expected, rtol=self.rtol, atol=self.atol, equal_nan=True)

    def _check_forward(
        self, func: Callable[..., Any], plain: list[Any], numerical: Any, told: list[str]
    ) -> None:
        for i in self.indices:
            found = _forward(func, plain, i, False)
            for o, (matrix, expected) in enumerate(zip(found, numerical[i], strict=True)):
                if self._differ(matrix, expected.reshape(matrix.shape)):
                    raise GradcheckError(
                        f"{told[o]}Jacobian computed with forward mode mismatch for output {o} "
                        f"with respect to input {i},\nnumerical:{expected}\nanalytical:{matrix}\n"
                    )
            if not self.batched_forward or not plain[i].numel():
                continue
            for o, (matrix, one) in enumerate(
                zip(_forward(func, plain, i, True), found, strict=True)
            ):
                if self._differ(matrix, one):
                    raise GradcheckError(
                        f"For output {o} and input {i}: tangents that are computed at once by vmap "
                        f"differ from those of each alone.\nGot:\n{matrix}\nExpected:\n{one}\n"
                    )

    def _check_output(
        self, outputs: list[Tensor], o: int, place: int, numerical: Any, told: str
    ) -> None:
        out, inputs = outputs[o], [self.given[i] for i in self.indices]
        analytical = _analytical(outputs, inputs, o)
        again = _analytical(outputs, inputs, o)
        for i, matrix, second in zip(self.indices, analytical, again, strict=True):
            expected = numerical[i][place] if numerical[i] else np.zeros_like(matrix)
            expected = expected.reshape(matrix.shape)
            if self._differ(matrix, expected):
                raise GradcheckError(
                    f"{told}Jacobian mismatch for output {o} with respect to input {i},\n"
                    f"numerical:{expected}\nanalytical:{matrix}\n"
                )
            if np.abs(matrix - second).max(initial=0.0) > self.nondet_tol:
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient. The tolerance for nondeterminism was "
                    f"{self.nondet_tol}."
                )
        for i, x in zip(self.indices, inputs, strict=True):
            g = grad([out], [x], [out.detach() * 0 + 1], retain_graph=True, allow_unused=True)[0]
            if g is not None and g.shape != x.shape:
                raise GradcheckError(f"the gradient of input {i} has shape {g.shape}")
            if self.dtypes and g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"Gradient has dtype mismatch: {g.dtype} for input {i} of {x.dtype}"
                )
        if self.batched and out.numel():
            self._check_batched(out, o, inputs, analytical)

    def _check_batched(
        self, out: Tensor, o: int, inputs: list[Tensor], analytical: list[np.ndarray]
    ) -> None:
        n = out.numel()
        rows = out.new_tensor(np.eye(n)).reshape((n, *out.shape))
        made = grad(
            [out], inputs, [rows], retain_graph=True, allow_unused=True, is_grads_batched=True
        )
        for i, g, one in zip(self.indices, made, analytical, strict=True):
            matrix = np.zeros_like(one) if g is None else _host(g).reshape(n, -1).T
            if self._differ(matrix, one):
                raise GradcheckError(
                    f"For output {o} and input {i}: gradients that are computed at once by vmap "
                    f"differ from those of each alone.\nGot:\n{matrix}\nExpected:\n{one}\n"
                )


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
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    gen_non_contig_grad_outputs: bool = False,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """``gradcheck`` of the gradients of *func*, as functions of the inputs and of their seeds.

    The other arguments are those of ``gradcheck``: *check_fwd_over_rev* is its
    *check_forward_ad*, *check_rev_over_rev* its *check_backward_ad*.

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradgradcheck.html
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    for name, wanted in (
        ("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)
    ):  # fmt: skip
        if wanted and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    outputs = [t for t in _outputs(func(*given)) if t.requires_grad]
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = tuple(t.new_tensor(_normal(rng, t), requires_grad=True) for t in outputs)
    else:
        seeds = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    n = len(given)

    def first(*args: Any) -> tuple[Tensor, ...]:
        leaves = [
            x.requires_grad_() if _wants(y) and not _wants(x) else x
            for x, y in zip(args[:n], given, strict=True)
        ]  # fmt: skip
        made = [t for t in _outputs(func(*leaves)) if t.requires_grad]
        wanted = [x for x, y in zip(leaves, given, strict=True) if _wants(y)]
        found = grad(made, wanted, list(args[n:]), create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first, (*given, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def _normal(rng: np.random.Generator, like: Tensor) -> np.ndarray:
    values = rng.standard_normal(tuple(like.shape))
    return values + 1j * rng.standard_normal(values.shape) if like.is_complex() else values


def _wants(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad

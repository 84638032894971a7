"""Random choices: truth values by probability, indices by weight."""

from __future__ import annotations

import math
from typing import Any

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._dispatch.kinds import Kind
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.op_engine.argument_checks import Given
from tensorbus.op_engine.arguments import check_tensors, not_implemented
from tensorbus.op_engine.batches import drawn_for
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.out import SAME
from tensorbus.op_engine.public import public
from tensorbus.ops.random.pieces import Pieces, joined
from tensorbus.ops.random.random import draw_uniform, uniform_pieces
from tensorbus.ops.random.slopes import without_slope
from tensorbus.ops.reduce.value_checks import refuse_values
from tensorbus.random import Generator


@public(out=True)
def bernoulli(
    input: Tensor, p: Given[float] = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with the probability that *input* (or *p*) says, else 0."""
    check_tensors("bernoulli", input=input)
    input = drawn_for(input)
    k = input._k
    with no_grad():
        if not k.is_float and input._s.numel():
            if p is None:
                raise not_implemented("bernoulli_tensor_cpu_p_", input)
            if k.dtype.is_complex:
                raise not_implemented("bernoulli_scalar_cpu_", input)
        probability: Any = input if p is None else p
        drawn = bernoulli_pieces(k, tuple(input._s), probability, generator)
        made = from_array(k.view(joined(k, input._s.numel(), drawn), tuple(input._s)), k)
    return without_slope(made, [input] * input.requires_grad, "BernoulliBackward0")


def bernoulli_pieces(kind: Kind, shape: tuple[int, ...], p: Any, generator: Any) -> Pieces:
    """1 with probability *p*, a number or a tensor that broadcasts, else 0."""
    if isinstance(p, Tensor):
        p = p.detach().expand(shape)
        wrong = ~((p >= 0) & (p <= 1))
        refuse_values((wrong, "Expected p_in >= 0 && p_in <= 1 to be true, but got false."))
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    draws = kind if kind.is_float else kind.of(dtypes.float32)
    return _hits(kind, draws, p, uniform_pieces(draws, shape, generator))


def _hits(kind: Kind, draws: Kind, p: Any, drawn: Pieces) -> Pieces:
    flat = p.reshape(-1) if isinstance(p, Tensor) else None
    for start, values in drawn:
        least = p if flat is None else flat[start : start + values.shape[0]]
        yield start, to_kind(from_array(values, draws) < least, kind)._a


def _check_weights(weights: Tensor) -> None:
    """RuntimeError where a row of weights is no distribution."""
    refuse_values(
        (
            (~(weights >= 0)) | (weights == math.inf),
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            weights.sum(1) <= 0,
            "invalid multinomial distribution (sum of probabilities <= 0)",
        ),
    )


@public(out=SAME)
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn by rows of weights, int64."""
    check_tensors("multinomial", input=input)
    if not input._k.is_float:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{scalar_name(input._k.dtype)}"
        )
    if len(input._s) not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    input = drawn_for(input)
    weights = input if len(input._s) == 2 else input.unsqueeze(0)
    n = weights._s[1]
    with no_grad():
        _check_weights(weights)
        if not replacement and num_samples > n:
            raise RuntimeError(
                "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
            )
        k = weights._k
        if replacement:
            total = weights.cumsum(1)
            u = from_array(draw_uniform(k, (weights._s[0], num_samples), generator), k)
            u = u * total[:, -1:]
            found = (total.unsqueeze(1) <= u.unsqueeze(2)).sum(2).clamp(max=n - 1)
        else:
            # Exponential clocks: the order in which they ring is a draw without replacement.
            u = from_array(draw_uniform(k, tuple(weights._s), generator), k)
            found = ((1 - u).log() / weights).neg().argsort(1)[:, :num_samples].contiguous()
    return found if len(input._s) == 2 else found.squeeze(0)

"""Normal random numbers whose means and standard deviations are tensors."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.op_engine.argument_values import is_number
from tensorbus.op_engine.casting import to_kind
from tensorbus.op_engine.options import Options, factory
from tensorbus.ops.creation.factories import factory_shape
from tensorbus.ops.random.random import NORMAL, checked, draw_normal
from tensorbus.ops.random.slopes import without_slope
from tensorbus.ops.reduce.value_checks import refuse_values
from tensorbus.random import Generator
from tensorbus.rows.layouts import broadcast_shapes


@factory("out")
def normal(
    mean: Any = None,
    std: Any = None,
    size: Any = None,
    *,
    generator: Generator | None = None,
    options: Options,
) -> Any:
    """Normal random numbers with means and standard deviations given as tensors or numbers.

    TypeError for a size, dtype or device beside tensors, which say these themselves.
    """
    if size is not None:
        mean, std = (x.item() if is_number(x) else x for x in (mean, std))
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    node = 1 * isinstance(mean, Tensor) + 2 * isinstance(std, Tensor)
    if size is not None and None in (mean, std) and not given:
        raise TypeError("normal() missing 2 required arguments beside size: mean and std")
    mean, std = 0.0 if mean is None else mean, 1.0 if std is None else std
    if isinstance(std, Tensor):
        if std._k.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        refuse_values((std < 0, "normal expects all elements of std >= 0.0"))
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if given:
        if size is not None or options.dtype or options.device or options.requires_grad:
            raise TypeError(
                "normal() received an invalid combination of arguments: where mean or std is a "
                "tensor it says size, dtype and device, and requires_grad is not taken"
            )
        k = options.drawn_kind(like=given[0])
        shape = tuple(broadcast_shapes(*(tuple(t._s) for t in given)))
    elif not isinstance(size, (tuple, list)):
        raise TypeError(
            "normal() received an invalid combination of arguments: where mean and std are numbers "
            f"size must be a tuple of ints, not {type(size).__name__}"
        )
    else:
        k, shape = options.drawn_kind(), factory_shape("normal", (size,))
    checked(k, NORMAL, shape)
    with no_grad():
        drawn = to_kind(from_array(draw_normal(k, shape, generator), k) * std + mean, k)
    operands = [t for t in given if t.requires_grad]
    return without_slope(drawn, operands, f"NormalBackward{node}")

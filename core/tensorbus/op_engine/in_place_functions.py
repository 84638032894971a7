"""The in-place methods that are functions too: ``tensorbus.relu_(x)`` is ``x.relu_()``.

Which ones is PyTorch's choice: mostly those of one operand.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.names import FUNCTIONS, METHODS, Lazy
from tensorbus.op_engine.signatures import show_signature

NAMES = (
    "abs acos acosh addmv arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil "
    "clamp clamp_max clamp_min clip conj_physical cos cosh deg2rad detach erf erfc exp exp2 expm1 "
    "fill fix floor frac gcd i0 index_put lcm ldexp log log10 log1p log2 logit nan_to_num neg "
    "negative rad2deg reciprocal relu round rsqrt sigmoid sin sinc sinh sqrt square tan tanh "
    "trunc xlogy zero"
).split()


def publish() -> None:
    """Give each of the methods a function of its name: once, before any is touched."""
    for name in NAMES:
        FUNCTIONS[name + "_"] = _function(name + "_")


def _function(name: str) -> Callable[..., Tensor]:
    shown, plain = _calling(name), _calling(name)
    shown.__wrapped__ = plain  # type: ignore[attr-defined]
    show_signature(shown, lambda _: _signature(name))
    return shown


def _calling(name: str) -> Callable[..., Tensor]:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(input, Tensor):
            raise type_error(name, "input", 1, "Tensor", input)
        r: Tensor = getattr(input, name)(*args, **kwargs)
        return r

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place version of ``{name[:-1]}``: the method as a function."
    return call


def _signature(name: str) -> inspect.Signature:
    method = METHODS[name]
    first = inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Tensor")
    if isinstance(method, Lazy):  # of two operands: its text is generated when it is first used
        rest = [first.replace(name="other", annotation="Any")]
    else:
        rest = list(inspect.signature(method).parameters.values())[1:]
    return inspect.Signature([first, *rest], return_annotation="Tensor")

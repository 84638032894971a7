"""A ``Function`` on tensors of a batch: what its own rule for ``vmap`` makes of all elements."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.batches import lifted
from tensorbus.op_engine.outside_batches import entered, info_of, outside, outside_of

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def by_own_rule(cls: Any, device: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The outputs, in the batch of *device*, of a function that has the static method ``vmap``.

    RuntimeError for a function without ``setup_context``, or with a second rule, and for a rule
    that does not return outputs and dimensions.
    """
    _check(cls, kwargs)
    pairs = [outside(value, device) for value in args]
    given, dims = tuple(value for value, _ in pairs), tuple(dim for _, dim in pairs)
    info = info_of(device)
    with outside_of(device):
        if all(dim is None for dim in dims):
            return lifted(cls.apply(*given, **kwargs), device)
        made = cls.vmap(info, dims, *given, **kwargs)
        if not isinstance(made, tuple) or len(made) != 2:
            got = f"{len(made)} returns" if isinstance(made, tuple) else f"a {type(made)}"
            raise RuntimeError(
                "Expected the vmap staticmethod to have two returns, an output and out_dims with "
                f"pytree structure compatible with the output. Got {got} instead"
            )
        outputs, out_dims = made
        inputs = {id(x): own for x, own in zip(given, args, strict=True) if isinstance(x, Tensor)}
        try:
            results = lifted(entered(outputs, out_dims, info.batch_size), device)
        except ValueError:
            raise RuntimeError(
                "The autograd.Function's vmap staticmethod returned an incompatible (output, "
                f"out_dims) tuple. Expected out_dims={out_dims} to be compatible with the "
                f"structure of `output`. {_MORE}"
            ) from None
    # What the rule wrote into and returned is the argument itself.
    if not isinstance(outputs, tuple):
        return inputs.get(id(outputs), results)
    return tuple(inputs.get(id(x), r) for x, r in zip(outputs, results, strict=True))


def _check(cls: Any, kwargs: dict[str, Any]) -> None:
    from tensorbus.autograd.function import Function  # here: it stands on this module

    if any(isinstance(value, Tensor) for value in kwargs.values()):
        raise NotImplementedError(
            "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass "
            f"kwarg-only Tensors to autograd.Function. Got: {kwargs}"
        )
    if cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and "
            "an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the "
            f"overridden vmap staticmethod to avoid ambiguity. {_MORE}"
        )
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod. For more details, "
            "please see https://pytorch.org/docs/main/notes/extending.func.html"
        )

"""Kullback-Leibler divergences: the table of pairs of classes, and how a pair is found in it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tensorbus._base.page import show_pages
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.distributions.distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

Pair = tuple[type, type]

_KL_REGISTRY: dict[Pair, Callable[..., Tensor]] = {}
"""What computes the divergence, by the classes that it was registered for."""
_KL_MEMOIZE: dict[Pair, Callable[..., Tensor] | None] = {}
"""What was found in the table for the classes of two distributions."""


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Make a function what ``kl_divergence`` calls for two classes and those derived from them.

    Where several are registered, the one for the most specific classes is called; where two are
    equally specific, a RuntimeWarning says so. TypeError for what is no class.

    Example:
        >>> class Shifted(tensorbus.distributions.Normal):
        ...     pass
        >>> @tensorbus.distributions.register_kl(Shifted, Shifted)
        ... def kl_shifted_shifted(p, q):
        ...     return (p.loc - q.loc).abs()
        >>> tensorbus.distributions.kl_divergence(Shifted(0.0, 1.0), Shifted(3.0, 1.0))
        tensor(3.)

    Source: https://pytorch.org/docs/stable/distributions.html#torch.distributions.kl.register_kl
    """
    for name, given in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(given, type):  # Pyro registers classes that only look like ours
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {given}")

    def decorator(fun: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _most_specific(matches: list[Pair], first: int) -> Pair:
    """The pair whose class at index *first* is the most derived, and after that the other one."""

    def before(a: Pair, b: Pair) -> int:
        for i in (first, 1 - first):
            if a[i] is not b[i]:
                return -1 if issubclass(a[i], b[i]) else 1
        return 0

    return min(matches, key=functools.cmp_to_key(before))


def _found(type_p: type, type_q: type) -> Callable[..., Tensor] | None:
    matches = [m for m in _KL_REGISTRY if issubclass(type_p, m[0]) and issubclass(type_q, m[1])]
    if not matches:
        return None
    by_p, by_q = _most_specific(matches, 0), _most_specific(matches, 1)
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn_user(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({by_p[0].__name__}, {by_q[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[by_p]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence of *p* from *q*: the mean of ``log(p(x) / q(x))`` under *p*.

    It has the shape of their batch. NotImplementedError for classes without a formula: of two
    distributions of one class most have one, and so have many pairs of continuous ones.

    Example:
        >>> p = tensorbus.distributions.Normal(0.0, 1.0)
        >>> q = tensorbus.distributions.Normal(tensorbus.tensor([0.0, 1.0]), 1.0)
        >>> kl_divergence(p, q)
        tensor([0.0000, 0.5000])

    Source: https://pytorch.org/docs/stable/distributions.html#module-torch.distributions.kl
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _found(*pair)
    fun = _KL_MEMOIZE[pair]
    if fun is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
            f"{q.__class__.__name__}"
        )
    return fun(p, q)


show_pages(__name__, [(n, globals()[n]) for n in __all__])

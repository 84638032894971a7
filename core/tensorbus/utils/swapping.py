"""Two tensors with one another's contents."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from tensorbus._base.errors import type_error
from tensorbus._tensor.tensor import SWITCHED_OFF, Tensor
from tensorbus.autograd.node import AccumulateGrad


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Give two tensors one another's contents: values, dtype, class, attributes and gradient.

    RuntimeError where something else knows one of them: a view of it, a recorded operation, or a
    weak reference.

    >>> import tensorbus as torch
    >>> x, y = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(x, y)
    >>> x, y
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for position, name, t in ((1, "t1", t1), (2, "t2", t2)):
        if not isinstance(t, Tensor):
            raise type_error("swap_tensors", name, position, "Tensor", t)
        _check_alone(name, t)
    if t1 is not t2:
        own, other = _contents(t1), _contents(t2)
        _become(t1, other)
        _become(t2, own)


def _check_alone(name: str, t: Tensor) -> None:
    """RuntimeError where something else would find other contents than it knows."""
    edge: Any = t._e or t.__dict__.get(SWITCHED_OFF)
    is_leaf = type(edge) is AccumulateGrad
    if any(not (is_leaf and r is edge.leaf) for r in weakref.getweakrefs(t)):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    # Views, and nodes that saved the tensor, have its version cell; other nodes have its edge.
    shared = t._c is not None and sys.getrefcount(t._c) > 2
    if shared or (edge is not None and not (is_leaf and sys.getrefcount(edge) <= 3)):
        raise RuntimeError(
            f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node: it has views, "
            "is one, or was recorded by an operation whose results still exist"
        )


_SLOTS = [name for name in vars(Tensor)["__slots__"] if not name.startswith("__")]
_Contents = tuple[type, dict[str, Any], dict[str, Any]]


def _contents(t: Tensor) -> _Contents:
    return type(t), t.__dict__, {n: getattr(t, n) for n in _SLOTS if hasattr(t, n)}


def _become(t: Tensor, contents: _Contents) -> None:
    t.__class__, t.__dict__, slots = contents
    for name in _SLOTS:
        if name in slots:
            setattr(t, name, slots[name])
        elif hasattr(t, name):
            delattr(t, name)
    for edge in (t._e, t.__dict__.get(SWITCHED_OFF)):
        if type(edge) is AccumulateGrad:
            edge.leaf = weakref.ref(t)

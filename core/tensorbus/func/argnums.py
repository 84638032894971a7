"""Which arguments a function is differentiated by."""

from __future__ import annotations

from typing import Any

from tensorbus._tensor.tensor import Tensor
from tensorbus.utils._pytree import tree_flatten

Argnums = int | tuple[int, ...]


def checked(argnums: Any, count: int) -> Argnums:
    """Numbers of arguments, none of them negative; RuntimeError for what is none of *count*."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if isinstance(argnums, int):
        return _checked(argnums, count)
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    for n in argnums:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
    found = tuple(_checked(n, count) for n in argnums)
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {found}")
    return found


def _checked(n: int, count: int) -> int:
    if not -count <= n < count:
        raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
    return n % count


def chosen(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The arguments of these numbers: one, or a tuple."""
    return args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in argnums)


def replaced(args: tuple[Any, ...], argnums: Argnums, others: Any) -> tuple[Any, ...]:
    """All arguments, with *others* for those of these numbers."""
    made = list(args)
    for n, other in [(argnums, others)] if isinstance(argnums, int) else zip(argnums, others):  # noqa: B905
        made[n] = other
    return tuple(made)


def tensors_of(tree: Any) -> tuple[list[Tensor], Any]:
    """The tensors of a tree of inputs, and its structure; ValueError for any other leaf."""
    leaves, spec = tree_flatten(tree)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    return leaves, spec


def with_aux(made: Any, call: str) -> tuple[Any, Any]:
    """A function's output and what else it returned."""
    if not (isinstance(made, tuple) and len(made) == 2):
        raise RuntimeError(
            f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    return made

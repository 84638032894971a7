"""Names that PyTorch's tensors had, or keep for old programs; most of them warn."""

from __future__ import annotations

from typing import Any

from tensorbus._base.formats import check_format, preserve_format
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.dims import shape_argument
from tensorbus.op_engine.names import METHODS, Lazy
from tensorbus.op_engine.public import public
from tensorbus.rows.layouts import suggested_format
from tensorbus.storage import resize_ as resize_to

for _old, _new in {"__div__": "__truediv__", "__idiv__": "__itruediv__"}.items():
    METHODS[_old] = Lazy(_old, METHODS[_new].make)
METHODS["__rdiv__"] = METHODS["__rtruediv__"]
METHODS["__long__"] = METHODS["__int__"]


@public(function=False)
def masked_copy_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Deprecated: the older name of ``masked_scatter_``."""
    warn_user("masked_copy_ is deprecated and renamed to masked_scatter_, and will be removed")
    return self.masked_scatter_(mask, source)


@public()
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor another's shape, in place; memory is kept as ``resize_`` does it.

    With ``memory_format=torch.preserve_format`` it gets the other's format, too.
    """
    check_format("resize_as_", memory_format)
    shape = tuple(the_template._s)
    if memory_format is preserve_format:
        memory_format = suggested_format(shape, tuple(the_template._k.strides(the_template._a)))
    return resize_to(input, shape, memory_format)


@public(function=False)
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """Deprecated: ``reshape`` without a -1."""
    warn_user("non-inplace resize is deprecated")
    return _resized(self, shape_argument("resize", "sizes", sizes))


@public(function=False)
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Deprecated: ``reshape`` to another tensor's shape."""
    warn_user("non-inplace resize_as is deprecated")
    return _resized(self, tuple(tensor._s))


def _resized(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    total = 1
    for n in shape:
        total *= n
    if total != x._s.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, shape))} ({total} elements in total), but the "
            f"given tensor has a size of {'x'.join(map(str, x._s))} ({x._s.numel()} elements): "
            "resize keeps the number of elements; resize_ changes it"
        )
    return x.contiguous().view(shape)


@public(function=False)
def reinforce(self: Tensor, reward: Any = None) -> None:
    """Removed: a loss of ``-log_prob(action) * reward`` does what it did; RuntimeError."""
    raise RuntimeError(
        "reinforce() was removed: sample an action, take the logarithm of its probability, and "
        "call backward() of -log_prob * reward"
    )


@public(function=False)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What ``load_state_dict`` puts in this tensor's place for *other*, without history.

    *other* itself with ``assign=True``, else this tensor with the other's values copied into it.
    """
    return other.detach() if assign else self.copy_(other).detach()


@public(method=False)
def is_distributed(input: Tensor) -> bool:
    """False: no tensor is spread over several machines."""
    return False


METHODS["is_distributed"] = is_distributed


@public(method=False)
def typename(obj: Any, /) -> str:
    """The full name of an object's type: ``torch.FloatTensor`` for such a tensor.

    Of a class or function it is its own name.

    >>> import tensorbus
    >>> tensorbus.typename(tensorbus.ones(2)), tensorbus.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") or hasattr(obj, "__name__") else type(obj)
    module = getattr(named, "__module__", None)
    name = str(getattr(named, "__qualname__", None) or named.__name__)
    return name if module in (None, "builtins") else f"{module}.{name}"

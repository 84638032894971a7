"""Gradients: whether a tensor records, what it holds, hooks."""

from __future__ import annotations

import functools
import warnings
from builtins import type as class_of
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tensorbus._base import dtypes
from tensorbus._base.modes import InferenceCell
from tensorbus._tensor.tensor import GRAD_DTYPE, RETAINS, SWITCHED_OFF, Tensor, version_of
from tensorbus.autograd.early import hear_early
from tensorbus.autograd.node import (
    AccumulateGrad,
    Node,
    Retain,
    hooks_of,
    is_leaf_edge,
    refuse_inference,
    shown,
)
from tensorbus.autograd.variable import set_volatile, volatile
from tensorbus.op_engine.history import edge_of, requires_grad
from tensorbus.op_engine.names import METHODS
from tensorbus.op_engine.public import public

if TYPE_CHECKING:
    from tensorbus.utils.hooks import RemovableHandle


"""What a tensor's ``__dict__`` may hold besides the user's attributes."""


def _requires_grad(self: Tensor) -> bool:
    """Whether operations on it record."""
    return requires_grad(self)


def _is_leaf(self: Tensor) -> bool:
    """Whether it was made by the user, not by a recorded operation."""
    return is_leaf_edge(edge_of(self))


def _retains_grad(self: Tensor) -> bool:
    """Whether ``retain_grad`` was called."""
    return self.__dict__.get(RETAINS, False)


def _grad(self: Tensor) -> Tensor | None:
    """The gradient that backward passes added up, or None.

    A UserWarning where the tensor is no leaf and does not retain it.
    """
    try:
        found = self._g
    except AttributeError:
        found = None
    if found is None and self._e is not None and not _is_leaf(self) and not _retains_grad(self):
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). Call .retain_grad() on "
            "the non-leaf Tensor if its gradient is wanted, or read .grad of the leaf Tensor it "
            "was made from",
            UserWarning,
            stacklevel=2,
        )
    return found


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type "
                f"{class_of(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value._s != self._s:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value._s)}' to a tensor of size "
                f"'{list(self._s)}'. Please ensure that the gradient and the tensor are the same "
                "size"
            )
        if value._k is not self._k or GRAD_DTYPE in self.__dict__:
            _check_assigned(self, value)
    self._g = value


def _check_assigned(self: Tensor, value: Tensor) -> None:
    """RuntimeError for a gradient on another device, or with a dtype that is not wanted."""
    own, given = self._k.device, value._k.device
    if given is not own:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{given}' to a tensor with device "
            f"type '{own}'. Please ensure that the gradient and the tensor are on the same device"
        )
    wanted = self.__dict__.get(GRAD_DTYPE, self._k.dtype)
    if wanted is not None and value._k.dtype is not wanted:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value._k.dtype}' to a tensor with "
            f"grad_dtype '{wanted}'. The gradient must match the tensor's grad_dtype (defaults to "
            "the tensor's dtype). You can set the tensor's grad_dtype attribute with a specific "
            "dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes "
            "of a tensor and its gradient may break downstream systems that assume they match."
        )


def _grad_dtype(self: Tensor) -> Any:
    """The dtype of ``.grad``, to which gradients are converted; None: any may be assigned.

    By default that of the tensor. RuntimeError for a tensor that is no leaf, for what is no dtype,
    and for another dtype than that of a gradient that is there.
    """
    if not _is_leaf(self):
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return self.__dict__.get(GRAD_DTYPE, self._k.dtype)


def _set_grad_dtype(self: Tensor, value: Any) -> None:
    if not _is_leaf(self):
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    if value is not None:
        if not isinstance(value, dtypes.dtype):
            raise RuntimeError(
                f"grad_dtype must be a torch.dtype or None, but got {class_of(value).__name__}"
            )
        if value.category < dtypes.FLOAT and value is not self._k.dtype:
            raise RuntimeError(
                f"grad_dtype must be a floating point or complex dtype, for gradients are "
                f"converted to it, but got {value}"
            )
        before = getattr(self, "_g", None)
        if before is not None and before._k.dtype is not value:
            raise RuntimeError(
                f"Cannot set grad_dtype to '{value}' because there is already a gradient with "
                f"dtype '{before._k.dtype}'. Please clear the gradient (.grad = None) before "
                "changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's "
                "dtype."
            )
    self.__dict__[GRAD_DTYPE] = value
    if self._e is not None:
        hooks_of(self._e)  # passes look closer at leaves with hooks


def _grad_fn(self: Tensor) -> Node | None:
    """The node that made it, or None for a leaf."""
    edge = edge_of(self)
    return None if is_leaf_edge(edge) else shown(edge)


def _output_nr(self: Tensor) -> int:
    """Which of the results of ``grad_fn`` it is; 0 of a leaf."""
    edge = edge_of(self)
    return 0 if edge is None else int(edge.position)


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if class_of(value) is not bool:
        raise RuntimeError("requires_grad must be a bool")
    if not is_leaf_edge(edge_of(self)):
        if value:
            return
        raise RuntimeError(
            "you can only change requires_grad flags of leaf variables. If you want to use a "
            "computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
    if not value:
        if self._e is not None:
            self.__dict__[SWITCHED_OFF] = self._e
        self._e = None
    elif self._e is None:
        refuse_inference(self)
        if self._k.dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        # The edge that it had before: graphs that lead there, and its hooks, are its own again.
        self._e = self.__dict__.pop(SWITCHED_OFF, None) or AccumulateGrad(self)
        self._e.k = self._k
        if GRAD_DTYPE in self.__dict__:
            hooks_of(self._e)
        if isinstance(self._b, Tensor) and class_of(self._c) is not InferenceCell:
            self._v = version_of(self)


@public()
def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode: it never enters a graph."""
    return class_of(input._c) is InferenceCell


@public(function=False)
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Start or stop recording operations on this leaf."""
    if requires_grad and self._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    _set_requires_grad(self, requires_grad)
    return self


@public(function=False)
def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor to ``.grad`` of the leaves it was made from."""
    _backward()(self, gradient, retain_graph, create_graph, inputs=inputs)


@functools.cache
def _backward() -> Callable[..., None]:
    from tensorbus.autograd import api  # here, so that programs without gradients never load it

    return api.backward


@public(function=False)
def register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call *hook* with the gradient when it is known; what it returns replaces the gradient."""
    edge = edge_of(self)
    if edge is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return hooks_of(edge).add("tensor", hook)


@public(function=False)
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], Any]
) -> RemovableHandle:
    """Call ``hook(tensor)`` as soon as this leaf's ``.grad`` was updated in a backward pass."""
    edge = edge_of(self)
    if class_of(edge) is not AccumulateGrad:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hear_early(edge)
    return hooks_of(edge).add("post_accumulate", hook)


@public(function=False)
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this tensor, which no user made, in ``.grad`` too."""
    edge = edge_of(self)
    if edge is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if class_of(edge) is AccumulateGrad or _retains_grad(self):
        return
    self.__dict__[RETAINS] = True
    hooks_of(edge).add("retain", Retain(self))


METHODS["requires_grad"] = property(_requires_grad, _set_requires_grad)
METHODS["is_leaf"] = property(_is_leaf)
METHODS["grad"] = property(_grad, _set_grad, lambda self: _set_grad(self, None))
METHODS["grad_dtype"] = property(_grad_dtype, _set_grad_dtype)
METHODS["grad_fn"] = property(_grad_fn)
METHODS["output_nr"] = property(_output_nr)
METHODS["retains_grad"] = property(_retains_grad)
METHODS["volatile"] = property(volatile, set_volatile)

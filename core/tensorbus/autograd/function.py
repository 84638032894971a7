"""Functions with a derivative of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tensorbus._base.errors import freed_error
from tensorbus._base.modes import RARE, this_thread
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.function_batches import by_own_rule
from tensorbus.autograd.function_node import finish
from tensorbus.autograd.grad_mode import is_grad_enabled, no_grad
from tensorbus.op_engine.batches import deepest
from tensorbus.op_engine.history import edge_of
from tensorbus.op_engine.in_place import stopped


class FunctionCtx:
    """What ``forward`` leaves for ``backward``; attributes of the user's own are welcome."""

    def __init__(self) -> None:
        self.to_save: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Tensor | None, ...] | None = None
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self._saved: list[Any] | None = []

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs; backward finds them in ``saved_tensors``."""
        for i, t in enumerate(tensors):
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type "
                    f"{type(t).__name__}"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs for ``jvp``, which finds them in ``saved_tensors``."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save "
                    "non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Tell which inputs ``forward`` changed in place."""
        _check_marks("mark_dirty", args)
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Tell which outputs have no gradient."""
        _check_marks("mark_non_differentiable", args)
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients reach ``backward`` as zeros (the default) or as None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was saved; RuntimeError after the graph was freed or a value was changed."""
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._saved is None:
            raise freed_error()
        return tuple(entry() for entry in self._saved)


def _check_marks(function: str, args: tuple[Any, ...]) -> None:
    for i, t in enumerate(args):
        if not isinstance(t, Tensor):
            raise RuntimeError(
                f"{function} can only accept variables, but argument {i} is of type "
                f"{type(t).__name__}"
            )


class Function(FunctionCtx):
    """An operation with a derivative of the user's own: subclass it, call ``apply``.

    ``forward(ctx, *args)`` computes; ``backward(ctx, *grads)`` gives a gradient, or None, for each
    argument. Backward may be differentiated again when it is written with tensor operations.

    >>> import tensorbus as torch
    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * g
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    tensor(6.)

    Source: https://pytorch.org/docs/stable/autograd.html#function
    """

    def __init__(self, *args: Any, **kwargs: Any):
        if isinstance(inspect.getattr_static(self, "forward"), staticmethod):
            raise RuntimeError(
                f"{type(self).__name__}: functions are not made into objects. Write forward and "
                "backward as static methods and call apply()."
            )
        super().__init__()

    def __call__(self, *args: Any) -> Any:
        """Run a function of the older style, whose ``forward`` is a method: deprecated.

        The object is what such a function knows as ctx.
        """
        warn_user(
            f"{type(self).__name__} is a legacy autograd function with a non-static forward "
            "method, which is deprecated. Please use new-style autograd function with static "
            "forward method."
        )
        if this_thread.handlers:
            raise RuntimeError(
                f"{type(self).__name__}: functions of the older style do not run inside "
                "transforms. Write forward and backward as static methods and call apply()."
            )
        FunctionCtx.__init__(self)  # a class with its own __init__ may not have called ours
        return self._applied(self, args, {})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the results; the first argument is ctx unless ``setup_context`` is defined."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fill ctx after ``forward``, which is then called without it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    generate_vmap_rule = False
    """Whether ``vmap`` runs the static methods on batches, which it does without ``vmap`` too."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """What ``vmap`` runs for ``forward``, on whole batches: the outputs and their dimensions.

        *in_dims* says along which dimension each argument is a batch, None where it is the same
        for all; ``info`` has ``batch_size`` and ``randomness``. Then there is ``setup_context``.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the results, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and record it."""
        if RARE.on:
            for handler in reversed(this_thread.handlers):
                if hasattr(handler, "apply_function"):
                    return handler.apply_function(cls, args, kwargs)
        return cls._applied(FunctionCtx(), args, kwargs)

    @classmethod
    def _applied(cls, ctx: FunctionCtx, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensors = [x if isinstance(x, Tensor) else None for x in args]
        ctx.needs_input_grad = tuple(t is not None and t.requires_grad for t in tensors)
        recording = is_grad_enabled() and any(ctx.needs_input_grad)
        edges = tuple(
            edge_of(t) if t is not None and needed else None
            for t, needed in zip(tensors, ctx.needs_input_grad, strict=True)
        )
        cells = [None if t is None else t._c for t in tensors]
        versions = [cell[0] if type(cell) is list else 0 for cell in cells]
        try:
            batch = (
                None if cls.vmap is Function.vmap else deepest(t for t in tensors if t is not None)
            )
            with no_grad():
                if batch is not None:
                    outputs = by_own_rule(cls, batch, args, kwargs)
                    cls.setup_context(ctx, args, outputs)
                elif cls.setup_context is Function.setup_context:
                    outputs = cls.forward(ctx, *args, **kwargs)
                else:
                    outputs = cls.forward(*args, **kwargs)
                    cls.setup_context(ctx, args, outputs)
            single = not isinstance(outputs, tuple)
            made = [outputs] if single else list(outputs)
            made = finish(cls, ctx, edges if recording else None, args, made)
        except BaseException as error:
            for t, then in zip(tensors, versions, strict=True):
                if t is not None and type(t._c) is list and t._c[0] != then:
                    stopped(t, error, *edges)
            raise
        return made[0] if single else tuple(made)


class InplaceFunction(Function):
    """A function that may write to its input: what older programs derive theirs from."""

    def __init__(self, inplace: bool = False):
        super().__init__()
        self.inplace = inplace


def once_differentiable(f: Callable[..., Any]) -> Callable[..., Any]:
    """For a ``backward`` that cannot be differentiated again: doing so is then an error."""
    import functools

    @functools.wraps(f)
    def call(ctx: Any, *args: Any) -> Any:
        wanted = is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in args)
        with no_grad():
            made = f(ctx, *args)
        if not wanted:
            return made
        results = made if isinstance(made, tuple) else (made,)
        refused = tuple(
            _Refuse.apply(x.detach().requires_grad_()) if isinstance(x, Tensor) else x
            for x in results
        )
        return refused if isinstance(made, tuple) else refused[0]

    return call


class _Refuse(Function):
    """Lets values through and refuses gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )

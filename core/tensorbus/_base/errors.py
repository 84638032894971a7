"""Error texts that more than one family raises."""

from __future__ import annotations

from typing import Any

from tensorbus._base.modes import OVERRIDES


class OutOfMemoryError(RuntimeError):
    """A device has not the memory that was asked for.

    A backend raises it with the number of bytes, ``OutOfMemoryError(nbytes)``; users meet it with a
    text that says how much was asked for, and on which device.
    """


class AcceleratorError(RuntimeError):
    """A device could not do what was asked of it, for reasons of its own: its driver says which."""


class LinAlgError(RuntimeError):
    """A matrix is singular, or not positive definite: its factorization could not be completed.

    >>> import tensorbus
    >>> try:
    ...     tensorbus.linalg.cholesky(-tensorbus.eye(2))
    ... except tensorbus.linalg.LinAlgError as error:
    ...     print("not positive definite")
    not positive definite
    """


def broadcast_error(a: int, b: int, dim: int) -> RuntimeError:
    """The shapes of two operands do not go together."""
    return RuntimeError(
        f"The size of tensor a ({a}) must match the size of tensor b ({b}) "
        f"at non-singleton dimension {dim}"
    )


def dim_error(dim: int, rank: int) -> IndexError:
    """A dimension that the tensor does not have."""
    rank = max(rank, 1)
    return IndexError(
        f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
    )


def no_such_dim(dim: int, rank: int) -> IndexError:
    """``dim_error``, in the words for tensors that have no dimensions at all."""
    if not rank:
        return IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return dim_error(dim, rank)


class DuckError(TypeError):
    """An argument is no tensor, but says itself what functions make of it."""


def wrong_type(text: str, got: Any) -> TypeError:
    """The error for an argument *got*, where a tensor is wanted."""
    if hasattr(type(got), "__torch_function__") and OVERRIDES.meet():
        return DuckError(text)
    return TypeError(text)


def type_error(
    function: str, argument: str, position: int | None, expected: str, got: Any
) -> TypeError:
    """An argument of a wrong type; one given by its name has no position."""
    kind = type(got)
    name = kind.__name__ if kind.__module__ != "numpy" else f"numpy.{kind.__name__}"
    where = "" if position is None else f" (position {position})"
    text = f"{function}(): argument '{argument}'{where} must be {expected}, not {name}"
    return wrong_type(text, got)


def no_tensor(method: str, value: Any) -> TypeError:
    """A method of tensors was called on something else: ``Tensor.abs(3)``."""
    text = (
        f"Tensor.{method}() is a method of tensors and doesn't apply to a "
        f"'{type(value).__name__}' object"
    )
    return wrong_type(text, value)


def device_error(a: Any, b: Any) -> RuntimeError:
    """Operands on two devices."""
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, "
        f"{a} and {b}!"
    )


def leaf_inplace_error() -> RuntimeError:
    """An in-place change of a leaf that gradients are wanted for."""
    return RuntimeError(
        "a leaf Variable that requires grad is being used in an in-place operation."
    )


def freed_error() -> RuntimeError:
    """A second backward pass over a graph that the first one freed."""
    return RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed). Saved intermediate values of the graph are freed "
        "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
        "backward through the graph a second time or if you need to access saved tensors after "
        "calling backward."
    )


def stale_error(
    typename: str, shape: Any, source: str | None, now: int, then: int, position: int = 0
) -> RuntimeError:
    """A value that backward needs was changed in place."""
    origin = "" if source is None else f", which is output {position} of {source},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{typename} {list(shape)}]{origin} is at version {now}; expected "
        f"version {then} instead. Hint: enable anomaly detection to find the operation that failed "
        "to compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def interrupted_error(typename: str, shape: Any) -> RuntimeError:
    """A value that backward needs was changed by a write whose history is not known."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{typename} {list(shape)}] was being written when an exception stopped "
        "the operation (Ctrl-C, for one), before its history was recorded. Compute the tensor "
        "again, or detach_() it."
    )


def is_interrupt(error: BaseException) -> bool:
    """Whether an exception may come from the handler of a signal, so after a kernel has written.

    Others are a kernel's own, raised before it writes. TimeoutError is what handlers of SIGALRM
    raise.
    """
    return not isinstance(error, Exception) or isinstance(error, OSError)

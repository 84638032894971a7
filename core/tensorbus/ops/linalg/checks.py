"""What the functions of linear algebra ask of their arguments, and say of matrices that fail."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.dtype_names import scalar_name
from tensorbus._base.errors import LinAlgError
from tensorbus._base.warning import warn_user
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.argument_values import every_value
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.autocasting import autocasts


def check_square(name: str, x: Tensor, shown: str = "A") -> None:
    """RuntimeError unless a tensor holds square matrices; *name* begins the text."""
    begin = f"{name}: " if name else ""
    if len(x._s) < 2:
        raise RuntimeError(f"{begin}The input tensor {shown} must have at least 2 dimensions.")
    if x._s[-1] != x._s[-2]:
        raise RuntimeError(
            f"{begin}{shown} must be batches of square matrices, but they are {x._s[-2]} by "
            f"{x._s[-1]} matrices"
        )


def check_floating(name: str, x: Tensor) -> None:
    """RuntimeError for integers and truth values."""
    if x._k.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(x._k.dtype)}"
        )


def check_factored(kernel: str, x: Tensor) -> None:
    """NotImplementedError for the dtypes that nothing is factored in: integers and halves."""
    d = x._k.dtype
    if d.category < dtypes.FLOAT or d.to_real().itemsize < 4:
        raise not_implemented(kernel, x)


@autocasts("cpu float32")
def check_factored_inside(kernel: str, x: Tensor) -> None:
    """``check_factored`` for a composition in which autocast converts what is factored."""
    check_factored(kernel, x)


def check_precise(name: str, x: Tensor) -> None:
    """RuntimeError for integers and for the dtypes of half precision."""
    check_floating(name, x)
    if x._k.dtype.to_real().itemsize < 4:
        raise RuntimeError(
            f"{name}: Low precision dtypes not supported. Got {scalar_name(x._k.dtype)}"
        )


def raise_for(info: Tensor, text: Any, error: type[Exception] = LinAlgError) -> None:
    """The error for the first matrix of a batch whose info is not 0; waits for the device.

    *text* makes the message of "(Batch element 2): ", or nothing for a single matrix, and the info.
    """
    if not info._k.has_values:
        return
    found = every_value(info)
    if not np.count_nonzero(found):
        return
    index = int(np.flatnonzero(found)[0])
    raise error(
        text(f"(Batch element {index}): " if found.ndim else "", int(found.reshape(-1)[index]))
    )


def deprecated(old: str, new: str) -> None:
    """The warning of a function that has a newer name, with other arguments, in ``linalg``."""
    warn_user(
        f"torch.{old} is deprecated in favor of torch.{new.partition('(')[0]} and will be removed "
        f"in a future PyTorch release. Write torch.{new}."
    )

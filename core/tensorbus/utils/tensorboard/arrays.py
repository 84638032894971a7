"""What users log, as NumPy arrays: tensors of any device, arrays, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

import tensorbus

Array = np.ndarray[Any, np.dtype[Any]]


def make_np(x: Any) -> Array:
    """The values of a tensor, array or number; a number has one dimension of size 1.

    NotImplementedError for other objects.

    >>> import tensorbus as torch
    >>> from tensorbus.utils.tensorboard.arrays import make_np
    >>> make_np(torch.ones(2, requires_grad=True))
    array([1., 1.], dtype=float32)
    """
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, tensorbus.Tensor):
        x = x.detach().cpu()
        return (x.float() if x.dtype == tensorbus.bfloat16 else x).numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")

"""An overlay that was written for version 1 of the contract."""

import numpy as np

from tensorbus.plugin import OverlaySpec, float32, float64, hookimpl


def softmax(x, dim):
    if x.size == 0 or dim != x.ndim - 1:
        return NotImplemented  # the next overlay, or the backend, is asked
    r = np.subtract(x, x.max(axis=-1, keepdims=True))
    np.exp(r, out=r)
    r /= r.sum(axis=-1, keepdims=True)
    return r


@hookimpl
def tensorbus_overlay():
    return OverlaySpec(
        name="acme",
        backend="cpu",
        ops=("softmax",),
        kernel=lambda op, dtype, index: softmax,
        priority=10,
        supports=lambda op, dtype, index: dtype in (float32, float64),
        api=1,
    )

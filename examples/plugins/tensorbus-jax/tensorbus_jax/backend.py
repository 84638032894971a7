"""``JaxBackend``: what JAX does for flat arrays. Views, writes and shapes are the base class'."""

import jax
import jax.numpy as jnp
import numpy as np

from tensorbus import plugin
from tensorbus.plugin import Capabilities, OutOfMemoryError
from tensorbus.plugin.immutable_arrays import ImmutableArrayBackend
from tensorbus_jax import functions

jax.config.update("jax_enable_x64", True)  # without it int64 and float64 would be halved

DTYPES = {
    getattr(plugin, name): jnp.dtype(name)
    for name in (
        "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128"
    ).split()
}
# No primitives, and XLA's are wrong by tens of units, or flush results that are not subnormal.
INEXACT = {"asin", "cosh", "sinh", "exp2"}
HALVES = plugin.float16, plugin.bfloat16
WIDE = {plugin.int32: jnp.int64, plugin.int64: jnp.int64, plugin.float64: jnp.float64}


class JaxBackend(ImmutableArrayBackend):
    """JAX's default device."""

    name = "jax"
    xp = jnp
    dtypes = DTYPES
    tables = (functions.TABLE, *ImmutableArrayBackend.tables)

    def capabilities(self, index):
        details = {"jax": jax.__version__, "device": str(jax.devices()[0])}
        # XLA's CPU client sets the processor to flush.
        return Capabilities("JAX", frozenset(DTYPES), details={**details, "subnormals": "flush"})

    def capacity(self, n):
        # XLA compiles for each shape, which takes longer than running: so there are few shapes.
        if n <= 64:
            return 1 << (n - 1).bit_length() if n else 0
        step = 1 << (n.bit_length() - 3)
        return -(-n // step) * step

    def function(self, op, dtype):
        if op in INEXACT and not dtype.is_complex:
            return None  # then the frontend composes it
        return super().function(op, dtype)

    # -- arrays ------------------------------------------------------------------------------
    def array(self, values, dtype):
        if dtype is plugin.bfloat16:  # NumPy has none: its bits cross
            values = values.view(DTYPES[dtype])
        return jnp.asarray(values, DTYPES[dtype], copy=True)

    def host(self, array, dtype):
        values = np.asarray(array)
        return values.view(np.uint16) if dtype is plugin.bfloat16 else values

    def cast(self, array, dtype, new_dtype):
        if new_dtype in HALVES and dtype in WIDE:
            array, dtype = functions.to_odd(array.astype(WIDE[dtype])), plugin.float32
        return super().cast(array, dtype, new_dtype)

    def filled(self, n, value, dtype):
        try:
            return jnp.full(n, value, DTYPES[dtype])
        except RuntimeError as error:
            raise OutOfMemoryError(n * dtype.itemsize) from error

    def pick(self, array, index, fill):
        return functions.pick(array, index, fill)

    def placed(self, array, index, values, op):
        return functions.placed(array, index, values, op)

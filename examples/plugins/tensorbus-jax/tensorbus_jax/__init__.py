"""JAX arrays as the device type ``jax``.

tensorbus imports this module to learn what the plugin is; JAX is imported when the device is used.
"""

from tensorbus.plugin import Backend, BackendSpec, hookimpl


def probe() -> None:
    """Raise where the library is missing."""
    try:
        import jax  # noqa: F401
    except ImportError as e:
        raise RuntimeError("the library jax is not installed") from e


def load() -> Backend:
    """The backend."""
    from tensorbus_jax.backend import JaxBackend

    return JaxBackend()


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """What tensorbus knows of the backend before JAX is imported."""
    return BackendSpec("jax", load, probe, api=2, requires=("jax",), install="pip install jax")

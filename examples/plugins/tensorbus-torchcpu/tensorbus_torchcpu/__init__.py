"""PyTorch's CPU tensors as the device type ``torchcpu``.

tensorbus imports this module to learn what the plugin is; PyTorch is imported when the device is
used.
"""

from tensorbus.plugin import Backend, BackendSpec, hookimpl


def probe() -> None:
    """Raise where the vendor library is missing."""
    try:
        import torch  # noqa: F401
    except ImportError as e:
        raise RuntimeError("the library torch is not installed") from e


def load() -> Backend:
    """The backend."""
    from tensorbus_torchcpu.backend import TorchBackend

    return TorchBackend()


@hookimpl
def tensorbus_backend() -> BackendSpec:
    """What tensorbus knows of the backend before PyTorch is imported."""
    return BackendSpec(
        "torchcpu", load, probe, api=2, requires=("torch",), install="pip install torch"
    )

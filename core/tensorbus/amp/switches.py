"""``torch.is_autocast_enabled`` and the other functions by which autocast is asked and set."""

from __future__ import annotations

from tensorbus._base import dtypes
from tensorbus._base.public_place import show_in
from tensorbus._base.warning import warn_user
from tensorbus.amp.autocast_mode import checked_type
from tensorbus.op_engine.autocasting import dtype_of, settings, switch_autocast


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether ops on a type of device choose their dtype now; without one, on ``cuda``.

    >>> import tensorbus as torch
    >>> torch.is_autocast_enabled("cpu")
    False
    """
    if device_type is None:
        device_type = "cuda"
    return settings.enabled.get(checked_type(device_type), False)


def set_autocast_enabled(device_type: str | bool = "cuda", enabled: bool | None = None) -> None:
    """Switch autocast for a type of device, without a block; one value alone is for ``cuda``.

    >>> import tensorbus as torch
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type  # type: ignore[assignment]
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    switch_autocast(checked_type(device_type), enabled)


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The dtype of 16 bits that autocast uses on a type of device.

    >>> import tensorbus as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return dtype_of(checked_type(device_type))


def set_autocast_dtype(device_type: str, dtype: dtypes.dtype) -> None:
    """Set that dtype for this thread.

    >>> import tensorbus as torch
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")
    settings.dtypes[checked_type(device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether converted parameters are kept until autocast ends.

    >>> import tensorbus as torch
    >>> torch.is_autocast_cache_enabled()
    True
    """
    return settings.caching


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep converted parameters, or do not.

    >>> import tensorbus as torch
    >>> torch.set_autocast_cache_enabled(True)
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    settings.caching = enabled


def clear_autocast_cache() -> None:
    """Forget the converted parameters.

    >>> import tensorbus as torch
    >>> torch.clear_autocast_cache()
    """
    settings.cache.clear()


def autocast_increment_nesting() -> int:
    """Count a block of autocast more; how many there are.

    >>> import tensorbus as torch
    >>> torch.autocast_increment_nesting() - torch.autocast_decrement_nesting()
    1
    """
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting() -> int:
    """Count a block of autocast less; how many there are."""
    settings.nesting -= 1
    return settings.nesting


# -- the older spellings -----------------------------------------------------------------------
def _older(call: str, now: str) -> None:
    warn_user(f"torch.{call} is deprecated. Please use torch.{now} instead.", DeprecationWarning)


def is_autocast_cpu_enabled() -> bool:
    """The older spelling of ``is_autocast_enabled("cpu")``, which warns so."""
    _older("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The older spelling of ``set_autocast_enabled("cpu", enabled)``, which warns so."""
    _older("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtypes.dtype:
    """The older spelling of ``get_autocast_dtype("cpu")``, which warns so."""
    _older("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtypes.dtype) -> None:
    """The older spelling of ``set_autocast_dtype("cpu", dtype)``, which warns so."""
    _older("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtypes.dtype:
    """The older spelling of ``get_autocast_dtype("cuda")``, which warns so."""
    _older("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtypes.dtype) -> None:
    """The older spelling of ``set_autocast_dtype("cuda", dtype)``, which warns so."""
    _older("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


NAMES = (
    "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled", "is_autocast_cpu_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_cpu_dtype", "set_autocast_cpu_enabled",
    "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
)  # fmt: skip

show_in("tensorbus", [(name, globals()[name]) for name in NAMES])

"""``autocast``: blocks in which each op computes in the dtype that suits it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from tensorbus import accelerator, discovery
from tensorbus._base import dtypes
from tensorbus._base.device_types import OF_PYTORCH, WITHOUT_AUTOCAST
from tensorbus._base.leaving import Leaving
from tensorbus._base.warning import warn_user
from tensorbus._device.device import device as Device
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.autocasting import LOW, dtype_of, settings, switch_autocast

F = TypeVar("F", bound=Callable[..., Any])


def checked_type(device_type: Any) -> str:
    """The name of a type of device that is here or in PyTorch.

    ValueError for what is no str, RuntimeError for an unknown type.
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device_type if device_type in OF_PYTORCH else Device(device_type).type


def is_autocast_available(device_type: str) -> bool:
    """Whether there is automatic mixed precision for a type of device, be one here or not.

    There is for those that plugins bring and for all that PyTorch has it for; RuntimeError for an
    unknown type.

    >>> import tensorbus as torch
    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return checked_type(device_type) not in WITHOUT_AUTOCAST


class autocast(Leaving):
    """A block, or as a decorator a function, in which ops choose the dtype that they compute in.

    Matrix products and convolutions on devices of *device_type* compute in *dtype*: bfloat16 or
    float16, by default bfloat16 on the CPU and float16 elsewhere. Losses and other ops that need
    it compute in float32, and the others in the dtype of their operands; PyTorch's lists say
    which, one for the CPU and one for all other devices. float64 stays. Converted parameters are
    kept until the outermost block ends, unless *cache_enabled* is False. With ``enabled=False``
    nothing is converted inside. Backward passes belong outside of the block.

    A *dtype* that is neither is told in a warning, and so is a device that is not here; then
    nothing is converted. RuntimeError where the device lacks the dtype.

    >>> import tensorbus as torch
    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu", dtype=torch.float16):
    ...     (x @ x).dtype, (x + x).dtype
    (torch.float16, torch.float32)

    Source: https://pytorch.org/docs/stable/amp.html#torch.autocast
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ):
        self.device = checked_type(device_type)
        self.fast_dtype = dtype_of(self.device) if dtype is None else dtype
        self._cache_enabled = settings.caching if cache_enabled is None else bool(cache_enabled)
        self._enabled = bool(enabled) and self._possible()

    def _possible(self) -> bool:
        name = self.device.upper()
        if not accelerator.is_available(self.device):
            warn_user(f"{name} is not available. Disabling autocast.")
            return False
        if self.fast_dtype not in LOW:
            warn_user(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
            return False
        if self.fast_dtype not in discovery.backend(self.device).capabilities(0).dtypes:
            raise RuntimeError(
                f"Current {name} device does not support {self.fast_dtype}. Please switch dtype to "
                f"another of {', '.join(map(str, LOW))}."
            )
        return True

    def within(self, outer: Callable[[], None]) -> Generator[autocast, None, None]:
        device = self.device
        before = (
            settings.enabled.get(device, False), settings.dtypes.get(device), settings.caching,
            settings.nesting,
        )  # fmt: skip
        try:
            settings.nesting = before[3] + 1
            settings.caching = self._cache_enabled
            settings.dtypes[device] = self.fast_dtype
            switch_autocast(device, self._enabled)
            yield self
        finally:
            self.close = outer
            try:
                _set_back(device, *before)
            except BaseException:
                _set_back(device, *before)
                raise

    def __call__(self, func: F) -> F:
        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return call  # type: ignore[return-value]


def _set_back(
    device: str, enabled: bool, dtype: dtypes.dtype | None, caching: bool, nesting: int
) -> None:
    switch_autocast(device, enabled)
    if dtype is None:
        settings.dtypes.pop(device, None)
    else:
        settings.dtypes[device] = dtype
    settings.caching = caching
    settings.nesting = nesting
    if nesting == 0:
        settings.cache.clear()


# -- functions of users ----------------------------------------------------------------------
def _cast(value: Any, device: str, dtype: dtypes.dtype) -> Any:
    if isinstance(value, Tensor):
        k = value._k
        casts = k.device.type == device and k.is_float and k.dtype is not dtypes.float64
        return value.to(dtype) if casts else value
    if isinstance(value, dict):
        return {_cast(k, device, dtype): _cast(v, device, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        made = [_cast(each, device, dtype) for each in value]
        return getattr(type(value), "_make", type(value))(made)
    return value


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: dtypes.dtype | None = None,
) -> Any:
    """A decorator for ``forward`` of an ``autograd.Function``: how it computes under autocast.

    Without *cast_inputs* as it is called; with it floating point tensors on *device_type* are
    converted, and what runs inside is not. Put ``custom_bwd`` before its ``backward``.

    >>> import tensorbus as torch
    >>> class Product(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x, y):
    ...         return x @ y
    ...
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g, g
    >>> x = torch.ones(2, 2, dtype=torch.float16)
    >>> with torch.autocast("cpu", dtype=torch.float16):
    ...     Product.apply(x, x).dtype
    torch.float32
    """
    device = checked_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def call(*args: Any, **kwargs: Any) -> Any:
        ctx, on = args[0], settings.enabled.get(device, False)
        ctx._dtype = dtype_of(device)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(*args, **kwargs)
        args, kwargs = _cast(args, device, cast_inputs), _cast(kwargs, device, cast_inputs)
        with autocast(device, enabled=False):
            return fwd(*args, **kwargs)

    return call


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """A decorator for ``backward`` of an ``autograd.Function``: under autocast as its forward was.

    It belongs to ``custom_fwd``, which has an example.

    >>> import tensorbus as torch
    >>> torch.amp.custom_bwd(device_type="cpu")(lambda ctx, g: g).__name__
    '<lambda>'
    """
    device = checked_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def call(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return call

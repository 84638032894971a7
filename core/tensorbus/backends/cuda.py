"""``torch.backends.cuda``: what programs ask and set about products and attention on ``cuda``.

The settings are kept and change no result.

>>> import tensorbus
>>> tensorbus.backends.cuda.matmul.allow_tf32
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorbus import discovery
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.matmul_precision import (
    get_float32_matmul_precision,
    set_float32_matmul_precision,
)
from tensorbus._base.page import show_pages as _show_pages
from tensorbus.backends._flags import Flag

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
]


class _Matmul:
    """``torch.backends.cuda.matmul``."""

    __slots__ = ()
    allow_fp16_reduced_precision_reduction = Flag(True)
    allow_bf16_reduced_precision_reduction = Flag(True)
    allow_fp16_accumulation = Flag(False)

    @property
    def allow_tf32(self) -> bool:
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"allow_tf32 expects a bool, but got {type(value).__name__}")
        set_float32_matmul_precision("high" if value else "highest")


matmul = _Matmul()


class _Attention:
    """Which ways of computing attention a program allows."""

    flash = Flag(True)
    math = Flag(True)
    mem_efficient = Flag(True)
    cudnn = Flag(True)


_attention = _Attention()


def is_built() -> bool:
    """Whether a backend for devices of type ``cuda`` is installed; it may find no device."""
    return "cuda" in discovery.backend_names()


def is_flash_attention_available() -> bool:
    """Whether there is a kernel of its own for flash attention: False."""
    return False


def flash_sdp_enabled() -> bool:
    """What ``enable_flash_sdp`` was last told; True before."""
    return bool(_attention.flash)


def enable_flash_sdp(enabled: bool) -> None:
    """Keep whether flash attention is allowed; RuntimeError for no bool."""
    _attention.flash = enabled


def math_sdp_enabled() -> bool:
    """What ``enable_math_sdp`` was last told; True before."""
    return bool(_attention.math)


def enable_math_sdp(enabled: bool) -> None:
    """Keep whether attention by plain products is allowed; RuntimeError for no bool."""
    _attention.math = enabled


def mem_efficient_sdp_enabled() -> bool:
    """What ``enable_mem_efficient_sdp`` was last told; True before."""
    return bool(_attention.mem_efficient)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep whether memory-efficient attention is allowed; RuntimeError for no bool."""
    _attention.mem_efficient = enabled


def cudnn_sdp_enabled() -> bool:
    """What ``enable_cudnn_sdp`` was last told; True before."""
    return bool(_attention.cudnn)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep whether attention by cuDNN is allowed; RuntimeError for no bool."""
    _attention.cudnn = enabled


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__: Any = _attributes(__name__)

"""``torch.backends.cuda``: what programs ask and set about products and attention on ``cuda``.

The settings are kept and change no result.

>>> import tensorbus
>>> tensorbus.backends.cuda.matmul.allow_tf32
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tensorbus import discovery
from tensorbus._base.absent import attributes as _attributes
from tensorbus._base.attention_ways import WAYS
from tensorbus._base.matmul_precision import (
    get_float32_matmul_precision,
    set_float32_matmul_precision,
)
from tensorbus._base.page import show_pages as _show_pages
from tensorbus._base.warning import warn_user
from tensorbus.backends._flags import Flag, Precision, Setting

__all__ = [
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]


class _Matmul(Setting):
    """``torch.backends.cuda.matmul``."""

    __slots__ = ()
    fp32_precision = Precision("ieee", "tf32")
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
_KEPT = {"sums of 16 bits": False}
_LIBRARIES = dict.fromkeys(("linalg", "blas", "attention"), "default")


def _allow(name: str, allowed: bool) -> None:
    if not isinstance(allowed, bool):
        raise RuntimeError(f"set_sdp_use_{name} expects a bool, but got {type(allowed).__name__}")
    (WAYS.allowed.add if allowed else WAYS.allowed.discard)(name)


def is_built() -> bool:
    """Whether a backend for devices of type ``cuda`` is installed; it may find no device."""
    return "cuda" in discovery.backend_names()


def is_flash_attention_available() -> bool:
    """Whether there is a kernel of its own for flash attention: False."""
    return False


def flash_sdp_enabled() -> bool:
    """What ``enable_flash_sdp`` was last told; True before."""
    return "flash" in WAYS.allowed


def enable_flash_sdp(enabled: bool) -> None:
    """Keep whether flash attention is allowed; RuntimeError for no bool."""
    _allow("flash", enabled)


def math_sdp_enabled() -> bool:
    """What ``enable_math_sdp`` was last told; True before."""
    return "math" in WAYS.allowed


def enable_math_sdp(enabled: bool) -> None:
    """Keep whether attention by plain products is allowed; RuntimeError for no bool."""
    _allow("math", enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What ``enable_mem_efficient_sdp`` was last told; True before."""
    return "mem_efficient" in WAYS.allowed


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep whether memory-efficient attention is allowed; RuntimeError for no bool."""
    _allow("mem_efficient", enabled)


def cudnn_sdp_enabled() -> bool:
    """What ``enable_cudnn_sdp`` was last told; True before."""
    return "cudnn" in WAYS.allowed


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep whether attention by cuDNN is allowed; RuntimeError for no bool."""
    _allow("cudnn", enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What ``allow_fp16_bf16_reduction_math_sdp`` was last told; False before."""
    return _KEPT["sums of 16 bits"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Keep whether attention may add in 16 bits; it never does. RuntimeError for no bool."""
    if not isinstance(enabled, bool):
        raise RuntimeError(
            f"set_sdp_allow_reduction expects a bool, but got {type(enabled).__name__}"
        )
    _KEPT["sums of 16 bits"] = enabled


class SDPAParams(NamedTuple):
    """What ``can_use_flash_attention`` and the others are asked about: a call of attention.

    >>> import tensorbus
    >>> x = tensorbus.ones(1, 1, 2, 4)
    >>> params = tensorbus.backends.cuda.SDPAParams(x, x, x, None, 0.0, False, False)
    >>> tensorbus.backends.cuda.can_use_flash_attention(params)
    False
    """

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether a kernel of its own for flash attention would compute this: False."""
    return False


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether a kernel of its own for memory-efficient attention would compute this: False."""
    return False


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether cuDNN would compute this attention: False."""
    return False


def _preferred(of: str, backend: str | None) -> str:
    if backend is not None:
        if not isinstance(backend, str):
            raise RuntimeError(f"backend expects a str, but got {type(backend).__name__}")
        _LIBRARIES[of] = backend
    return _LIBRARIES[of]


def preferred_linalg_library(backend: str | None = None) -> str:
    """Keep which library shall factor matrices, and return what was kept; "default" before."""
    return _preferred("linalg", backend)


def preferred_blas_library(backend: str | None = None) -> str:
    """Keep which library shall multiply matrices, and return what was kept; "default" before."""
    return _preferred("blas", backend)


def preferred_rocm_fa_library(backend: str | None = None) -> str:
    """Keep which library shall compute attention, and return what was kept; "default" before."""
    return _preferred("attention", backend)


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Any:
    """The older form of ``torch.nn.attention.sdpa_kernel``: a context; it warns."""
    from tensorbus.nn.attention import SDPBackend, sdpa_kernel

    warn_user(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
    )
    chosen = {
        SDPBackend.FLASH_ATTENTION: enable_flash,
        SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math,
        SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }
    return sdpa_kernel([way for way, enabled in chosen.items() if enabled])


_show_pages(__name__, [(_n, globals()[_n]) for _n in __all__])

if not TYPE_CHECKING:
    __getattr__: Any = _attributes(__name__)

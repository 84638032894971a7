"""Window functions against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorbus_conformance import formats
from tensorbus_conformance.op import DEVICE, DTYPE, FLOATING, E, ErrorSample, Op, S

_HERE = {"dtype": DTYPE, "device": DEVICE}


def _op(name: str, reference: Callable[..., Any], samples: list[Any], **fields: Any) -> Op:
    return Op(
        name,
        reference,
        samples,
        ulp=4,
        scale=lambda *args, **given: np.maximum(np.abs(reference(*args, **given)), 1.0),
        family="create",
        gradient=False,
        **fields,
    )


def _window(name: str, reference: Callable[..., Any], *more: Any) -> Op:
    """``torch.NAME_window``: a period by default."""

    def expected(window_length: int, periodic: bool = True, *args: Any, **given: Any) -> Any:
        named = {k: v for k, v in given.items() if k not in ("dtype", "device")}
        return reference(window_length, *args, sym=not periodic, **named)

    negative = f"{name}_window requires non-negative window_length, got window_length=-1"
    return _op(
        f"{name}_window",
        expected,
        [
            S("period", 9, **_HERE),
            S("whole", 8, False, **_HERE),
            S("keyword", window_length=5, periodic=False, **_HERE),
            *(S(variant, n, **_HERE) for variant, n in (("one", 1), ("two", 2), ("empty", 0))),
            *more,
        ],
        dtypes=FLOATING,
        errors=[
            E("negative", RuntimeError, negative, -1, device=DEVICE),
            ErrorSample(
                "dtype",
                (3,),
                _HERE,
                RuntimeError,
                f"{name}_window expects floating point dtypes, got: Long",
                formats.INT64,
            ),
        ],
    )


def _hamming(n: int, alpha: float = 0.54, beta: float = 0.46, *, sym: bool) -> Any:
    if n < 2:
        return np.ones(n)
    return alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1 if sym else n))


def _scipys(name: str) -> Callable[..., Any]:
    """SciPy's window; its package, which takes most of a second, is imported when it is called."""

    def window(*args: Any, **options: Any) -> Any:
        from scipy.signal import windows

        return getattr(windows, name)(*args, **options)

    return window


def _kaiser(n: int, beta: float = 12.0, *, sym: bool) -> Any:
    return _scipys("kaiser")(n, beta, sym=sym)


def _signal(name: str, reference: Callable[..., Any] | None = None, **options: Any) -> Op:
    """``torch.signal.windows.NAME``: whole by default."""
    plain = reference or _scipys(name)

    def expected(M: int, **given: Any) -> Any:
        named = {k: v for k, v in given.items() if k not in ("dtype", "device")}
        return plain(M, **{"sym": True, **named})

    return _op(
        f"signal.windows.{name}",
        expected,
        [
            S("whole", 8, **options, **_HERE),
            S("odd", 7, **options, **_HERE),
            S("period", 9, sym=False, **options, **_HERE),
            *(S(v, n, **options, **_HERE) for v, n in (("one", 1), ("two", 2), ("empty", 0))),
        ],
        dtypes=(formats.FLOAT32, formats.FLOAT64),
        errors=[
            E(
                "negative",
                ValueError,
                f"{name} requires non-negative window length, got M=-1",
                -1,
                **options,
            ),
            ErrorSample(
                "half",
                (3,),
                {**options, **_HERE},
                ValueError,
                f"{name} expects float32 or float64 dtypes, got: torch.float16",
                formats.FLOAT16,
            ),
        ],
    )


OPS = [
    _window("hann", _scipys("hann")),
    _window(
        "hamming",
        _hamming,
        S("weights", 6, True, 0.5, 0.4, **_HERE),
        S("alpha", 6, False, alpha=0.6, **_HERE),
    ),
    _window("bartlett", _scipys("bartlett")),
    _window("blackman", _scipys("blackman")),
    _window(
        "kaiser",
        _kaiser,
        S("shape", 6, True, 3.0, **_HERE),
        S("flat", 6, False, beta=0.0, **_HERE),
    ),
    *(_signal(name) for name in ("bartlett", "blackman", "cosine", "hamming", "hann", "nuttall")),
    _signal("exponential", _scipys("exponential"), tau=2.5),
    _signal("gaussian", _scipys("gaussian"), std=1.75),
    _signal("general_cosine", a=[0.5, 0.3, 0.2]),
    _signal("general_hamming", alpha=0.625),
    _signal("kaiser", beta=7.5),
]

"""How tensors print: PyTorch's text, from values read on the host."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tensorbus._base import dtypes
from tensorbus._base.leaving import block
from tensorbus._base.modes import RARE
from tensorbus._dispatch.batching import levels_of
from tensorbus._tensor.tensor import Tensor
from tensorbus.op_engine.parameter import Parameter


@dataclass(frozen=True)
class PrintOptions:
    """What ``set_printoptions`` sets; replaced as a whole, so that readers see one state."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; what is left out stays, but *sci_mode* goes back to automatic.

    *precision* is the number of digits after the point, *threshold* the number of elements above
    which only *edgeitems* at each end of a dimension are shown, *linewidth* the columns of a line,
    *profile* one of ``"default"``, ``"short"``, ``"full"``. ValueError for any other profile.

    >>> import tensorbus
    >>> tensorbus.set_printoptions(precision=2)
    >>> tensorbus.tensor([1.12345])
    tensor([1.12])
    >>> tensorbus.set_printoptions(profile="default")
    """
    global _options
    base = _options
    if profile is not None:
        try:
            base = _PROFILES[profile]
        except KeyError:
            raise ValueError(
                f"set_printoptions(): unknown profile {profile!r}; use one of {sorted(_PROFILES)}"
            ) from None
    given: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    given = {name: value for name, value in given.items() if value is not None}
    _options = replace(base, sci_mode=sci_mode, **given)


def get_printoptions() -> dict[str, Any]:
    """The printing options in force, as a dict.

    >>> import tensorbus
    >>> tensorbus.get_printoptions()["precision"]
    4
    """
    return asdict(_options)


@block
def printoptions(**options: Any) -> Generator[None, None, None]:
    """Printing options for the length of a ``with`` block; the arguments of set_printoptions."""
    global _options
    before = _options
    try:
        set_printoptions(**options)
        yield
    finally:
        _options = before


class _RealFormat:
    """One number format and width for all the real numbers of a tensor.

    PyTorch takes the widths from the non-zero finite values alone; nan and inf do not count.
    """

    __slots__ = ("precision", "style", "width")

    def __init__(self, values: np.ndarray, options: PrintOptions):
        self.precision = options.precision
        self.style = "int"
        self.width = 1
        kept = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        if not kept.size:
            return
        sizes = np.abs(kept)
        low, high = float(sizes.min()), float(sizes.max())
        sci = options.sci_mode
        if sci is None:
            sci = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
        if sci:
            self.style = "sci"
        elif not (kept == np.ceil(kept)).all():
            self.style = "fixed"
        self.width = max(len(self._text(value)) for value in kept.tolist())

    def _text(self, value: float) -> str:
        if self.style == "sci":
            return f"{value:.{self.precision}e}"
        if self.style == "fixed":
            return f"{value:.{self.precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def __call__(self, value: float) -> str:
        return self._text(value).rjust(self.width)


class _ComplexFormat:
    """Real and imaginary parts, each in a format of its own."""

    __slots__ = ("imag", "real", "width")

    def __init__(self, values: np.ndarray, options: PrintOptions):
        self.real = _RealFormat(values.real, options)
        self.imag = _RealFormat(values.imag, options)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return f"{self.real(value.real)}{sign}{imag}j"


class _PlainFormat:
    """Integers and truth values, as Python writes them."""

    __slots__ = ("width",)

    def __init__(self, values: np.ndarray):
        self.width = max(1, *(len(str(value)) for value in values.ravel().tolist()))

    def __call__(self, value: int) -> str:
        return str(value).rjust(self.width)


def _host_array(t: Any) -> np.ndarray:
    """The values of *t* as NumPy has them; narrow dtypes are widened, which is exact."""
    if t.dtype.is_floating_point and t.dtype.itemsize < 4:
        t = t.float()
    t = t.to(t.dtype.widened())
    return t.cpu().numpy()


def _edges(t: Any, edgeitems: int) -> np.ndarray:
    """The elements within *edgeitems* of both ends of each dimension, as one host array.

    Only they are read: printing a large tensor of another device must not copy all of it.
    """
    parts: list[list[tuple[slice, slice]]] = []
    shape = []
    for size in t.shape:
        if size > 2 * edgeitems:
            first = slice(0, edgeitems)
            parts.append([(first, first), (slice(edgeitems, None), slice(size - edgeitems, size))])
            shape.append(2 * edgeitems)
        else:
            parts.append([(slice(None), slice(None))])
            shape.append(size)
    out: np.ndarray | None = None
    for corner in itertools.product(*parts):
        values = _host_array(t[tuple(source for _, source in corner)])
        if out is None:
            out = np.empty(shape, values.dtype)
        out[tuple(target for target, _ in corner)] = values
    return np.empty(shape) if out is None else out


def _rows(values: Any, shape: tuple[int, ...], cut: int | None, indent: int, fmt: Any) -> str:
    """Nested lists as text. *cut*: edge items of dimensions longer than twice that, or None."""
    if not shape:
        return fmt(values)
    cut_here = cut is not None and shape[0] > 2 * cut
    gap = cut or 0
    if len(shape) == 1:
        items = [fmt(value) for value in values]
        if cut_here:
            items.insert(gap, " ...")
        per_line = max(1, (_options.linewidth - indent) // (fmt.width + 2))
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + f",\n{' ' * (indent + 1)}".join(lines) + "]"
    slices = [_rows(value, shape[1:], cut, indent + 1, fmt) for value in values]
    if cut_here:
        slices.insert(gap, "...")
    return "[" + f",{chr(10) * (len(shape) - 1)}{' ' * (indent + 1)}".join(slices) + "]"


def contents(t: Any, indent: int) -> str:
    """The bracketed values of a tensor that is not empty."""
    options = _options
    cut = options.edgeitems if t.numel() > options.threshold else None
    if cut == 0 and t.dim():
        return "[...]"
    values = _host_array(t) if cut is None else _edges(t, cut)
    fmt: _RealFormat | _ComplexFormat | _PlainFormat
    if t.dtype.is_complex:
        fmt = _ComplexFormat(values, options)
    elif t.dtype.is_floating_point:
        fmt = _RealFormat(values, options)
    else:
        fmt = _PlainFormat(values)
    return _rows(values.tolist(), tuple(t.shape), cut, indent, fmt)


def tensor_str(t: Any) -> str:
    """The text of ``repr(t)``, as PyTorch prints it.

    Values, or ``...`` where the device has none; then the device when it is not ``cpu``, the size
    of an empty tensor that is not 1-d, or of one without values, the dtype when the values do not
    say it, ``grad_fn`` or ``requires_grad``, and a tangent.
    """
    if t._k.inner is not None:
        return _batch_str(t)
    default = dtypes.get_default_dtype()
    kind = type(t)
    prefix = "tensor(" if kind in (Tensor, Parameter) else f"{kind.__name__}("
    data = t.detach()
    suffixes = []
    if t.device.type != "cpu":
        suffixes.append(f"device='{t.device}'")
    if not t._k.has_values:
        shown = "..."
        suffixes.append(f"size={tuple(t.shape)}")
        implied = t.dtype is default
    elif t.numel() == 0:
        shown = "[]"
        if t.dim() != 1:
            suffixes.append(f"size={tuple(t.shape)}")
        implied = t.dtype is default
    else:
        shown = contents(data, len(prefix))
        if not _options.edgeitems:
            suffixes.append(f"size={tuple(t.shape)}")
        implied = t.dtype in (default, default.to_complex(), dtypes.int64, dtypes.bool)
    if not implied:
        suffixes.append(f"dtype={t.dtype}")
    try:
        made = t.grad_fn
    except RuntimeError:  # a view whose base was written to in a way that cuts its history
        suffixes.append("grad_fn=<Invalid>")
    else:
        if made is not None:
            suffixes.append(f"grad_fn=<{type(made).__name__}>")
        elif t.requires_grad:
            suffixes.append("requires_grad=True")
    if RARE.on and (tangent := _tangent(t)) is not None:
        suffixes.append(f"tangent={tangent}")
    text = with_suffixes(prefix + shown, suffixes, len(prefix))
    if not isinstance(t, Parameter):
        return text
    return (
        f"Parameter containing:\n{text}" if issubclass(type(t), Parameter) else f"Parameter({text})"
    )


def _tangent(t: Tensor) -> Tensor | None:
    from tensorbus.autograd import forward_ad  # here: most programs have no tangents

    return forward_ad.unpack_dual(t).tangent


def _batch_str(t: Any) -> str:
    """The text of a tensor inside ``vmap``: all elements of the batch."""
    from tensorbus._tensor.tensor import from_array

    inner = from_array(t._k.inner.clone(t._a.array), t._k.inner)
    values = tensor_str(inner).replace("\n", "\n    ")
    level = len(levels_of(t._k.device))
    return f"BatchedTensor(lvl={level}, bdim=0, value=\n    {values}\n)"


def with_suffixes(text: str, suffixes: list[str], indent: int, new_line: bool = False) -> str:
    """Append the keyword parts, each on a new line where the current one would get too long.

    The first stands on one anyway where *new_line* says so.
    """
    column = _options.linewidth if new_line else len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > _options.linewidth:
            text += f",\n{' ' * indent}{suffix}"
            column = indent + len(suffix)
        else:
            text += f", {suffix}"
            column += len(suffix) + 2
    return text + ")"


class _Current:
    """The options of now, as attributes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_options, name)


# PyTorch's names of these, which libraries call.
PRINT_OPTS = _Current()
_tensor_str = contents
_add_suffixes = with_suffixes

"""The suite's references, dtype rules and error texts beside PyTorch's own.

What differs on purpose is in ``OTHERWISE``, with the reason, in ``TEXTS`` where errors alone differ
and in ``FURTHER`` where our text goes on after PyTorch's; a difference that is not there is a
mistake of the suite, or of the library that passes it.
"""

from __future__ import annotations

import operator
import re
import warnings
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, flatten
from tensorbus_conformance.op import Op, Sample, wide
from tensorbus_conformance.samples import all_ops

DTYPES = (formats.FLOAT64, formats.INT64, formats.UINT8, formats.BOOL, formats.COMPLEX64)

TIES = "PyTorch's order of equal elements is unspecified; ours is stable"
NAN = "the places of NaN differ from PyTorch's, which are unspecified"
DIGITS = "PyTorch has 6 to 10 digits here; beside mpmath the suite's reference has 15"
INFINITE = "PyTorch computes NaN at infinity, where the function has a limit"
NO_SIGNALS = "oneMKL refuses an empty batch; PyTorch on other devices has an empty result"
OTHERWISE: dict[tuple[str, str], str] = {
    ("sort", "*"): TIES,
    ("argsort", "*"): TIES,
    ("topk", "*"): TIES,
    ("kthvalue", "*"): TIES,
    ("mode", "long"): TIES,
    ("nanmedian", "nan"): NAN,
    ("searchsorted", "nan*"): NAN,
    ("bucketize", "nan*"): NAN,
    ("var_mean", "infinite"): "the mean is infinite; PyTorch's one-pass mean is NaN",
    ("std_mean", "infinite"): "the mean is infinite; PyTorch's one-pass mean is NaN",
    ("trapezoid", "points*"): "distances of uint8 do not wrap",
    ("cumulative_trapezoid", "points*"): "distances of uint8 do not wrap",
    ("nn.functional.pad", "circular-left"): "PyTorch says that the memory it copies overlaps",
    ("nn.functional.pixel_unshuffle", "empty"): "PyTorch leaves an empty tensor's shape as it was",
    ("nn.functional.pad", "re*"): "truth values are padded in every mode",
    ("view_as_complex", "empty"): "an empty tensor has no strides to refuse",
    ("logsumexp", "no-dims"): "an empty list of dimensions means all, as in the other reductions",
    ("searchsorted", "values-keyword"): "the argument has its documented name",
    ("atan2", "number"): "numbers are taken",
    ("atan2", "fraction"): "numbers are taken",
    ("Tensor.to", "number"): "an argument that is none of the documented ones is refused",
    ("take_along_dim", "beyond"): "indices out of range are always an error",
    ("take_along_dim", "into-nothing"): "PyTorch divides by the size 0, and says so",
    ("zeros", "keyword"): "the unknown keyword is named",
    ("ones", "keyword"): "the unknown keyword is named",
    ("masked_scatter", "*"): "the numbers are told",
    ("norm", "*dtype*"): "PyTorch's binding takes the fifth argument for out",
    ("norm", "narrowing"): "PyTorch's binding takes the fifth argument for out",
    ("nanmedian", "empty-*"): "the function is named, not the one it is made of",
    ("repeat_interleave", "floats"): "the text of PyTorch's other overload says what is wanted",
    ("meshgrid", "rank"): "the shape is told instead of the values",
    ("sign", "complex"): "the text is that of every op without complex numbers",
    ("dropout", "p"): "the same exception as nn.functional.dropout's",
    ("cummax", "dim-scalar"): "the text of every dimension out of range",
    ("cummin", "dim-scalar"): "the text of every dimension out of range",
    ("index_select", "empty"): "an index into nothing is out of range, as any other",
    ("index_fill", "empty"): "an index into nothing is out of range, as any other",
    ("nn.functional.conv2d", "weight-dtype"): "the text is that of PyTorch's other devices",
    ("nn.functional.conv_transpose2d", "weight-dtype"): "that of PyTorch's other devices",
    ("unflatten", "two-inferred"): "PyTorch's own second line",
    ("unflatten", "scalar"): "PyTorch's own second line",
    ("special.bessel_j0", "from-*"): DIGITS,
    ("special.bessel_j1", "from-*"): DIGITS,
    ("special.bessel_y0", "from-1"): DIGITS,
    ("special.bessel_y1", "from-*"): DIGITS,
    ("special.airy_ai", "from--6"): DIGITS,
    ("igammac", "uniform"): DIGITS,
    ("special.bessel_j0", "ends"): INFINITE,
    ("special.bessel_j1", "ends"): INFINITE,
    ("special.bessel_y0", "ends"): INFINITE,
    ("special.bessel_y1", "ends"): INFINITE,
    ("i0", "ends"): INFINITE,
    ("i0", "negative"): INFINITE,
    ("special.i1", "ends"): INFINITE,
    ("special.i1", "negative"): INFINITE,
    ("special.modified_bessel_i0", "ends"): INFINITE,
    ("special.modified_bessel_i0", "negative"): INFINITE,
    ("special.modified_bessel_i1", "ends"): INFINITE,
    ("special.modified_bessel_i1", "negative"): INFINITE,
    ("linalg.lstsq", "rcond"): "PyTorch's ranks hang on memory that it does not write",
    ("linalg.ldl_solve", "half-block"): "PyTorch writes beyond its memory",
    ("fft.fft", "none"): NO_SIGNALS,
    ("fft.ifft", "none"): NO_SIGNALS,
    ("fft.rfft", "none"): NO_SIGNALS,
    ("fft.irfft", "none"): NO_SIGNALS,
    ("fft.hfft", "none"): NO_SIGNALS,
    ("fft.ihfft", "none"): NO_SIGNALS,
}

OTHERWISE |= {
    (name, "*"): "PyTorch has removed it; here it works and warns"
    for name in ("symeig*", "eig", "solve", "lstsq", "matrix_rank")
}

NAMED = "the function is named, not the one it is made of"
DTYPE = "the dtype alone is told, not PyTorch's other options"
COUNT = "what LAPACK counts differs between its ways, with vectors and without"
LAPACK = "PyTorch reports a bug in itself for what LAPACK refuses"
PRECISION = "the function and the dtype are named, as the other functions do"
FINITE = "values that are not finite are an error on every device, as in linalg.svd"
TEXTS: dict[tuple[str, str], str] = {
    ("nanquantile", "range"): NAMED,
    ("nanquantile", "integers"): NAMED,
    ("nanquantile", "nothing"): NAMED,
    ("fft.ihfft2", "complex"): NAMED,
    ("fft.ihfftn", "complex"): NAMED,
    ("signal.windows.hamming", "negative"): NAMED,
    ("signal.windows.hamming", "half"): NAMED,
    ("signal.windows.hann", "negative"): NAMED,
    ("signal.windows.hann", "half"): NAMED,
    ("signal.windows.nuttall", "negative"): NAMED,
    ("signal.windows.nuttall", "half"): NAMED,
    ("signal.windows.general_hamming", "negative"): NAMED,
    ("signal.windows.general_hamming", "half"): NAMED,
    ("hann_window", "dtype"): DTYPE,
    ("hamming_window", "dtype"): DTYPE,
    ("bartlett_window", "dtype"): DTYPE,
    ("blackman_window", "dtype"): DTYPE,
    ("kaiser_window", "dtype"): DTYPE,
    ("nn.functional.embedding_bag", "index"): "PyTorch's float32 sums and means have another text",
    ("linalg.lu_factor", "pivot"): "the text is the same on every device, and says what to write",
    ("linalg.eigvalsh", "nan"): COUNT,
    ("linalg.eigvalsh", "batch"): COUNT,
    ("linalg.ldl_factor_ex", "checked"): LAPACK,
    ("linalg.lstsq", "nan"): LAPACK,
    ("linalg.lstsq", "half"): PRECISION,
    ("linalg.matrix_rank", "half"): PRECISION,
    ("linalg.svdvals", "infinite"): FINITE,
    ("linalg.svdvals", "batch"): FINITE,
}
"""Errors that differ on purpose; the samples of the same names are compared."""
FURTHER: dict[tuple[str, str], str] = {
    ("fft.*", "norm"): "the modes that there are",
    ("fft.*", "half"): "the dtypes that there are",
}
"""What our texts say after PyTorch's whole text."""

_OUTSIDE = re.compile(r"ind(ex|ices).* out of|out of range: tried to access", re.I)


def known(op: str, variant: str, table: dict[tuple[str, str], str] = OTHERWISE) -> bool:
    """Whether a difference is there on purpose."""
    return any(fnmatchcase(op, name) and fnmatchcase(variant, glob) for name, glob in table)


def theirs(torch: Any, name: str) -> Any:
    try:
        return operator.attrgetter(name)(torch)
    except AttributeError:
        return None


def their_class(torch: Any, error: type[Exception]) -> Any:
    """The exception class that PyTorch has where tensorbus shows this one."""
    room, _, shown = f"{error.__module__}.{error.__qualname__}".partition(".")
    return theirs(torch, shown) if room == "tensorbus" else error


def translated(torch: Any, value: Any) -> Any:
    return getattr(torch, value.name) if isinstance(value, tensorbus.dtype) else value


def call(torch: Any, op: Op, sample: Sample, d: Any) -> tuple[Any, list[np.ndarray]]:
    """PyTorch's results for a sample, and the operands as the reference gets them."""
    hosts: list[np.ndarray] = []

    def make(t: Any) -> Any:
        kind = t.dtype or d
        host = t.make(d, op.name, sample.variant, len(hosts))
        hosts.append(wide(host, kind))
        return torch.from_numpy(np.array(host)).to(getattr(torch, kind.name))

    args, kwargs = sample.replace(make, dtype=getattr(torch, d.name), device="cpu")
    given = {k: translated(torch, v) for k, v in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        positional = [translated(torch, v) for v in args]
        return theirs(torch, op.name)(*positional, **given), hosts


def shared(torch: Any) -> list[Op]:
    """The ops that PyTorch has by the same name."""
    return [op for op in all_ops() if op.call is None and theirs(torch, op.name) is not None]


def different(torch: Any, op: Op, sample: Sample, d: Any) -> str | None:
    """What PyTorch's results for a sample have that the suite would not accept."""
    try:
        results, hosts = call(torch, op, sample, d)
    except Exception as error:
        return f"raises {type(error).__name__}: {str(error)[:100]}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = flatten(Bench.reference(op, sample, hosts))
    found = [results] if isinstance(results, torch.Size) else flatten(results)
    if len(found) != len(expected):
        return f"gives {len(found)} results, expected {len(expected)}"
    for g, w, kind in zip(found, expected, op.result_dtypes(d, len(expected)), strict=True):
        if not isinstance(w, (np.ndarray, np.generic)):
            continue
        if g.dtype is not getattr(torch, kind.name) or tuple(g.shape) != np.shape(w):
            return f"gives {g.dtype}{list(g.shape)}, expected {kind.name}{list(np.shape(w))}"
        values = g.detach().resolve_conj().resolve_neg().numpy()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = np.asarray(w).astype(values.dtype)
        exact = values.dtype.kind in "iub"
        close = 0 if exact else 1e-9 if kind is formats.FLOAT64 else 2e-5
        # PyTorch's transforms of float32 round at the magnitude of the largest result.
        rounded = op.family == "fft" and kind in (formats.FLOAT32, formats.COMPLEX64)
        largest = max(1.0, np.abs(wanted).max(initial=0.0)) if rounded else 1.0
        if not np.allclose(values, wanted, rtol=close, atol=close / 100 * largest, equal_nan=True):
            return f"gives {values.reshape(-1)[:4]}..., expected {wanted.reshape(-1)[:4]}..."
    return None


@pytest.mark.parametrize("part", range(2))
def test_references_and_dtypes_are_pytorchs(part: int, live_torch: Any) -> None:
    wrong = []
    for op in shared(live_torch)[part::2]:
        for d in (x for x in DTYPES if x in op.dtypes):
            for sample in op.samples:
                if sample.takes(d) and not known(op.name, sample.variant):
                    text = different(live_torch, op, sample, d)
                    if text:
                        wrong.append(f"{op.name} of {d.name}, {sample.variant}: PyTorch {text}")
    assert not wrong, "\n".join(wrong)


def plain(text: str) -> str:
    """A message without the name of the kernel: ``"exp_vml_cpu" not implemented for ...``."""
    return re.sub(r'^"\w+" not implemented', '"" not implemented', text)


def test_error_texts_are_pytorchs(live_torch: Any) -> None:
    wrong = []
    for op in shared(live_torch):
        for error in op.errors:
            if known(op.name, error.variant) or known(op.name, error.variant, TEXTS):
                continue
            expected = their_class(live_torch, error.error)
            said = f"{op.name}, {error.variant}: PyTorch"
            try:
                call(live_torch, op, Sample(error.variant, error.args, error.kwargs), error.dtype)
            except Exception as raised:
                first = str(raised).partition("\n")[0]
                if "received an invalid combination of arguments" in first:
                    continue  # a list of signatures, which say less than our own words
                if _OUTSIDE.search(first) and issubclass(error.error, IndexError):
                    continue  # each function has words of its own; ours are the same everywhere
                if "not implemented for" in first and plain(first).split(" on ")[0] in plain(
                    error.text.replace("\\", "")
                ):
                    continue
                further = known(op.name, error.variant, FURTHER)
                ours = error.text.replace("\\", "")
                same = re.fullmatch(error.text, first) or (further and ours.startswith(first))
                if not isinstance(raised, expected) or not same:
                    kind = type(raised).__name__
                    wrong.append(f"{said} says {kind}: {first}\n    the suite {error.text}")
            else:
                wrong.append(f"{said} raises nothing")
    assert not wrong, "\n".join(wrong)

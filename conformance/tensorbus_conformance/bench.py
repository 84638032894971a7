"""The device as the frontend sees it: places tensors, calls ops, compares with references."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import tensorbus
from tensorbus import discovery
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import compare, formats, layouts, values
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.op import Op, Sample, T, wide
from tensorbus_conformance.trial import Trial, Unsupported


class Operand:
    """A tensor on the device, its values on the host, and the storage around it."""

    def __init__(self, tensor: Any, host: np.ndarray, dtype: Dtype, flat: Any, buffer: np.ndarray):
        self.tensor, self.host, self.dtype = tensor, host, dtype
        self.flat, self.buffer = flat, buffer

    def wide(self) -> np.ndarray:
        """The values as the reference gets them."""
        return wide(self.host, self.dtype)


class Bench:
    """One attempt at one case through the frontend."""

    def __init__(self, trial: Trial):
        self.trial = trial
        self.device = trial.device.type

    # -- operands ----------------------------------------------------------------------------
    def place(self, host: np.ndarray, dtype: Dtype, layout: str = "contiguous") -> Operand:
        """Values as a tensor on the device, in the layout given, among bytes that mean nothing."""
        host = np.asarray(host, formats.value_dtype(dtype))
        repeats = tuple(s == 0 and n > 1 for s, n in zip(host.strides, host.shape, strict=True))
        length, strides, offset = layouts.plan(host.shape, layout, repeats)
        if layout == "contiguous":
            buffer = np.array(host).reshape(-1)
        else:
            raw = values.poison(length, dtype, layout)
            buffer = np.array(formats.decode(raw, dtype))
            layouts.window(buffer, host.shape, strides, offset)[...] = host
        flat = self.send(buffer, dtype)
        tensor = flat.as_strided(host.shape, strides, offset)
        return Operand(tensor, host, dtype, flat, buffer)

    def send(self, host: np.ndarray, dtype: Dtype) -> Any:
        """A fresh tensor with the values of a host array."""
        if dtype is formats.BFLOAT16:  # by its bits: the device's casts are not to be relied on
            bits = formats.encode(host, dtype).view(np.int16)
            return tensorbus.from_numpy(bits).to(self.device).view(dtype)
        made = tensorbus.from_numpy(np.array(host)).to(self.device)
        return made if made.dtype is dtype else made.to(dtype)

    def read(self, tensor: Any) -> np.ndarray:
        """The values of a tensor on the host."""
        tensor = tensor.detach()
        if tensor.dtype is formats.BFLOAT16:
            bits = tensor.view(formats.INT16).cpu().numpy()
            return formats.decode(bits.view(np.uint16), formats.BFLOAT16)
        return np.asarray(tensor.cpu().numpy())

    def operands(
        self, sample: Sample, dtype: Dtype, layout: str, *key: object
    ) -> tuple[list[Any], dict[str, Any], list[Operand]]:
        """(arguments, keyword arguments, operands) of a sample, its operands placed."""
        placed: list[Operand] = []

        def make(t: T) -> Any:
            host = t.make(dtype, *key, sample.variant, len(placed))
            if layout == "expanded" and t.data is None:  # given values, such as indices, stay
                host = repeated(host)
            own = layout if fits(layout, host.shape) else "contiguous"
            placed.append(self.place(host, t.dtype or dtype, own))
            return placed[-1].tensor

        args, kwargs = sample.replace(make, dtype=dtype, device=self.device)
        return args, kwargs, placed

    def expected(self, op: Op, sample: Sample, placed: Sequence[Operand]) -> Any:
        """What the reference gives for the placed values."""
        return self.reference(op, sample, [p.wide() for p in placed])

    @staticmethod
    def reference(op: Op, sample: Sample, hosts: Sequence[np.ndarray]) -> Any:
        """What the reference gives for host values, one for each operand."""
        return on_hosts(op.reference, sample, hosts)

    # -- judgement ---------------------------------------------------------------------------
    def check(self, got: Any, want: Any, op: Op, dtype: Dtype, scale: Any = None) -> None:
        """Compare results with what the reference gave: structure, dtype, shape, values."""
        found, wanted = flatten(got), flatten(want)
        if len(found) != len(wanted):
            raise Mismatch(f"{len(found)} results, expected {len(wanted)}")
        scales = [None] * len(wanted) if scale is None else flatten(scale)
        kinds = op.result_dtypes(dtype, len(wanted))
        for i, (g, w, d, s) in enumerate(zip(found, wanted, kinds, scales, strict=True)):
            where = f"result {i}: " if len(wanted) > 1 else ""
            self.same(g, w, d, op.ulp, op.measure, s, where, op.signed_zeros)

    def same(
        self,
        got: Any,
        want: Any,
        dtype: Dtype,
        ulp: float = 0.0,
        measure: str = "element",
        scale: Any = None,
        where: str = "",
        zeros: bool = False,
    ) -> None:
        """One result against one expected array or Python value."""
        if not isinstance(want, (np.ndarray, np.generic)):
            if isinstance(got, tensorbus.Tensor) or got != want:
                raise Mismatch(f"{where}got {got!r}, expected {want!r}")
            return
        if not isinstance(got, tensorbus.Tensor):
            raise Mismatch(f"{where}got a {type(got).__name__}, expected a tensor")
        if got.dtype is not dtype:
            raise Mismatch(f"{where}dtype is {got.dtype.name}, expected {dtype.name}")
        if tuple(got.shape) != np.shape(want):
            raise Mismatch(f"{where}shape is {tuple(got.shape)}, expected {np.shape(want)}")
        if got.device != tensorbus.empty(0, device=self.device).device:
            raise Mismatch(f"{where}the result is on {got.device}, expected {self.device}")
        host = self.read(got)
        if dtype is formats.BOOL:
            compare.truths(host)
        self._values(host, np.asarray(want), dtype, ulp, measure, scale, zeros)

    def _values(
        self,
        got: np.ndarray,
        want: np.ndarray,
        d: Dtype,
        ulp: float,
        measure: str,
        scale: Any,
        zeros: bool,
    ) -> None:
        rounding = d in formats.FLOATS or d in formats.COMPLEX
        if not rounding or (ulp == 0 and measure == "element" and scale is None):
            want = formats.round_to(want, d) if rounding else want
            compare.equal(got, want, d, zeros=zeros, flushes=self.trial.flushes)
            return
        if compare.by_element(d, measure, scale):
            self.trial.close(got, want, d, compare.element_bound(ulp, d))
            return
        worst, text = compare.within_scale(got, want, d, ulp, scale, self.trial.flushes)
        self.trial.ulp = max(self.trial.ulp or 0.0, worst)
        if text:
            self.trial.notes.append(text)

    def untouched(self, placed: Sequence[Operand]) -> None:
        """Check that operands, and what lies around them, hold what they held."""
        for position, operand in enumerate(placed):
            compare.same_bytes(
                self.read(operand.flat), operand.buffer, f"operand {position} was written to"
            )

    def shares(self, tensor: Any, operand: Operand) -> bool:
        """Whether a result lies in the storage of an operand."""
        if 0 in tensor.shape or not operand.buffer.size:
            return False
        return bool(tensor.untyped_storage() == operand.flat.untyped_storage())


def needs_of_cpu(*dtypes: Dtype) -> None:
    """Declare a case that goes by way of the CPU unsupported where that lacks a dtype."""
    found = discovery.backend("cpu").capabilities(0).dtypes
    missing = sorted({d.name for d in dtypes} - {d.name for d in found})
    if missing:
        raise Unsupported(f"the CPU, by way of which this goes, has no {', '.join(missing)}")


def on_hosts(f: Callable[..., Any], sample: Sample, hosts: Iterable[np.ndarray]) -> Any:
    """What a function over NumPy gives for a sample with these values as its operands."""
    rest = iter(hosts)
    args, kwargs = sample.replace(lambda _: next(rest))
    with np.errstate(all="ignore"):
        return f(*args, **kwargs)


def flatten(result: Any) -> list[Any]:
    """The results of an op that gives one, or several, in the order they stand."""
    if isinstance(result, (tuple, list)) and not isinstance(result, tensorbus.Size):
        return [leaf for part in result for leaf in flatten(part)]
    return [result]


def fits(layout: str, shape: tuple[int, ...]) -> bool:
    """Whether an array of that shape laid out so differs from a contiguous one."""
    longer = sum(n > 1 for n in shape)
    if 0 in shape or not shape:
        return False
    return longer >= (2 if layout == "transposed" else 1)


def repeated(host: np.ndarray) -> np.ndarray:
    """The array with its first row, or column, everywhere: stride 0 where values repeat."""
    for d, n in enumerate(host.shape):
        if n > 1:
            return np.broadcast_to(host.take([0], axis=d), host.shape)
    return host


@functools.lru_cache(maxsize=1024)
def lays_out(sample: Sample, layout: str) -> bool:
    """Whether a layout changes anything for a sample."""
    return any(fits(layout, tuple(t.shape)) for t in sample.operands())


def require(condition: bool, reason: str) -> None:
    """Declare a case unsupported unless *condition* holds."""
    if not condition:
        raise Unsupported(reason)


def expect_raises(call: Callable[[], Any], error: type[Exception]) -> Exception:
    """The exception that *call* raises, which must be of a type; reads its result to see it."""
    try:
        made = call()
        for leaf in flatten(made):
            if isinstance(leaf, tensorbus.Tensor):
                leaf.cpu()  # an asynchronous device reports it at the next read
    except error as raised:
        return raised
    except Exception as raised:
        raise Mismatch(
            f"raised {type(raised).__name__}: {raised}; expected {error.__name__}"
        ) from raised
    raise Mismatch(f"raised nothing; expected {error.__name__}")

"""Borders around tensors."""

from __future__ import annotations

from tensorbus._base import dtypes, registered
from tensorbus._tensor.tensor import Tensor
from tensorbus.autograd.node import name_node
from tensorbus.op_engine.arguments import not_implemented
from tensorbus.op_engine.autocasting import as_one_op
from tensorbus.op_engine.composed import has_channels_last, lay_out
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.scalars import fitted
from tensorbus.ops.creation.from_data import tensor
from tensorbus.ops.indexing.gathering import index_select
from tensorbus.ops.joining.joining import cat
from tensorbus.rows.layouts import channels_last_strides

_NODES = {
    "constant": "ConstantPadNdBackward0",
    "reflect": "ReflectionPad{}DBackward0",
    "replicate": "ReplicationPad{}DBackward0",
    "circular": "CopySlices",
}
_MODES = {"reflect": "reflection", "replicate": "replication"}


@registered.bordered.provide
def padded(input: Tensor, pad: tuple[int, ...], mode: str, value: float | None) -> Tensor:
    """``pad`` with its arguments in order."""
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    precise = mode == "replicate" or (mode == "reflect" and len(pad) <= 4)
    policy = "cpu float32" if precise else "given"
    made = as_one_op(policy, _bordered, (input, pad, mode, value), {})
    if mode != "circular" and has_channels_last(input):
        lay_out(made, channels_last_strides(tuple(made._s)))
    if made._e is not None:
        name_node(made, _NODES[mode].format(len(pad) // 2))
    return made


def _bordered(input: Tensor, pad: tuple[int, ...], mode: str, value: float | None) -> Tensor:
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    rank = input.dim()
    if len(pad) > 2 * rank:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {rank}"
        )
    widths = [(0, 0)] * rank
    for at in range(len(pad) // 2):
        widths[rank - 1 - at] = (int(pad[2 * at]), int(pad[2 * at + 1]))
    for d, (a, b) in enumerate(widths):
        n = input.shape[d] + a + b
        if n < 0:
            raise RuntimeError(
                f"The input size {input.shape[d]}, plus negative padding {a} and {b} resulted in a "
                f"negative output size, which is invalid. Check dimension {d} of your input."
            )
    if mode == "constant":
        for d, (a, b) in enumerate(widths):
            if a < 0 or b < 0:
                n = input.shape[d]
                input = input.narrow(d, max(-a, 0), n - max(-a, 0) - max(-b, 0))
        wanted = tuple((max(a, 0), max(b, 0)) for a, b in widths)
        if wanted == ((0, 0),) * rank:
            return input.clone()
        number = fitted(float(value or 0.0), input._k.dtype)
        return core("pad")(input, wanted, number)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if rank not in (dims + 1, dims + 2) or not 1 <= dims <= 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {rank}D input tensor: mode '{mode}' "
            "pads the last 1 to 3 dimensions of an input with one or two dimensions more"
        )
    if mode != "circular" and input._k.dtype.category == dtypes.BOOL:
        raise not_implemented(f"{_MODES[mode]}_pad{dims}d", input)
    if mode != "circular" and not input._s[rank - dims - 1 :].numel():
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(input._s)}"
        )
    if mode != "circular" and any(n + a + b < 1 for n, (a, b) in _last(input, widths, dims)):
        sides = [
            (side, n, n + a + b)
            for side, (n, (a, b)) in zip("DHW"[-dims:], _last(input, widths, dims), strict=True)
        ]
        raise RuntimeError(
            f"input ({', '.join(f'{side}: {n}' for side, n, _ in sides)}) is too small. Calculated "
            f"output {' '.join(f'{side}: {n}' for side, _, n in sides)}"
        )
    borders = [(d, a, b) for d, (a, b) in enumerate(widths) if a or b]
    for d, before, behind in borders:
        input = _widened(input, d, before, behind, mode)
    return input if borders else input.clone()


def _widened(x: Tensor, d: int, a: int, b: int, mode: str) -> Tensor:
    """The tensor with a border along one dimension; what is not border is copied as it is."""
    n = x._s[d]

    def picked(indices: range) -> Tensor:
        found = tensor(_sources(x, d, a, b, mode, indices), dtype=dtypes.int64, device=x._k.device)
        return (
            index_select(x, d, found) if mode == "circular" else core("picked_along")(x, d, found)
        )

    if a < 0 or b < 0:
        return picked(range(-a, n + b))
    parts = [picked(range(-a, 0))] if a else []
    parts.append(x)
    if b:
        parts.append(picked(range(n, n + b)))
    return cat(parts, d)


def _last(
    input: Tensor, widths: list[tuple[int, int]], dims: int
) -> list[tuple[int, tuple[int, int]]]:
    """The size and the widths of each of the last dimensions."""
    return list(zip(input._s[-dims:], widths[-dims:], strict=True))


def _sources(x: Tensor, d: int, a: int, b: int, mode: str, indices: range) -> list[int]:
    """Which elements along a dimension stand at *indices* of the wider one, from its first on."""
    n = x._s[d]
    if mode == "replicate":
        return [min(max(i, 0), n - 1) for i in indices]
    if mode == "circular":
        first, kept = max(-a, 0), n - max(-a, 0) - max(-b, 0)  # what negative widths leave
        if indices and max(a, b) > kept:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        return [first + (i - first) % kept for i in indices]
    if a >= n or b >= n:
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, "
            f"but got: padding ({a}, {b}) at dimension {d} of input {list(x._s)}"
        )
    return [-i if i < 0 else 2 * (n - 1) - i if i >= n else i for i in indices]

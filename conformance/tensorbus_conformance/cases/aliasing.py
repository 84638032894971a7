"""Level 2: tensors that share memory. What is written through one is read through all others.

NumPy's views are the reference: each program runs on a tensor and on a host array of equal values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.trial import Trial

Program = Callable[[Any], Any]
_DTYPES = (formats.FLOAT32, formats.INT64)


def cases() -> Iterator[Case]:
    part = functools.partial
    for d in _DTYPES:
        for name, (there, here) in {**WRITES, **OVERLAPS}.items():
            yield Case(f"L2/aliasing/{d.name}/{name}", "aliasing", part(_written, there, here, d),
                       (d,))  # fmt: skip
    d = formats.FLOAT32
    for name, make in SHARING.items():
        yield Case(f"L2/aliasing/{d.name}/shares-{name}", "aliasing", part(_shares, make, True),
                   (d,))  # fmt: skip
    for name, make in COPIES.items():
        yield Case(f"L2/aliasing/{d.name}/copies-{name}", "aliasing", part(_shares, make, False),
                   (d,))  # fmt: skip
    for name, (program, steps) in VERSIONS.items():
        yield Case(f"L2/aliasing/{d.name}/version-{name}", "aliasing",
                   part(_versions, program, steps), (d,))  # fmt: skip
    for name, check in OTHERS.items():
        yield Case(f"L2/aliasing/{d.name}/{name}", "aliasing", check, (d,))


def on(x: Any, data: Any) -> Any:
    """Further values on the device of *x*: numbers in its dtype, indices, masks."""
    made = tensorbus.tensor(data, device=x.device)
    return made.to(x.dtype) if made.dtype.is_floating_point else made


def _start(d: Dtype, t: Trial) -> tuple[Bench, Any, np.ndarray]:
    """A (4, 6) tensor with all numbers different, and its values."""
    bench = Bench(t)
    host = np.arange(1, 25).reshape(4, 6).astype(formats.value_dtype(d))
    return bench, bench.send(host, d), host.copy()


def _written(there: Program, here: Program, d: Dtype, t: Trial) -> None:
    bench, x, host = _start(d, t)
    there(x)
    replaced = here(host)
    bench.same(x, host if replaced is None else replaced, d)


# -- writes through views ----------------------------------------------------------------------
def _assign(array: np.ndarray, value: Any) -> None:
    array[...] = value


def _multiply(array: np.ndarray, value: Any) -> None:
    array *= array.dtype.type(value)


def _chain(x: Any) -> None:
    x[1:][:, ::2][0] = 7


def _both_ways(x: Any) -> None:
    row, flat = x[1], x.view(-1)
    flat[6:8] = 50
    row[1:3] = row[0]
    x[0] = row


def _both_ways_here(a: np.ndarray) -> None:
    a[1, :2] = 50
    a[1, 1:3] = a[1, 0]
    a[0] = a[1]


def _parts(x: Any) -> None:
    for n, part in enumerate(x.split(2, 1)):
        part.mul_(n)


def _rows(x: Any) -> None:
    for n, row in enumerate(x.unbind()):
        row.fill_(n)


def _in_place_shape(x: Any) -> None:
    y = x[1:3]
    y.t_()
    y[0] = 9
    y.unsqueeze_(0)
    y[0, 1].zero_()


def _in_place_shape_here(a: np.ndarray) -> None:
    a[1:3, 0] = 9
    a[1:3, 1] = 0


WRITES: dict[str, tuple[Program, Program]] = {
    "row": (lambda x: x[1].fill_(7), lambda a: _assign(a[1], 7)),
    "column": (lambda x: x[:, 2].zero_(), lambda a: _assign(a[:, 2], 0)),
    "step": (lambda x: x[::2, 1::3].mul_(2), lambda a: _multiply(a[::2, 1::3], 2)),
    "transposed": (lambda x: x.t()[1:3].mul_(3), lambda a: _multiply(a.T[1:3], 3)),
    "view-of-view": (lambda x: x[1:][1].mul_(2), lambda a: _multiply(a[1:][1], 2)),
    "flat": (lambda x: x.view(-1)[5:9].fill_(3), lambda a: _assign(a.reshape(-1)[5:9], 3)),
    "reshaped": (lambda x: x.reshape(2, 12)[1].zero_(), lambda a: _assign(a[2:], 0)),
    "flattened": (lambda x: x.flatten()[1::2].mul_(2), lambda a: _multiply(a[:, 1::2], 2)),
    "unflattened": (
        lambda x: x.unflatten(1, (2, 3))[:, 1].fill_(8), lambda a: _assign(a[:, 3:], 8)),
    "narrowed": (lambda x: x.narrow(1, 2, 3).fill_(1), lambda a: _assign(a[:, 2:5], 1)),
    "unsqueezed": (lambda x: x.unsqueeze(1)[2].mul_(2), lambda a: _multiply(a[2], 2)),
    "squeezed": (lambda x: x[1:2].squeeze(0).fill_(4), lambda a: _assign(a[1], 4)),
    "moved": (lambda x: x.movedim(0, 1)[4].fill_(2), lambda a: _assign(a[:, 4], 2)),
    "diagonal": (lambda x: x.diagonal(1).mul_(5), lambda a: _multiply_diagonal(a, 1, 5)),
    "window": (
        lambda x: x.as_strided((2, 2), (7, 2), 3).fill_(6), lambda a: _set_flat(a, [3, 5, 10, 12])),
    "windows": (lambda x: x.unfold(1, 2, 3)[:, 1].zero_(), lambda a: _assign(a[:, 3:5], 0)),
    "parts": (_parts, lambda a: _multiply(a, np.repeat([0, 1, 2], 2))),
    "rows": (_rows, lambda a: _assign(a, np.arange(4)[:, None])),
    "detached": (lambda x: x.detach()[1:].fill_(5), lambda a: _assign(a[1:], 5)),
    "data": (lambda x: x.data[0].zero_(), lambda a: _assign(a[0], 0)),
    "set": (lambda x: x.new_empty(0).set_(x[2:]).fill_(3), lambda a: _assign(a[2:], 3)),
    "storage": (
        lambda x: x.new_empty(0).set_(x.untyped_storage(), 6, (3,), (2,)).fill_(0),
        lambda a: _assign(a[1, :6:2], 0)),
    "setitem-chain": (_chain, lambda a: _assign(a[1, ::2], 7)),
    "setitem-views": (_both_ways, _both_ways_here),
    "in-place-shape": (_in_place_shape, _in_place_shape_here),
    "masked-fill": (
        lambda x: x[:, 1].masked_fill_(on(x, [True, False, False, True]), 9),
        lambda a: _assign(a[::3, 1], 9)),
    "index-fill": (
        lambda x: x.t().index_fill_(0, on(x, [4, 0]), 2), lambda a: _assign(a[:, ::4], 2)),
    "index-copy": (
        lambda x: x[:, 2:4].index_copy_(0, on(x, [3, 0]), x[1:3, :2].clone()),
        lambda a: _put(a, (np.array([3, 0]), slice(2, 4)), a[1:3, :2])),
    "index-put": (
        lambda x: x.t()[1:].index_put_((on(x, [0, 2]), on(x, [1, 3])), x[0, :2].clone()),
        lambda a: _put(a, (np.array([1, 3]), np.array([1, 3])), a[0, :2])),
    "masked": (
        lambda x: x[1:].__setitem__(on(x, [True, False, True]), 0), lambda a: _assign(a[1::2], 0)),
    "scattered": (
        lambda x: x[:, ::2].scatter_(1, on(x, [[2], [1]]), 7),
        lambda a: _put(a, (np.array([0, 1]), np.array([4, 2])), 7)),
    "put": (lambda x: x.t().put_(on(x, [1, -1]), x[0, :2].clone()),
            lambda a: _put(a, (np.array([1, 3]), np.array([0, 5])), a[0, :2])),
    "out": (
        lambda x: tensorbus.mul(x[0, :4], 2, out=x[:, 5]),
        lambda a: _assign(a[:, 5], a[0, :4] * 2)),
}  # fmt: skip


def _set_flat(a: np.ndarray, indices: list[int]) -> None:
    a.reshape(-1)[indices] = 6


def _multiply_diagonal(a: np.ndarray, offset: int, value: int) -> None:
    for i in range(min(a.shape[0], a.shape[1] - offset)):
        a[i, i + offset] *= value


def _put(a: np.ndarray, index: Any, value: Any) -> None:
    a[index] = np.array(value)


def _shift(x: Any) -> None:
    x[1:] = x[:-1]


# Source and target share memory: the result is as if the source had been read before.
OVERLAPS: dict[str, tuple[Program, Program]] = {
    "overlap-down": (_shift, lambda a: _assign(a[1:], a[:-1].copy())),
    "overlap-up": (lambda x: x[:-1].copy_(x[1:]), lambda a: _assign(a[:-1], a[1:].copy())),
    "overlap-columns": (
        lambda x: x[:, 1:].copy_(x[:, :-1]), lambda a: _assign(a[:, 1:], a[:, :-1].copy())),
    "overlap-transposed": (
        lambda x: x[:, :4].copy_(x[:, :4].t()), lambda a: _assign(a[:, :4], a[:, :4].T.copy())),
    "overlap-broadcast": (lambda x: x.copy_(x[2]), lambda a: _assign(a, a[2].copy())),
    "overlap-added": (
        lambda x: x[:, 1:].add_(x[:, :-1]),
        lambda a: _assign(a[:, 1:], a[:, 1:] + a[:, :-1])),
    "overlap-detached": (
        lambda x: x[1:].copy_(x.detach()[:-1]), lambda a: _assign(a[1:], a[:-1].copy())),
    "overlap-indexed": (
        lambda x: x.__setitem__(on(x, [0, 1, 2]), x[1:]), lambda a: _assign(a[:3], a[1:].copy())),
    "overlap-scattered": (
        lambda x: x.scatter_(0, on(x, [[1] * 6, [2] * 6]), x[:2]),
        lambda a: _assign(a[1:3], a[:2].copy())),
    "overlap-filled": (lambda x: x.fill_(x[0, 1]), lambda a: _assign(a, a[0, 1])),
    "overlap-itself": (lambda x: x.copy_(x), lambda a: None),
}  # fmt: skip


# -- sharing and copying -----------------------------------------------------------------------
def _shares(make: Program, shared: bool, t: Trial) -> None:
    bench, x, host = _start(formats.FLOAT32, t)
    y = make(x)
    same = y.untyped_storage() == x.untyped_storage()
    if same is not shared:
        raise Mismatch(
            "the result is a copy, expected one storage"
            if shared
            else "the result shares the storage of its operand, expected a copy"
        )
    y.zero_()
    now = bench.read(x)
    if np.array_equal(now, host) is shared:
        raise Mismatch("a write to the result " + ("did not reach" if shared else "reached") + " x")


SHARING: dict[str, Program] = {
    "contiguous": lambda x: x.contiguous(),
    "reshape": lambda x: x.reshape(3, 8),
    "reshape-of-columns": lambda x: x.t().reshape(6, 2, 2),
    "flatten": lambda x: x.flatten(),
    "ravel": lambda x: x.ravel(),
    "expand": lambda x: x[:, :].expand(1, 4, 6),
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "to-nothing": lambda x: x.to(x.dtype),
    "view-as": lambda x: x.view_as(x),
    "broadcast": lambda x: tensorbus.broadcast_tensors(x, x)[0],
    "atleast": lambda x: tensorbus.atleast_3d(x),
    "real": lambda x: x.real,
    "matrix-transpose": lambda x: x.mT,
    "bits": lambda x: x.view(formats.INT32),
}
COPIES: dict[str, Program] = {
    "clone": lambda x: x.clone(),
    "clone-of-view": lambda x: x.t().clone(),
    "contiguous-of-view": lambda x: x.t().contiguous(),
    "reshape-of-view": lambda x: x.t().reshape(-1),
    "flatten-of-view": lambda x: x.t().flatten(),
    "index": lambda x: x[[0, 1]],
    "whole-index": lambda x: x[on(x, [0, 1, 2, 3])],
    "mask": lambda x: x[x > 0],
    "flip": lambda x: x.flip(0),
    "flip-nothing": lambda x: x.flip(()),
    "roll-nothing": lambda x: x.roll(0, 0),
    "rot90-nothing": lambda x: x.rot90(0),
    "repeat-once": lambda x: x.repeat(1, 1),
    "cat-of-one": lambda x: tensorbus.cat([x]),
    "stack-of-one": lambda x: tensorbus.stack([x]),
    "chain-of-one": lambda x: tensorbus.chain_matmul(x),
    "reflect-nothing": lambda x: tensorbus.nn.functional.pad(x, (0, 0), "reflect"),
    "replicate-nothing": lambda x: tensorbus.nn.functional.pad(x, (0, 0), "replicate"),
    "wrap-nothing": lambda x: tensorbus.nn.functional.pad(x, (0, 0), "circular"),
    "shuffle-nothing": lambda x: tensorbus.nn.functional.pixel_shuffle(x[None], 1)[0],
    "unshuffle-nothing": lambda x: tensorbus.nn.functional.pixel_unshuffle(x[None], 1)[0],
    "diag": lambda x: tensorbus.diag(x),
    "to-copy": lambda x: x.to(x.dtype, copy=True),
    "tril": lambda x: x.tril(),
    "masked-fill-nothing": lambda x: x.masked_fill(on(x, [False]), 0),
    "deepcopy": lambda x: x.__deepcopy__({}),
}


# -- versions ------------------------------------------------------------------------------------
def _versions(program: Program, steps: int, t: Trial) -> None:
    """A program gives two tensors of one storage; both versions rise by *steps* when it runs."""
    _, x, _ = _start(formats.FLOAT32, t)
    before = x._version
    other = program(x)
    for name, tensor in (("the tensor", x), ("the other", other)):
        rise = tensor._version - before
        if rise != steps:
            raise Mismatch(f"the version of {name} rose by {rise}, expected {steps}")


def _after(view: Program, write: Program) -> Program:
    def program(x: Any) -> Any:
        other = view(x)
        write(other)
        return other

    return program


def _without_grad(x: Any) -> Any:
    with tensorbus.no_grad():
        x[0].add_(1)
    return x


VERSIONS: dict[str, tuple[Program, int]] = {
    "of-views": (lambda x: x[1:].t(), 0),
    "through-view": (_after(lambda x: x[1:], lambda y: y.add_(1)), 1),
    "through-view-of-view": (_after(lambda x: x[1:].t()[0], lambda y: y.zero_()), 1),
    "through-detached": (_after(lambda x: x.detach(), lambda y: y.mul_(2)), 1),
    "of-base": (_after(lambda x: x.view(-1), lambda y: y._base.fill_(1)), 1),
    "setitem": (_after(lambda x: x, lambda y: y.__setitem__(0, 1)), 1),
    "setitem-mask": (_after(lambda x: x[1:], lambda y: y.__setitem__(y > 0, 1)), 1),
    "twice": (_after(lambda x: x[0], lambda y: y.add_(1).mul_(2)), 2),
    "out": (_after(lambda x: x[0], lambda y: tensorbus.add(y.clone(), 1, out=y)), 1),
    "no-grad": (_without_grad, 1),
    "read": (_after(lambda x: x[1:], lambda y: (y + 1, y.sum(), y.clone(), y[0])), 0),
}


def _own_versions(t: Trial) -> None:
    """Copies, and ``data``, count for themselves."""
    _, x, _ = _start(formats.FLOAT32, t)
    for other in (x.clone(), x.data, x[[0]]):
        before = x._version
        other.add_(1)
        if x._version != before:
            raise Mismatch("a write to a copy, or to data, raised the version of the tensor")


def _base_of_views(t: Trial) -> None:
    _, x, _ = _start(formats.FLOAT32, t)
    for view in (x[1:], x.t()[0], x.view(-1).unsqueeze(0), x.detach()[0]):
        if not view._is_view():
            raise Mismatch("a view says that it is none")
    if x[1:][0]._base is not x or x._base is not None:
        raise Mismatch("_base of a view of a view is not the tensor that owns the memory")


def _growing(t: Trial) -> None:
    bench, x, host = _start(formats.FLOAT32, t)
    x.resize_(5, 6)
    bench.same(x[:4], host, formats.FLOAT32)
    x.resize_(2, 3)
    bench.same(x, host.reshape(-1)[:6].reshape(2, 3), formats.FLOAT32)


OTHERS: dict[str, Callable[[Trial], None]] = {
    "version-of-copies": _own_versions,
    "base-of-views": _base_of_views,
    "resized": _growing,
}

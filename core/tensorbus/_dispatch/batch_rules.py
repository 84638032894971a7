"""What runs for a row on a batch: one rule for each form of rows.

A rule calls the inner kind's entry of the same row on the arrays with their batch dimension. Rows
of other forms are compositions, over these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorbus._base.modes import this_thread
from tensorbus._dispatch.batching import BatchedArray, BatchedKind, levels_of, writable
from tensorbus._dispatch.kinds import Kind
from tensorbus.plugin import shape_rules
from tensorbus.plugin.faults import IndexFault
from tensorbus.plugin.groups import GROUP_RESULTS
from tensorbus.rows.registry import Row

Entry = Callable[..., Any]
Rule = Callable[[BatchedKind, Row, Entry], Entry]


def rule_for(kind: BatchedKind, row: Row) -> Entry | None:
    """The entry of a row on a batch; None where it is composed."""
    rule = _VIEWS.get(row.name)
    if rule is None and row.kernel in GROUP_RESULTS:
        rule = _group
    if rule is None and row.shape is not None:
        rule = _WRITES[row.name] if row.writes else _FORMS[row.shape]
    return None if rule is None else rule(kind, row, getattr(kind.inner, row.name))


# -- arrays ----------------------------------------------------------------------------------
def _aligned(kind: Kind, x: Any, rank: int) -> Any:
    """An inner array with dimensions of size 1 behind the batch, up to a rank."""
    for _ in range(rank - len(x.shape)):
        x = kind.unsqueeze(x, 1)
    return x


def _batch(*arrays: Any) -> int:
    """The size of the batch that arrays have together, of which some may have 1."""
    sizes = [x.array.shape[0] for x in arrays if type(x) is BatchedArray]
    return next((n for n in sizes if n != 1), 1)


def _repeated(kind: Kind, x: Any, size: int) -> Any:
    """An inner array with a batch of that size."""
    return x if x.shape[0] == size else kind.expand(x, (size, *x.shape[1:]))


def _inner_kinds(kind: BatchedKind, row: Row) -> list[Kind]:
    """The inner kinds of the operands, in the order of the arguments; that of parameters too."""
    return [row.operand_kind(argument, kind.inner) for argument in row.arguments]


# -- forms -----------------------------------------------------------------------------------
def _pointwise(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """Operands of fewer dimensions get dimensions of size 1 behind the batch."""
    kinds = _inner_kinds(kind, row)
    target = row.result_kind(kind.inner)

    def entry(*operands: Any, out: BatchedArray | None = None) -> BatchedArray:
        rank = max(len(x.shape) for x in operands if type(x) is BatchedArray)
        arrays = [
            (x.array if len(x.shape) == rank else _aligned(k, x.array, rank + 1))
            if type(x) is BatchedArray
            else x
            for k, x in zip(kinds, operands, strict=False)
        ]
        if out is None:
            return BatchedArray(inner(*arrays))
        into = writable(target, out, _batch(*operands))
        for at, x in enumerate(operands):
            if x is out:
                arrays[at] = into
            elif type(x) is BatchedArray:
                arrays[at] = _repeated(kinds[at], arrays[at], into.shape[0])
        inner(*arrays, out=into)
        return out

    return entry


def _shifted(dims: Any) -> Any:
    return tuple(d + 1 for d in dims) if isinstance(dims, tuple) else dims + 1


def _along(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """Reductions, scans, sorting: the dimensions that are named lie one further."""

    target = row.result_kind(kind.inner)

    def entry(x: BatchedArray, dims: Any, *, out: BatchedArray | None = None) -> BatchedArray:
        if out is None:
            return BatchedArray(inner(x.array, _shifted(dims)))
        into = writable(target, out, _batch(x))
        inner(_repeated(kind.inner, x.array, into.shape[0]), _shifted(dims), out=into)
        return out

    return entry


def _product(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """A matrix that is the same for all elements is multiplied once, with all rows of a batch."""
    k = kind.inner

    def entry(a: BatchedArray, b: BatchedArray, out: Any = None) -> BatchedArray:
        rank = max(len(a.shape), len(b.shape)) + 1
        x, y = a.array, b.array
        if len(y.shape) == 3 and y.shape[0] == 1 and x.shape[0] > 1:
            rows = x.shape[:-1]
            flat = k.reshape(x, (_count(rows), x.shape[-1]))
            made = k.reshape(inner(flat, k.select(y, 0, 0)), (*rows, y.shape[-1]))
        else:
            made = inner(_aligned(k, x, rank), _aligned(k, y, rank))
        return BatchedArray(made)

    return entry


def _count(shape: Any) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _take(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """By an index of the batch: rows of all elements at once, or element by element."""
    k, i64 = kind.inner, kind.inner.i64

    def entry(x: BatchedArray, dim: int, i: BatchedArray, wrap: bool) -> BatchedArray:
        source, index = x.array, i.array
        if index.shape[0] == 1:
            return BatchedArray(_named(inner, source, dim + 1, i64.select(index, 0, 0), wrap))
        size, length = index.shape
        if source.shape[0] == 1 and not dim:
            flat = i64.reshape(index, (size * length,))
            made = inner(k.select(source, 0, 0), 0, flat, wrap)
            return BatchedArray(k.reshape(made, (size, length, *source.shape[2:])))
        index = _spread(i64, index, source.shape, dim, wrap)
        return BatchedArray(_named(k.gather, _repeated(k, source, size), dim + 1, index))

    return entry


def _spread(i64: Kind, index: Any, shape: Any, dim: int, wrap: bool) -> Any:
    """An index of slices, of each element its own, as one of single elements."""
    if wrap:
        index = i64.where(i64.lt(index, 0), i64.add(index, shape[dim + 1]), index)
    size, length = index.shape
    before, after = shape[1 : dim + 1], shape[dim + 2 :]
    index = i64.view(i64.contiguous(index), (size, *[1] * len(before), length, *[1] * len(after)))
    return i64.expand(index, (size, *before, length, *after))


def _named(f: Entry, x: Any, dim: int, *arguments: Any) -> Any:
    """A call along a dimension of the inner array, with faults that name the program's."""
    try:
        return f(x, dim, *arguments)
    except IndexFault as fault:
        raise IndexFault(fault.value, fault.dim - 1, fault.n) from None


def _gather(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    k, i64 = kind.inner, kind.inner.i64

    def entry(x: BatchedArray, dim: int, i: BatchedArray) -> BatchedArray:
        size = _batch(x, i)
        index = _repeated(i64, i.array, size)
        return BatchedArray(_named(inner, _repeated(k, x.array, size), dim + 1, index))

    return entry


def _put(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """Slices at one index for all elements, or single elements at indices of each its own."""
    k, i64 = kind.inner, kind.inner.i64

    def entry(
        out: BatchedArray, dim: int, i: BatchedArray, src: Any, op: str, wrap: bool
    ) -> BatchedArray:
        into, index = writable(k, out, _batch(i, src)), i.array
        shape = (*into.shape[: dim + 1], i.shape[0], *into.shape[dim + 2 :])
        source = _source(k, src, shape)
        if index.shape[0] == 1:
            _named(inner, into, dim + 1, i64.select(index, 0, 0), source, op, wrap)
        else:
            _named(k.scatter, into, dim + 1, _spread(i64, index, into.shape, dim, wrap), source, op)
        return out

    return entry


def _scatter(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    k, i64 = kind.inner, kind.inner.i64

    def entry(out: BatchedArray, dim: int, i: BatchedArray, src: Any, op: str) -> BatchedArray:
        into = writable(k, out, _batch(i, src))
        index = _repeated(i64, i.array, into.shape[0])
        _named(inner, into, dim + 1, index, _source(k, src, index.shape), op)
        return out

    return entry


def _source(k: Kind, src: Any, shape: Any) -> Any:
    """What is written, in the shape of what is written to: the elements' scalars may differ."""
    if type(src) is not BatchedArray:
        return src
    return k.expand(_aligned(k, src.array, len(shape)), tuple(shape))


def _created(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """The same for all elements."""
    k = row.result_kind(kind.inner)

    def entry(*arguments: Any) -> BatchedArray:
        return BatchedArray(k.unsqueeze(inner(*arguments), 0))

    return entry


class _Key(tuple[int, int]):
    """The key of a draw in which the elements of batches have words of their own."""

    steps: tuple[int, ...]
    """For each batch, the outermost first, how many words lie between those of two elements; 0
    where all have the same."""


def _key(key: tuple[int, int], steps: tuple[int, ...]) -> Any:
    if not any(steps):
        return key
    made = _Key(key)
    made.steps = steps
    return made


def taken_in_batch(
    kind: Kind, take: Callable[[int], tuple[tuple[int, int], int]], words: int
) -> tuple[Any, int]:
    """(key, offset) for so many words for each element of the batches that a kind stands for.

    RuntimeError where a ``vmap`` that this thread is in does not allow for random numbers, or wants
    other ones for each element of what is no batch.
    """
    modes, levels = this_thread.randomness, levels_of(kind.device)
    if "error" in modes:
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the "
            "'same' or 'different' randomness flags on vmap or perform the randomness operation "
            "out of vmap"
        )
    if "different" in modes[len(levels) :]:
        raise RuntimeError(
            "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
            "appear like same randomness. Make the tensor with the batch, as x.new_empty does of "
            "one inside it, or draw with a function that makes a new tensor."
        )
    steps = []
    step = -(-words // 4) * 4
    for level, mode in zip(reversed(levels), reversed(modes[: len(levels)]), strict=True):
        steps.append(step if mode == "different" else 0)
        step *= level.size if mode == "different" else 1
    key, offset = take(step)
    return _key(key, tuple(reversed(steps))), offset


def _random(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """The same words for all elements, or, as the key says, those of each its own."""
    k = kind.inner

    def entry(key: Any, offset: int, n: int) -> BatchedArray:
        *outer, step = getattr(key, "steps", (0,))
        key = _key(tuple(key), tuple(outer))
        if not step:
            return BatchedArray(k.unsqueeze(inner(key, offset, n), 0))
        words = inner(key, offset, (kind.size - 1) * step + n)
        return BatchedArray(k.contiguous(k.as_strided(words, (kind.size, n), (step, 1), 0)))

    return entry


def _group(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    """Kernels of groups take batches themselves."""
    kinds = _inner_kinds(kind, row)

    def entry(*arguments: Any) -> Any:
        size = _batch(*arguments)
        given = [
            _repeated(k, x.array, size)
            if type(x) is BatchedArray
            else _shifted(x)
            if name in ("dim", "dims")
            else x
            for k, name, x in zip(kinds, row.arguments, arguments, strict=True)
        ]
        made = inner(*given)
        return tuple(map(BatchedArray, made)) if isinstance(made, tuple) else BatchedArray(made)

    return entry


# -- views -----------------------------------------------------------------------------------
def _view(change: Callable[..., Any]) -> Rule:
    """A view by the inner kind's, with the parameters that *change* makes."""

    def rule(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
        def entry(x: BatchedArray, *params: Any) -> BatchedArray:
            return x.view(inner(x.array, *change(x.array, *params)))

        return entry

    return rule


def _expand(kind: BatchedKind, row: Row, inner: Entry) -> Entry:
    k = kind.inner

    def entry(x: BatchedArray, shape: Any) -> BatchedArray:
        array = _aligned(k, x.array, len(shape) + 1)
        return x.view(inner(array, (array.shape[0], *shape)))

    return entry


_VIEWS: dict[str, Rule] = {
    "view": _view(lambda x, shape: ((x.shape[0], *shape),)),
    "permute": _view(lambda x, dims: ((0, *_shifted(tuple(dims))),)),
    "expand": _expand,
    "slice": _view(lambda x, dim, start, stop, step: (dim + 1, start, stop, step)),
    "select": _view(lambda x, dim, i: (dim + 1, i)),
    "unsqueeze": _view(lambda x, dim: (dim + 1,)),
}
_WRITES: dict[str, Rule] = {"put": _put, "scatter": _scatter}
_FORMS: dict[Callable[..., Any], Rule] = {
    shape_rules.broadcast: _pointwise,
    shape_rules.reduced: _along,
    shape_rules.same: _along,
    shape_rules.product: _product,
    shape_rules.taken: _take,
    shape_rules.of_index: _gather,
    shape_rules.counted: _created,
    shape_rules.counted_last: _random,
}

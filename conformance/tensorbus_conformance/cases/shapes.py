"""Levels 2 to 4: every op gives the shape, dtype and strides that it gives on ``meta``.

There nothing is computed, so that the shape rules of the primitives and the compositions over them
stand alone; what they say must be what a device gives: of results, and in level 3 of recorded
results and of gradients, so that a device that does not train compiles no kernel for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, flatten
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases.op_gradients import differentiable
from tensorbus_conformance.cases.op_values import layouts_of, level, needed
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.op import Op, Sample, T
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial

DTYPES = (formats.FLOAT32, formats.INT64, formats.BOOL, formats.COMPLEX64)

_READS = "it gives values to the host"
_PICKS = "how many elements are picked is known from the values alone"
OF_VALUES = {
    **dict.fromkeys(
        "Tensor.cpu Tensor.item Tensor.numpy numpy-forced Tensor.__array__ Tensor.__bool__ "
        "Tensor.__int__ Tensor.__float__ Tensor.__complex__ Tensor.__index__ Tensor.__contains__ "
        "Tensor.__nonzero__ Tensor.storage Tensor.tolist is_nonzero allclose equal".split(),
        _READS,
    ),
    **dict.fromkeys(
        "unique unique_consecutive bincount bincount-weights where-places masked_select nonzero "
        "argwhere getitem-mask getitem-own-mask getitem-mixed index_put setitem-at-indices "
        "setitem-where-masked nn.functional.embedding-max_norm "
        "nn.functional.embedding_bag-max_norm nn.functional.embedding_bag-sparse "
        "nn.functional.embedding_bag-summed".split(),
        _PICKS,
    ),
    **dict.fromkeys(
        "repeat_interleave repeat_interleave-counts nn.functional.one_hot".split(),
        "the size of the result is a value, where the call does not name it",
    ),
    **dict.fromkeys(
        "full full_like linspace getitem-int".split(),
        "the value of a tensor stands for a number of the call",
    ),
    **dict.fromkeys(
        ("nn.functional.grouped_mm", "nn.functional.scaled_grouped_mm"),
        "where groups end is read on the host",
    ),
    "Tensor.__format__": "a format is of the value",
}
"""Ops that refuse some of their samples on ``meta``, and why."""


class Refused(Exception):
    """``meta`` has no values, on which the call depends."""


def cases() -> Iterator[Case]:
    for recorded in (False, True):  # a level's cases one after another: they share a process
        for op in all_ops():
            for dtype in (d for d in DTYPES if d in op.dtypes):
                if not recorded or _samples(op, dtype, recorded):
                    yield Case(
                        f"{'L3' if recorded else level(op)}/{op.name}/{dtype.name}/as-on-meta",
                        op.family or "ops",
                        functools.partial(_same, op, dtype, recorded),
                        needed(op, dtype),
                    )


def _samples(op: Op, dtype: Dtype, recorded: bool) -> list[Sample]:
    """Those that an op is tried with: for gradients, those that have one."""
    taken = [s for s in op.samples if s.takes(dtype)]
    if not recorded:
        return taken
    return [s for s in taken if op.gradient and dtype in formats.FLOATS and differentiable(s)]


def _same(op: Op, dtype: Dtype, recorded: bool, t: Trial) -> None:
    bench, refused = Bench(t), 0
    for sample in _samples(op, dtype, recorded):
        for layout in layouts_of(op, sample, dtype):
            try:
                here, there = _both(bench, op, sample, dtype, layout, recorded)
            except Refused:
                refused += 1
                continue
            if here != there:
                raise Mismatch(
                    f"{sample.variant}, {layout}: got {here}, which is {there} on meta: shape, "
                    "dtype and strides of each result, then of each gradient"
                )
    if not (recorded or refused) and op.name in OF_VALUES and dtype is op.dtypes[0]:
        raise Mismatch(f"the suite says that {op.name} refuses on meta: {OF_VALUES[op.name]}")


def _both(
    bench: Bench, op: Op, sample: Sample, dtype: Dtype, layout: str, recorded: bool
) -> tuple[Any, Any]:
    """What an op gives on the device, and on ``meta``."""
    _, _, placed = bench.operands(sample, dtype, layout, op.name)
    declared = sample.operands()
    found = []
    for device in (bench.device, "meta"):
        tensors = [p.tensor if device != "meta" else _on_meta(p.tensor) for p in placed]
        leaves = [t.detach() for t in tensors]
        for leaf, one in zip(leaves, declared, strict=True):
            if recorded and one.grad and leaf.dtype is dtype:
                leaf.requires_grad_()
        args, kwargs = sample.replace(_each_of(leaves), dtype=dtype, device=device)
        try:
            results = flatten(op.function()(*args, **kwargs))
        except (NotImplementedError, RuntimeError, TypeError) as error:
            if device == "meta" and op.name in OF_VALUES:
                raise Refused from error
            raise
        outputs = [r for r in results if isinstance(r, tensorbus.Tensor) and r.requires_grad]
        sources = [leaf for leaf in leaves if leaf.requires_grad]
        slopes: tuple[Any, ...] = ()
        if outputs and sources:
            seeds = [tensorbus.ones_like(r) for r in outputs]
            slopes = tensorbus.autograd.grad(outputs, sources, seeds, allow_unused=True)
        found.append([_form(r) for r in (*results, *slopes)])
    return found[0], found[1]


def _each_of(tensors: list[Any]) -> Callable[[T], Any]:
    """What takes the place of a sample's operands, one after another."""
    rest = iter(tensors)
    return lambda _: next(rest)


def _on_meta(x: Any) -> Any:
    """A tensor without values that lies in its storage as *x* does in its own."""
    room = x.untyped_storage().nbytes() // x.dtype.itemsize
    whole = tensorbus.empty(room, dtype=x.dtype, device="meta")
    return whole.as_strided(x.shape, x.stride(), x.storage_offset())


def _form(x: Any) -> Any:
    if not isinstance(x, tensorbus.Tensor):
        return type(x).__name__
    # The stride of a dimension of size 1 says nothing: libraries of arrays choose it freely.
    strides = [s if n > 1 else None for n, s in zip(x.shape, x.stride(), strict=True)]
    return tuple(x.shape), x.dtype.name, strides

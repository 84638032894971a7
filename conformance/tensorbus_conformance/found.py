"""A call that exploration found to be wrong: kept as data, run again, printed as a script."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tensorbus
from tensorbus.plugin import dtype as Dtype
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, Operand, on_hosts
from tensorbus_conformance.case import Case
from tensorbus_conformance.cases import op_values
from tensorbus_conformance.op import Op, Sample, wide
from tensorbus_conformance.samples import all_ops
from tensorbus_conformance.trial import Trial


@dataclass(frozen=True)
class Found:
    """An op's sample with operands of its own: their values and layouts."""

    op: Op
    sample: Sample
    dtype: Dtype
    hosts: tuple[np.ndarray, ...]
    layouts: tuple[str, ...]

    def place(self, bench: Bench) -> tuple[list[Any], dict[str, Any], list[Operand]]:
        """The arguments of the call, its operands placed on the device."""
        placed = [
            bench.place(host, t.dtype or self.dtype, layout)
            for host, t, layout in zip(
                self.hosts, self.sample.operands(), self.layouts, strict=True
            )
        ]
        rest = iter(p.tensor for p in placed)
        args, kwargs = self.sample.replace(
            lambda _: next(rest), dtype=self.dtype, device=bench.device
        )
        return args, kwargs, placed

    def _wide(self) -> list[np.ndarray]:
        kinds = [t.dtype or self.dtype for t in self.sample.operands()]
        return [wide(h, d) for h, d in zip(self.hosts, kinds, strict=True)]

    def expected(self) -> Any:
        """What the reference gives."""
        return on_hosts(self.op.reference, self.sample, self._wide())

    def scale(self) -> Any:
        """The magnitudes at which the error is measured, where the op says so."""
        return self.op.scale and on_hosts(self.op.scale, self.sample, self._wide())

    def check(self, t: Trial) -> None:
        """Raise ``Mismatch`` where the device's result is not the reference's."""
        bench = Bench(t)
        args, kwargs, placed = self.place(bench)
        got = self.op.function()(*args, **kwargs)
        bench.check(got, self.expected(), self.op, self.dtype, self.scale())
        bench.untouched(placed)

    def to_dict(self) -> dict[str, Any]:
        """What JSON keeps of it."""
        return {
            "op": self.op.name,
            "sample": self.sample.variant,
            "dtype": self.dtype.name,
            "operands": [
                {"shape": list(h.shape), "values": _texts(h), "layout": layout}
                for h, layout in zip(self.hosts, self.layouts, strict=True)
            ],
        }

    def case(self) -> Case:
        """The case that runs it again."""
        name = f"{zlib.crc32(json.dumps(self.to_dict()).encode()):08x}"
        stem = f"{op_values.level(self.op)}/{self.op.name}/{self.dtype.name}"
        return Case(
            f"{stem}/{self.sample.variant}-found-{name}",
            self.op.family or "ops",
            functools.partial(Found.check, self),
            (self.dtype,),
        )


def _texts(host: np.ndarray) -> list[Any]:
    """Values that JSON keeps to the bit: floats as hexadecimal text."""
    flat = host.reshape(-1)
    if host.dtype.kind == "f":
        return [float(v).hex() for v in flat]
    if host.dtype.kind == "c":
        return [[float(v.real).hex(), float(v.imag).hex()] for v in flat]
    return flat.tolist()


def _values(texts: Sequence[Any], shape: Sequence[int], d: Dtype) -> np.ndarray:
    kind = formats.value_dtype(d)
    if kind.kind == "f":
        read: list[Any] = [float.fromhex(v) for v in texts]
    elif kind.kind == "c":
        read = [complex(float.fromhex(r), float.fromhex(i)) for r, i in texts]
    else:
        read = list(texts)
    return np.array(read, kind).reshape(tuple(shape))


def load(file: str | Path) -> Iterator[Found]:
    """What a file keeps; ``ValueError`` where it can't be read, or its op is no more."""
    ops = {op.name: op for op in all_ops()}
    try:
        for entry in json.loads(Path(file).read_text(encoding="utf-8")):
            op = ops[entry["op"]]
            sample = next(s for s in op.samples if s.variant == entry["sample"])
            d = getattr(tensorbus, entry["dtype"])
            kinds = [t.dtype or d for t in sample.operands()]
            hosts = tuple(
                _values(o["values"], o["shape"], kind)
                for o, kind in zip(entry["operands"], kinds, strict=True)
            )
            yield Found(op, sample, d, hosts, tuple(o["layout"] for o in entry["operands"]))
    except (OSError, LookupError, AttributeError, TypeError, StopIteration, ValueError) as error:
        raise ValueError(f"{file} holds no samples that can be run: {error!r}") from error


def save(found: Sequence[Found], file: str | Path) -> None:
    """Add to a file what it does not hold yet."""
    path = Path(file)
    kept = list(load(path)) if path.exists() else []
    held = [f.to_dict() for f in kept]
    held += [new for f in found if (new := f.to_dict()) not in held]
    path.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")

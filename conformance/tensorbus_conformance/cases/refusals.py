"""Levels 4 and 5: what PyTorch refuses is refused, with its exceptions, on every device."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import tensorbus
from tensorbus_conformance import formats
from tensorbus_conformance.bench import Bench, flatten
from tensorbus_conformance.case import Case
from tensorbus_conformance.compare import Mismatch
from tensorbus_conformance.refusals import Refusal, refusals, run
from tensorbus_conformance.trial import Trial

FAMILY = "refusals"


def cases() -> Iterator[Case]:
    programs: dict[str, list[Refusal]] = {}
    for one in refusals():
        programs.setdefault(one.op, []).append(one)
    for op, ones in programs.items():
        layer = op.startswith(("nn.", "optim.", "utils.")) and "functional" not in op
        level = "L5" if layer else "L4"
        check = functools.partial(_refused, ones)
        yield Case(f"{level}/{op}/errors/programs", FAMILY, check, (formats.FLOAT32, formats.INT64))


def _refused(ones: list[Refusal], t: Trial) -> None:
    device = Bench(t).device
    lacking = [d.name for d in formats.ALL if d not in t.capabilities.dtypes]
    wrong = [
        f"{one.program}: {found}"
        for one in ones
        if not any(re.search(rf"\b{name}\b", one.program) for name in lacking)
        if not one.of_values or t.traits.host_sync
        if (found := difference(one, device)) is not None
    ]
    if wrong:
        raise Mismatch("\n".join(wrong))


def difference(one: Refusal, device: str) -> str | None:
    """What a program does instead of raising what the table says."""
    expected = f"expected {one.error}: {one.text}"
    try:
        for leaf in flatten(run(tensorbus, one.program, device)):
            if isinstance(leaf, tensorbus.Tensor):
                leaf.cpu()  # an asynchronous device reports it at the next read
    except Exception as raised:
        kinds = [kind.__name__ for kind in type(raised).__mro__]
        if one.error not in kinds or one.text not in _as_on_cpu(str(raised), device):
            return f"raised {type(raised).__name__}: {raised}; {expected}"
        return None
    return f"raised nothing; {expected}"


def _as_on_cpu(text: str, device: str) -> str:
    """A text without the device's own name, in which alone devices differ."""
    kind = device.partition(":")[0]
    return re.sub(rf", device='{kind}(:\d+)?'", "", text).replace(f"torch.{kind}.", "torch.")

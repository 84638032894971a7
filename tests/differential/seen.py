"""What can be seen of a value, as data that answers can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WIDER = {"bfloat16": "float32", "float16": "float32", "complex32": "complex64"}


@dataclass
class Seen:
    """One value: *kind* says which of the other fields tell it.

    A tensor has its dtype, shape, strides, version and so on in *facts*, its numbers in *values*.
    """

    kind: str
    facts: dict[str, Any] | None = None
    values: np.ndarray | None = None
    parts: tuple[Seen, ...] = ()
    name: str = ""

    @classmethod
    def of_error(cls, error: Exception) -> Seen:
        text = str(error).strip().partition("\n")[0]
        names = [kind.__name__.lstrip("_") for kind in type(error).__mro__]
        caught = names[: names.index("Exception")]
        return cls("error", {"type": caught, "text": text})

    def data(self) -> Any:
        return [self.kind, self.facts, self.values, [p.data() for p in self.parts], self.name]

    @classmethod
    def of_data(cls, data: Any) -> Seen:
        kind, facts, values, parts, name = data
        return cls(kind, facts, values, tuple(map(cls.of_data, parts)), name)


def see(value: Any, library: Any, name: str = "") -> Seen:
    """*value* as data."""
    if isinstance(value, library.Tensor):
        return Seen("tensor", facts(value), numbers(value, library), name=name)
    if isinstance(value, library.Size):
        return Seen("size", {"is": list(value)}, name=name)
    if isinstance(value, (list, tuple)):
        return Seen("parts", parts=tuple(see(v, library) for v in value), name=name)
    if isinstance(value, (float, complex)):
        return Seen(type(value).__name__, values=np.asarray(value), name=name)
    if value is None or isinstance(value, (bool, int, str)):
        return Seen(type(value).__name__, {"is": value}, name=name)
    return Seen("other", {"is": str(value)}, name=name)


def facts(t: Any) -> dict[str, Any]:
    return {
        "dtype": str(t.dtype).removeprefix("torch."),
        "shape": list(t.shape),
        "stride": list(t.stride()),
        "offset": t.storage_offset(),
        "writes": t._version,
        "requires_grad": t.requires_grad,
        "is_leaf": t.is_leaf,
        "grad_fn": type(t.grad_fn).__name__ if t.grad_fn is not None else None,
        "view": t._is_view(),
    }


def numbers(t: Any, library: Any) -> np.ndarray:
    t = t.detach().resolve_conj().resolve_neg().clone()  # NumPy's view would fix its storage
    wider = WIDER.get(str(t.dtype).removeprefix("torch."))
    return (t.to(getattr(library, wider)) if wider else t).numpy(force=True)

"""Answers as data: their encoding in JSON, their files, and when two of them agree."""

from __future__ import annotations

import base64
import builtins
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

# How far floating-point numbers of two processors may be apart, relative to the larger one, and a
# thousandth of it absolutely.
CLOSE = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 1e-5, "complex64": 1e-5}
CLOSE_FLOAT64 = 1e-9


@dataclass
class Tensor:
    """One of PyTorch's tensors. *values* has float32 numbers where the dtype is bfloat16."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    requires_grad: bool
    values: np.ndarray

    def tolist(self) -> Any:
        return self.values.tolist()


class Answers(dict[str, Any]):
    """The encoded answers to one module's questions, and the release of PyTorch that gave them."""

    def __init__(self, torch: str = "", *args: Any) -> None:
        super().__init__(*args)
        self.torch = torch

    @classmethod
    def read(cls, file: Path) -> Answers:
        if not file.exists():
            return cls()
        content = json.loads(gzip.decompress(file.read_bytes()))
        texts = content["answers"]
        return cls(content["torch"], {key: texts[n] for key, n in content["questions"].items()})

    def write(self, file: Path) -> bool:
        """Whether the file changed: one with these answers already is left alone."""
        before = Answers.read(file)
        if before.torch == self.torch and _text(before) == _text(self):
            return False
        numbers: dict[str, int] = {}  # equal answers are kept once
        questions = {
            key: numbers.setdefault(_text(self[key]), len(numbers)) for key in sorted(self)
        }
        answers = ",\n".join(numbers)
        text = (
            f'{{"torch": {_text(self.torch)},\n"questions": {json.dumps(questions, indent=0)},\n'
            f'"answers": [\n{answers}\n]}}\n'
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        return True


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _bytes(array: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"kind": array.dtype.str, "shape": list(array.shape), "data": data}


def _array(kind: str, shape: list[int], data: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(data), np.dtype(kind)).reshape(shape).copy()


def _builtin(kind: type) -> type:
    """The nearest built-in class: PyTorch's own exceptions derive from one."""
    return next(k for k in kind.__mro__ if getattr(builtins, k.__name__, None) is k)


def encode(value: Any, torch: Any = None) -> Any:
    """*value* in JSON; a ``TypeError`` for what an answer can't be made of."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is list:
        return [encode(v, torch) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(v, torch) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(k, torch), encode(v, torch)] for k, v in value.items()]}
    if type(value) is complex:
        return {"complex": [value.real, value.imag]}
    if type(value) is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, Exception):
        return {"error": _builtin(type(value)).__name__, "text": str(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return {"array": _bytes(value)}
    if isinstance(value, np.generic):
        return {"scalar": _bytes(np.asarray(value))}
    if torch is not None:
        if isinstance(value, torch.Tensor):
            return {"tensor": _tensor(value, torch)}
        if isinstance(value, (torch.dtype, torch.device, torch.layout)):
            return str(value)
    raise TypeError(
        f"an answer can't hold a {type(value).__module__}.{type(value).__name__}: return numbers, "
        "text, containers, arrays or tensors, such as str(...) or .tolist() of it"
    )


def _tensor(value: Any, torch: Any) -> dict[str, Any]:
    plain = value.detach().resolve_conj().resolve_neg()
    plain = plain.float() if plain.dtype is torch.bfloat16 else plain
    return {
        "dtype": str(value.dtype),
        "strides": list(value.stride()),
        "requires_grad": value.requires_grad,
        "values": _bytes(plain.numpy()),
    }


def decode(value: Any) -> Any:
    """What was encoded."""
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        t = value["tensor"]
        values = _array(**t["values"])
        return Tensor(t["dtype"], values.shape, tuple(t["strides"]), t["requires_grad"], values)
    if "error" in value:
        return getattr(builtins, value["error"])(value["text"])
    ((form, content),) = value.items()
    match form:
        case "tuple":
            return tuple(decode(content))
        case "dict":
            return {decode(k): decode(v) for k, v in content}
        case "complex":
            return complex(*content)
        case "bytes":
            return base64.b64decode(content)
        case "array":
            return _array(**content)
        case "scalar":
            return _array(**content)[()]
    raise ValueError(f"no answer has the form {form!r}")


def agree(recorded: Any, found: Any, rtol: float | None = None) -> str:
    """Where two answers differ, in words; empty where they agree."""
    if type(recorded) is not type(found):
        return f"{_short(found)} instead of {_short(recorded)}"
    if isinstance(recorded, Tensor):
        for field in ("dtype", "shape", "strides", "requires_grad"):
            if getattr(recorded, field) != getattr(found, field):
                return f"{field} {getattr(found, field)} instead of {getattr(recorded, field)}"
        close = CLOSE.get(recorded.dtype.removeprefix("torch.")) if rtol is None else rtol
        return agree(recorded.values, found.values, close)
    if isinstance(recorded, dict):
        if list(recorded) != list(found):
            return f"keys {_short(list(found))} instead of {_short(list(recorded))}"
        return next(filter(None, (agree(v, found[k], rtol) for k, v in recorded.items())), "")
    if isinstance(recorded, (list, tuple)):
        if len(recorded) != len(found):
            return f"{len(found)} items instead of {len(recorded)}"
        pairs = zip(recorded, found, strict=True)
        return next(filter(None, (agree(a, b, rtol) for a, b in pairs)), "")
    if isinstance(recorded, (np.ndarray, np.generic)):
        same = recorded.dtype == found.dtype and recorded.shape == found.shape
        same = same and _close_arrays(recorded, found, rtol)
    elif isinstance(recorded, Exception):
        same = str(recorded) == str(found)
    elif isinstance(recorded, (float, complex)):
        same = _close_arrays(np.asarray(recorded), np.asarray(found), rtol)
    else:
        same = recorded == found
    return "" if same else f"{_short(found)} instead of {_short(recorded)}"


def _close_arrays(a: np.ndarray, b: np.ndarray, rtol: float | None) -> bool:
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    close = CLOSE.get(a.dtype.name, CLOSE_FLOAT64) if rtol is None else rtol
    return bool(np.allclose(a, b, rtol=close, atol=close / 1000, equal_nan=True))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 200 else text[:200] + "..."

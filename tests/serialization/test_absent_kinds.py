"""Files of PyTorch with tensors that are not here: the error says what they are."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import tensorbus
from tensorbus.serialization import CheckpointError


def quantised(t: Any) -> Any:
    return {"q": t.quantize_per_tensor(t.ones(2), 0.5, 1, t.quint8)}


def quantised_model(t: Any) -> Any:
    model = t.nn.Sequential(t.nn.Linear(2, 2, bias=False))
    t.nn.init.ones_(model[0].weight)
    return t.ao.quantization.quantize_dynamic(model, {t.nn.Linear}).state_dict()


def nested(t: Any) -> Any:
    return t.nested.nested_tensor([t.ones(2), t.ones(3)])


def jagged(t: Any) -> Any:
    return t.nested.nested_tensor([t.ones(2), t.ones(3)], layout=t.jagged)


@pytest.mark.parametrize(
    "made,kind,instead",
    [
        (quantised, "quantised", r"x\.dequantize\(\)"),
        (quantised_model, "quantised", r"x\.dequantize\(\)"),
        (nested, "nested", r"x\.unbind\(\)"),
        (jagged, "nested", r"x\.unbind\(\)"),
    ],
)
@pytest.mark.parametrize("zipped", [True, False])
def test_the_error_says_what_to_do(
    pytorch_file: Callable[..., io.BytesIO], made: Any, kind: str, instead: str, zipped: bool
) -> None:
    file = pytorch_file(made, _use_new_zipfile_serialization=zipped)
    for weights_only in (True, False):
        file.seek(0)
        with pytest.raises(CheckpointError, match=f"holds {kind} tensors.*save there {instead}"):
            tensorbus.load(file, weights_only=weights_only)


def test_who_allows_the_function_gets_what_it_makes(
    pytorch_file: Callable[..., io.BytesIO],
) -> None:
    file = pytorch_file(nested)
    allowed = (lambda *parts: len(parts), "torch._utils._rebuild_nested_tensor")
    with tensorbus.serialization.safe_globals([allowed]):
        assert tensorbus.load(file) == 4

"""The formulas in the sentences of rows, computed by NumPy and SciPy, are what the rows compute."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from scipy import special

import tensorbus as torch
from tensorbus.op_engine.cores import core
from tensorbus.rows.registry import ROWS

FUNCTIONS: dict[str, Any] = {
    "abs": np.abs,
    "clamp": np.clip,
    "cumsum": lambda v: v.cumsum(1),
    "erf": special.erf,
    "erfc": special.erfc,
    "exp": np.exp,
    "i0": special.i0,
    "i1": special.i1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log_sigmoid": special.log_expit,
    "max": np.maximum,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "modified_bessel_k0": special.k0,
    "modified_bessel_k1": special.k1,
    "pi": np.pi,
    "sigmoid": special.expit,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "sum": lambda v: v.sum(1, keepdims=True),
}
PARAMETERS = {"dim": 1, "most": 0.3}
PARTIAL = {
    *"arange picked_along integers hardshrink prelu_kernel leaky_relu elu softplus".split(),
    *"threshold nll_rows nll_rows_backward scaled_exponentials distances_below smooth_l1".split(),
    "softmax_statistics",
    *"relu_backward div_floor div_trunc vector_norm std logsumexp bitwise_not".split(),
    *"layer_norm rms_norm batch_norm batch_norm_inference normalize_input normalize_weight".split(),
    *"lstm_layer gru_layer gru_layer_backward rnn_layer resampled".split(),
    *"atan2 bitwise_and bitwise_or bitwise_xor lshift rshift eq ne lt le gt ge zeta".split(),
}
"""Rows whose sentence has a formula for some elements, for other dtypes or of another notation."""


def formula(name: str) -> str:
    """What stands in the sentence as code, if it computes something."""
    found = [c for c in re.findall(r"``([^`]+)``", ROWS[name].doc) if re.search(r"[-+*/(@]", c)]
    return found[0] if found else ""


WHOLE = [name for name in ROWS if formula(name) and name not in PARTIAL]


def test_the_rows_that_are_left_out_have_formulas() -> None:
    assert len(WHOLE) > 35
    assert [name for name in PARTIAL if "``" not in ROWS[name].doc] == []


@pytest.mark.parametrize("name", WHOLE)
def test_a_row_computes_its_formula(name: str) -> None:
    row, rng = ROWS[name], np.random.default_rng(0)
    low, high = (1.05, 2.0) if name == "acosh_slope" else (0.1, 0.9)
    values: dict[str, Any] = {
        a: rng.random((3, 3)) > 0.5
        if row.operands.get(a) == "bool"
        else rng.uniform(low, high, (3, 3))
        if a in row.operands
        else PARAMETERS.get(a, 0.7)
        for a in row.arguments
    }
    if row.domain == "complex":
        values["x"] = values["x"] + 1j * rng.uniform(low, high, (3, 3))
    expected = eval(formula(name), {**FUNCTIONS, **values})
    tensors = [torch.tensor(v) if a in row.operands else v for a, v in values.items()]
    np.testing.assert_allclose(core(name)(*tensors).numpy(), expected, rtol=1e-9)

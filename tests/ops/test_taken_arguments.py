"""Arguments that PyTorch takes beside the plain ones: the results are PyTorch's, as literals."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import tensorbus

PROGRAMS = {
    # a factor among the tensors, in PyTorch's older order
    "torch.add(f, 2, f)": [3.0, 6.0, 9.0],
    "torch.sub(f, 2, f)": [-1.0, -2.0, -3.0],
    "f.add(torch.tensor(2), f)": [3.0, 6.0, 9.0],
    "f.clone().sub_(np.float32(2), f)": [-1.0, -2.0, -3.0],
    "torch.add(f, 2, f, out=torch.zeros(3))": [3.0, 6.0, 9.0],
    "torch.addcmul(f, 2, f, f)": [3.0, 10.0, 21.0],
    "f.clone().addcdiv_(2, f, f)": [3.0, 4.0, 5.0],
    "torch.addmv(2, f, 3, m, f)": [5.0, 10.0, 15.0],
    "f.addmv(2, 3, m, f)": [5.0, 10.0, 15.0],
    "f.addmv(2, m, f)": [3.0, 6.0, 9.0],
    "torch.addr(2, m, 3, f, f)[2]": [9.0, 18.0, 29.0],
    # powers of truth values
    "b ** True": [True, False, True],
    "b ** False": [True, True, True],
    "torch.pow(b, True)": [True, False, True],
    "b.clone().pow_(False)": [True, True, True],
    # numbers given as 0-dim tensors, and NumPy's
    "i.clamp(torch.tensor(2), 2)": [2, 2, 2],
    "torch.float_power(f, np.int64(2))": [1.0, 4.0, 9.0],
    "f.double().float_power_(np.float32(2))": [1.0, 4.0, 9.0],
    "torch.div(7, torch.tensor([2, -2]), rounding_mode='trunc')": [3, -3],
    "torch.div(-7, 2, rounding_mode='trunc')": -3,
    "torch.div(i, np.int64(2), rounding_mode='trunc')": [0, 1, 1],
    "torch.div(np.float32(7.5), i, rounding_mode='floor')": [7.0, 3.0, 2.0],
    "torch.special.legendre_polynomial_p(i, np.int64(2))": [1.0, 5.5, 13.0],
    "torch.result_type(i, np.int8(2)) is torch.int64": True,
    "torch.result_type(np.bool_(True), i) is torch.float32": True,
    "torch.nan_to_num(torch.tensor([float('nan'), 1.0]), 2**70)": [2.0**70, 1.0],
    "torch.allclose(f, f + 1, atol=2**70)": True,
    # indices
    "f.index_fill(0, torch.tensor(-1), 9.0)": [1.0, 2.0, 9.0],
    "f.index_put((b,), torch.tensor(9))": [9.0, 2.0, 9.0],
    "f.gather(0, torch.tensor([]))": [],
    "f.scatter(0, torch.tensor([]), f)": [1.0, 2.0, 3.0],
    "m[[torch.tensor([0]), torch.tensor([1])], 0]": [1.0, 0.0],
    # integers wrap around where a number is compared with bytes
    "torch.searchsorted(i.to(torch.uint8), -1)": 3,
    "torch.searchsorted(i.to(torch.uint8), 258)": 1,
    "torch.searchsorted(i, 1.5)": 1,
    "torch.bucketize(-1, i.to(torch.uint8))": 3,
    "torch.nn.functional.threshold(i.to(torch.uint8), -1, 7)": [7, 7, 7],
    "torch.nn.functional.threshold(i.to(torch.uint8), 2, -1)": [255, 255, 3],
    # bounds that cross
    "torch.logit(torch.tensor([0.1, 0.5]), eps=1.0)": [float("inf"), float("inf")],
    "torch.logit(torch.tensor([0.5]), eps=float('nan'))": [0.0],
    # what does not record may be written to a tensor that does
    "torch.lt(f, 2, out=torch.zeros(3).requires_grad_())": [1.0, 0.0, 0.0],
    "f.double().view(int).view(float)": [1.0, 2.0, 3.0],
}


def outcome(torch, program):
    """What a program gives, as Python's numbers."""
    names = {
        "torch": torch,
        "np": np,
        "f": torch.tensor([1.0, 2.0, 3.0]),
        "i": torch.tensor([1, 2, 3]),
        "b": torch.tensor([True, False, True]),
        "m": torch.eye(3),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(program, names)
    return result if isinstance(result, bool) else result.tolist()


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_result_is_pytorchs(program):
    made = outcome(tensorbus, program)
    assert made == PROGRAMS[program]
    if isinstance(made, list) and made:
        assert type(made[0]) is type(PROGRAMS[program][0])


def test_pytorch_gives_these_results(oracle):
    assert oracle(lambda torch: {p: outcome(torch, p) for p in PROGRAMS}) == PROGRAMS


def test_factors_among_the_tensors_warn_once(monkeypatch):
    monkeypatch.setattr("tensorbus._base.warning._SHOWN", set())
    x = tensorbus.ones(2)
    with pytest.warns(UserWarning, match="This overload of add is deprecated:") as shown:
        tensorbus.add(x, 2, x)
        x.addcmul_(2, x, x)
        tensorbus.add(x, 2, x)
    assert len(shown) == 1


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (tensorbus.add, "(input: 'Any', other: 'Any', *, alpha: 'complex' = 1"),
        (tensorbus.Tensor.add, "(self: 'Tensor', other: 'Any', *, alpha: 'complex' = 1)"),
        (tensorbus.Tensor.sub_, "(self: 'Tensor', other: 'Any', *, alpha: 'complex' = 1)"),
    ],
)
def test_the_older_order_is_not_shown(function, shown):
    assert str(inspect.signature(function)).startswith(shown)

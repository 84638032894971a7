"""Arguments that layers and functions refuse: PyTorch's types of errors, and its first sentences.

The texts are those of PyTorch 2.13.
"""

from __future__ import annotations

import pytest

import tensorbus
from tensorbus import nn
from tensorbus.nn import functional as F
from tensorbus.nn.utils import parametrizations, rnn

X, W, B = tensorbus.ones(2, 3), tensorbus.ones(4, 3), tensorbus.ones(4)
Q = tensorbus.ones(1, 2, 3)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize(
    ("dtype", "name", "c_name"),
    [
        ("float64", "Double", "double"),
        ("float16", "Half", "c10::Half"),
        ("int64", "Long", "long int"),
    ],
)
def test_a_linear_map_names_the_dtypes(shape, dtype, name, c_name, device):
    x = tensorbus.ones(shape, dtype=getattr(tensorbus, dtype), device=device)
    layer = nn.Linear(3, 4, device=device)
    text = f"^mat1 and mat2 must have the same dtype, but got {name} and Float$"
    with pytest.raises(RuntimeError, match=text):
        layer(x)
    text = f"^expected m1 and m2 to have the same dtype, but got: {c_name} != float$"
    with pytest.raises(RuntimeError, match=text):
        F.linear(x, layer.weight)
    text = f"^self and mat2 must have the same dtype, but got {name} and Float$"
    with pytest.raises(RuntimeError, match=text):
        F.linear(layer.weight[:, :3], layer.weight, layer.bias.to(x.dtype))


def test_sums_with_a_product_name_the_dtypes():
    with pytest.raises(RuntimeError, match="^mat1 and mat2 must .* but got Double and Float$"):
        tensorbus.addmm(B, X.double(), W.T)
    with pytest.raises(RuntimeError, match="^self and mat2 must .* but got Double and Float$"):
        tensorbus.addmm(B.double(), X, W.T)


REFUSED = {
    "a weight of three dimensions": (
        lambda: F.linear(X, W[None]),
        RuntimeError,
        "t() expects a tensor with <= 2 dimensions, but self is 3D",
    ),
    "a mask beside the causal one": (
        lambda: F.scaled_dot_product_attention(Q, Q, Q, tensorbus.zeros(2, 2), is_causal=True),
        RuntimeError,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
    ),
    "limits in the wrong order": (
        lambda: nn.Hardtanh(2.0, 1.0),
        AssertionError,
        "max_val (1.0) must be greater than min_val (2.0)",
    ),
    "a sequence that is no tensor": (
        lambda: rnn.pad_sequence([tensorbus.ones(2), "a"]),
        TypeError,
        "expected Tensor as element 1 in argument 0, but got str",
    ),
    "a packed sequence of data alone": (
        lambda: rnn.PackedSequence(tensorbus.ones(3)),
        AssertionError,
        "Expected data to be a list or tuple of length 2",
    ),
    "norms along a dimension that is not there": (
        lambda: nn.utils.weight_norm(nn.Linear(2, 3), dim=5),
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 5)",
    ),
    "norms of a parametrization there": (
        lambda: parametrizations.weight_norm(nn.Linear(2, 3), dim=5),
        IndexError,
        "Dimension out of range (expected to be in range of [-2, 1], but got 5)",
    ),
    "backward hooks of both kinds": (
        lambda: nn.modules.module.register_module_backward_hook(print),
        RuntimeError,
        "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
        "Please use only one of them.",
    ),
}


@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
@pytest.mark.parametrize("what", REFUSED)
def test_arguments_are_refused_as_in_pytorch(what):
    call, kind, text = REFUSED[what]
    full = nn.modules.module.register_module_full_backward_hook(lambda *_: None)
    try:
        with pytest.raises(kind) as caught:
            call()
    finally:
        full.remove()
    assert str(caught.value) == text


def test_the_older_spectral_norm_takes_vectors():
    """As PyTorch's does: a matrix of one column, whose norm is its length."""
    layer = nn.utils.spectral_norm(nn.LayerNorm(3))
    layer(tensorbus.ones(2, 3))
    tensorbus.testing.assert_close(layer.weight, tensorbus.full((3,), 3**-0.5))


def test_hooks_of_registration_see_no_parameter_that_is_none():
    seen = []
    hook = nn.modules.module.register_module_parameter_registration_hook(
        lambda module, name, value: seen.append(name)
    )
    try:
        nn.Linear(2, 2, bias=False)
    finally:
        hook.remove()
    assert seen == ["weight"]

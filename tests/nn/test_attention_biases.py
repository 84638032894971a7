"""Causal biases, the choice of ways and registered implementations, beside PyTorch."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tensorbus as torch
from tensorbus.nn.functional import attention as plain


def room(lib, name):
    return importlib.import_module(f"{lib.__name__}.nn.attention.{name}")


def tried(f):
    try:
        return repr(f())
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("sizes", [(3, 5), (4, 4), (5, 3)])
@pytest.mark.parametrize("variant", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.filterwarnings("ignore:Lower right causal bias")
def test_causal_biases_are_pytorch_s(variant, sizes, blocks, oracle, monkeypatch):
    def program(lib):
        length, sources = sizes
        rng = np.random.default_rng(0)
        q, k = (
            lib.tensor(rng.normal(size=(2, n, 4)), dtype=lib.float64).requires_grad_()
            for n in sizes
        )
        bias = getattr(room(lib, "bias"), variant)(length, sources)
        out = lib.nn.functional.scaled_dot_product_attention(q, k, k, attn_mask=bias, scale=0.4)
        (out * out).sum().backward()
        return repr(bias), int(bias.variant), out.detach(), q.grad, k.grad

    if blocks:
        monkeypatch.setattr(plain, "_SCORES", 2 * sizes[1] * 2)
    ours, theirs = program(torch), oracle(program)
    assert ours[:2] == tuple(theirs[:2])
    for mine, other in zip(ours[2:], theirs[2:], strict=True):
        np.testing.assert_allclose(mine.numpy(), other.values, rtol=1e-10, atol=1e-12)


def test_other_operations_see_the_truth_values_of_a_bias():
    bias = torch.nn.attention.bias.causal_lower_right(2, 3)
    assert (bias.shape, bias.dtype) == ((2, 3), torch.bool)
    assert torch.where(bias, 1, 0).tolist() == [[1, 1, 0], [1, 1, 1]]
    x = torch.ones(1, 2, 2)
    attend = torch.nn.functional.scaled_dot_product_attention
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        attend(x, x, x, bias, is_causal=True)
    with pytest.raises(RuntimeError, match="bias is of 2 queries and 3 keys"):
        attend(x, x, x, bias)
    with pytest.raises(AssertionError, match="causal_upper_left only supports 2D tensors"):
        torch.nn.attention.bias.causal_upper_left(2)
    with pytest.warns(UserWarning, match="Lower right causal bias"):
        torch.nn.attention.bias.causal_lower_right(3, 2)


def test_the_choice_of_ways_is_kept_and_given_back(oracle):
    def program(lib):
        from_ = lib.nn.attention
        way, cuda = from_.SDPBackend, lib.backends.cuda

        def state():
            flags = [
                cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(),
                cuda.math_sdp_enabled(), cuda.cudnn_sdp_enabled(),
            ]  # fmt: skip
            return flags, [w.name for w in from_._cur_sdpa_kernel_backends(with_priority=True)]

        seen = [repr(way.MATH), str(way.FLASH_ATTENTION), int(way.ERROR), way(2).name, [*state()]]
        with from_.sdpa_kernel([way.MATH, way.FLASH_ATTENTION], set_priority=True):
            seen.append([*state()])
            with from_.sdpa_kernel(way.CUDNN_ATTENTION):
                seen.append([*state()])
        seen.append([*state()])
        x = lib.ones(1, 1, 2, 2)
        attend = lib.nn.functional.scaled_dot_product_attention

        def nowhere():
            with from_.sdpa_kernel([]):
                attend(x, x, x)

        seen += [tried(nowhere), tried(lambda: attend(x, x, x))]
        seen += [tried(lambda: from_.sdpa_kernel(3).__enter__())]
        return seen

    assert repr(program(torch)) == repr(oracle(program))


def test_the_older_switch_of_ways_warns():
    with pytest.warns(FutureWarning, match=r"torch.backends.cuda.sdp_kernel\(\)` is deprecated"):
        context = torch.backends.cuda.sdp_kernel(enable_math=False)
    with context:
        assert not torch.backends.cuda.math_sdp_enabled()
    assert torch.backends.cuda.math_sdp_enabled()


def test_programs_may_register_implementations():
    from_, calls = torch.nn.attention, []

    class Handle:
        def remove(self):
            calls.append("removed")

    assert from_.list_flash_attention_impls() == []
    with pytest.raises(ValueError, match=r"Unknown flash attention impl 'FA4'. Available .*\[\]"):
        from_.activate_flash_attention_impl("FA4")
    from_.register_flash_attention_impl("mine", register_fn=Handle)
    from_.activate_flash_attention_impl("mine")
    assert from_.current_flash_attention_impl() == "mine"
    from_.restore_flash_attention_impl()
    assert (calls, from_.current_flash_attention_impl()) == (["removed"], None)
    with pytest.warns(UserWarning, match="no custom impl was activated"):
        from_.restore_flash_attention_impl()

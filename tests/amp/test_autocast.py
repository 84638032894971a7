"""Autocast: which op computes in which dtype, blocks, parameters that are kept, functions."""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.amp.autocast_calls import CALLS, dtypes

import tensorbus as tb
import tensorbus.nn.functional as F
from tensorbus._base.modes import RARE, this_thread
from tensorbus.cpu import amp as cpu_amp
from tensorbus.cuda import amp as cuda_amp
from tensorbus.op_engine.autocasting import settings
from tensorbus.rows.autocast_policies import policy_on


@pytest.fixture(autouse=True)
def nothing_stays() -> Any:
    yield
    assert not RARE.on and not this_thread.handlers
    assert not settings.cache and settings.nesting == 0 and settings.caching
    assert not any(settings.enabled.values())


@pytest.mark.parametrize("low", ["float16", "bfloat16"])
@pytest.mark.parametrize("wide", [True, False], ids=["from float32", "from 16 bits"])
def test_each_op_computes_in_pytorchs_dtype_on_the_cpu(low: str, wide: bool, oracle: Any) -> None:
    given = "float32" if wide else low
    assert dtypes(tb, "cpu", low, given) == oracle(lambda torch: dtypes(torch, "cpu", low, given))


def split(text: str) -> list[str]:
    return [call.strip() for call in text.replace("\n", ";").split(";") if call.strip()]


LOWER = split("""
x @ y; x @ v; v @ v; b @ y; torch.mm(x, y); torch.bmm(b, c); torch.mv(x, v);
torch.addmm(x, x, y); torch.addmv(v, x, v); torch.addr(x, v, v); torch.baddbmm(b, b, c);
torch.addbmm(x, b, c); torch.einsum('ij,jk->ik', x, y); torch.chain_matmul(x, y, x);
torch.linalg.multi_dot([x, y, x]); F.linear(x, w, p); F.linear(x, w); F.conv2d(i, k, o);
F.conv1d(s, q); F.prelu(x, v); F.scaled_dot_product_attention(x, y, x)
""")
FLOAT32 = split("""
x ** 2; x.pow(3); 2 ** x; x.exp(); x.log(); x.log1p(); x.expm1(); x.rsqrt();
x.reciprocal(); x.tan(); x.acos(); x.sinh(); x.erfinv(); x.sum(); x.prod(); x.cumsum(0);
x.cumprod(0); x.norm(); x.norm(1); torch.dist(x, y); torch.cdist(x, y);
F.cosine_similarity(x, y); F.normalize(x); torch.renorm(x, 2, 0, 1.0); x.softmax(-1);
x.log_softmax(-1); F.softmin(x, -1); F.softplus(x); F.layer_norm(x, (3,));
F.group_norm(i, 2); F.mse_loss(x, y); F.l1_loss(x, y); F.smooth_l1_loss(x, y);
F.cross_entropy(x, t); F.nll_loss(x, t); F.kl_div(x, y, reduction='sum');
F.poisson_nll_loss(x, y); F.binary_cross_entropy_with_logits(x, y);
F.soft_margin_loss(x, x.sign())
""")
AS_GIVEN = split("""
x + y; x * y; x / y; x.sqrt(); x.sin(); x.mean(); x.max(); x.amax(0); F.gelu(x); F.relu(x);
x.sigmoid(); x.tanh(); torch.cat([x, y]); torch.stack([x, y]); torch.where(x > 0, x, y);
torch.maximum(x, y); torch.addcmul(x, y, x); torch.atan2(x, y); F.max_pool2d(i, 2); x.t();
x.abs()
""")


def test_other_devices_have_the_list_that_pytorch_documents_for_accelerators() -> None:
    assert {*LOWER, *FLOAT32, *AS_GIVEN} <= {*CALLS}
    from_wide = dtypes(tb, "meta", "float16", "float32")
    from_low = dtypes(tb, "meta", "float16", "float16")
    for calls, wide, low in (
        (LOWER, "float16", "float16"),
        (FLOAT32, "float32", "float32"),
        (AS_GIVEN, "float32", "float16"),
        (["torch.cat([x, y.float()])", "torch.stack([x, y.float()])"], "float32", "float32"),
        (["F.binary_cross_entropy(x.sigmoid(), y.sigmoid())"], "RuntimeError", "RuntimeError"),
    ):
        assert {c: from_wide[c] for c in calls} == dict.fromkeys(calls, wide)
        assert {c: from_low[c] for c in calls} == dict.fromkeys(calls, low)


def test_values_and_gradients(device: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 5)).astype("f"), rng.standard_normal((5, 3)).astype("f")
    x = tb.tensor(a, device=device)
    w = tb.tensor(b, device=device, requires_grad=True)
    with tb.autocast(device, dtype=tb.float16):
        y = x @ w
        loss = F.mse_loss(y, tb.zeros(4, 3, device=device))
    assert (y.dtype, loss.dtype) == (tb.float16, tb.float32)
    low = a.astype("e").astype("d") @ b.astype("e").astype("d")
    np.testing.assert_allclose(y.detach().cpu().double().numpy(), low, rtol=2e-3, atol=2e-3)
    loss.backward()
    assert w.grad is not None and w.grad.dtype is tb.float32
    gradient = a.astype("e").astype("d").T @ (2 * low / 12)
    np.testing.assert_allclose(w.grad.cpu().numpy(), gradient, rtol=1e-2, atol=1e-2)


def test_binary_cross_entropy_is_refused_off_the_cpu_in_pytorchs_words() -> None:
    x = tb.ones(2, device="meta")
    with tb.autocast("meta", dtype=tb.float16):
        with pytest.raises(RuntimeError, match="are unsafe to autocast"):
            F.binary_cross_entropy(x, x)
        with pytest.raises(RuntimeError, match="binary_cross_entropy_with_logits"):
            tb.nn.BCELoss()(x, x)


def test_float64_integers_and_other_devices_stay() -> None:
    x, n = tb.ones(2, 2), tb.ones(2, 2, dtype=tb.int64)
    with tb.autocast("cpu", dtype=tb.float16):
        assert (x.double() @ x.double()).dtype is tb.float64
        assert (n @ n).dtype is tb.int64
        assert (tb.ones(2, 2, device="meta") @ tb.ones(2, 2, device="meta")).dtype is tb.float32


def test_blocks_nest_and_end_by_exceptions() -> None:
    x = tb.ones(2, 2)
    found = []
    with tb.autocast("cpu", dtype=tb.float16) as block:
        found.append((x @ x).dtype)
        with tb.autocast("cpu", enabled=False):
            found.append((x @ x).dtype)
            with tb.autocast("cpu", dtype=tb.bfloat16):
                found.append((x @ x).dtype)
                assert tb.get_autocast_dtype("cpu") is tb.bfloat16
        with block:
            found.append((x @ x).dtype)
        found.append((x @ x).dtype)
    assert found == [tb.float16, tb.float32, tb.bfloat16, tb.float16, tb.float16]
    with pytest.raises(KeyError), tb.autocast("cpu", dtype=tb.float16):
        raise KeyError
    assert (x @ x).dtype is tb.float32
    assert not tb.is_autocast_enabled("cpu") and tb.get_autocast_dtype("cpu") is tb.bfloat16


def test_as_a_decorator() -> None:
    @tb.autocast("cpu", dtype=tb.float16)
    def product(x: Any) -> Any:
        """A product."""
        return (x @ x).dtype

    x = tb.ones(2, 2)
    assert product(x) is product(x=x) is tb.float16
    assert (product.__name__, product.__doc__) == ("product", "A product.")


def test_only_its_own_thread_converts() -> None:
    x, got = tb.ones(2, 2), []
    with tb.autocast("cpu", dtype=tb.float16):
        thread = threading.Thread(target=lambda: got.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert got == [tb.float32]


def test_parameters_are_converted_once_in_a_block() -> None:
    w = tb.ones(2, 2, requires_grad=True)
    x = tb.ones(2, 2)
    with tb.autocast("cpu", dtype=tb.float16):
        with tb.autocast("cpu", dtype=tb.float16):
            first = (x @ w).grad_fn
        assert len(settings.cache) == 1
        x @ w
        assert len(settings.cache) == 1
        with tb.no_grad():
            assert not (x @ w).requires_grad
            w.mul_(3)
        second = x @ w  # a write is seen
        assert second[0, 0].item() == 6
        with tb.no_grad():
            x @ w
        assert (x @ w).requires_grad
    assert not settings.cache
    assert first is not None
    with tb.autocast("cpu", dtype=tb.float16, cache_enabled=False):
        assert not tb.is_autocast_cache_enabled()
        x @ w
        assert not settings.cache
    with tb.autocast("cpu", dtype=tb.float16):
        x @ w
        tb.clear_autocast_cache()
        assert not settings.cache
    a, b = (x @ w), (x @ w)
    (a + b).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_profiles_see_the_conversions() -> None:
    x = tb.ones(2, 2)
    with tb.autocast("cpu", dtype=tb.float16), tb.profiler.profile() as p:
        x @ x
    names = [e.name for e in p.events()]
    assert "aten::matmul" in names and names.count("aten::copy_") == 2


def test_functions_of_users() -> None:
    seen: list[Any] = []

    class Given(tb.autograd.Function):
        @staticmethod
        @tb.amp.custom_fwd(device_type="cpu")  # type: ignore[untyped-decorator]
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            seen.append((tb.is_autocast_enabled("cpu"), x.dtype))
            return x @ w

        @staticmethod
        @tb.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
        def backward(ctx: Any, g: Any) -> Any:
            x, _ = ctx.saved_tensors
            seen.append((tb.is_autocast_enabled("cpu"), (x @ x).dtype))
            return None, (x.t() @ g).float()

    class Wide(Given):
        @staticmethod
        @tb.amp.custom_fwd(device_type="cpu", cast_inputs=tb.float32)  # type: ignore[untyped-decorator]
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            return Given.forward(ctx, x, w)

    x, w = tb.ones(2, 2), tb.ones(2, 2, requires_grad=True)
    with tb.autocast("cpu", dtype=tb.float16):
        y = Given.apply(x, w)
    y.sum().backward()
    assert y.dtype is tb.float16
    assert seen == [(True, tb.float32), (True, tb.float16)]
    seen.clear()
    with tb.autocast("cpu", dtype=tb.float16):
        y = Wide.apply(x.half(), w)
    assert y.dtype is tb.float32
    assert seen == [(False, tb.float32)]


def test_switches() -> None:
    assert (tb.is_autocast_enabled(), tb.get_autocast_dtype("cuda")) == (False, tb.float16)
    tb.set_autocast_enabled("cpu", True)
    tb.set_autocast_dtype("cpu", tb.float16)
    x = tb.ones(2, 2)
    assert (x @ x).dtype is tb.float16
    tb.set_autocast_enabled("cpu", False)
    tb.set_autocast_enabled(enabled=False)
    tb.set_autocast_dtype("cpu", tb.bfloat16)
    assert (x @ x).dtype is tb.float32
    tb.set_autocast_cache_enabled(False)
    assert not tb.is_autocast_cache_enabled()
    tb.set_autocast_cache_enabled(True)
    assert tb.autocast_increment_nesting() == 1
    assert tb.autocast_decrement_nesting() == 0
    wrongs: tuple[Callable[[], Any], ...] = (
        lambda: tb.set_autocast_enabled("cpu", 1),  # type: ignore[arg-type]
        lambda: tb.set_autocast_dtype("cpu", 3),  # type: ignore[arg-type]
        lambda: tb.set_autocast_cache_enabled(0),  # type: ignore[arg-type]
    )
    for wrong in wrongs:
        with pytest.raises(TypeError):
            wrong()
    with pytest.warns(DeprecationWarning, match=r"Please use torch.is_autocast_enabled\('cpu'\)"):
        assert not tb.is_autocast_cpu_enabled()
    with pytest.warns(DeprecationWarning):
        tb.set_autocast_cpu_dtype(tb.float16)
    with pytest.warns(DeprecationWarning):
        assert tb.get_autocast_cpu_dtype() is tb.float16
    tb.set_autocast_dtype("cpu", tb.bfloat16)
    with pytest.warns(DeprecationWarning):
        assert tb.get_autocast_gpu_dtype() is tb.float16
    with pytest.warns(DeprecationWarning):
        tb.set_autocast_gpu_dtype(tb.float16)
    with pytest.warns(DeprecationWarning):
        tb.set_autocast_cpu_enabled(False)


def test_what_is_told_and_refused() -> None:
    with pytest.warns(UserWarning, match="CPU Autocast only supports dtypes of torch.bfloat16"):
        block = tb.autocast("cpu", dtype=tb.float64)
    x = tb.ones(2, 2)
    with block:
        assert (x @ x).dtype is tb.float32
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        tb.autocast(tb.device("cpu"))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="foo"):
        tb.autocast("foo")
    for here in ("cpu", "meta", "cuda", "mps"):  # be there one or not, as PyTorch says
        assert tb.amp.is_autocast_available(here)
    assert not tb.amp.is_autocast_available("vulkan")
    with pytest.raises(RuntimeError, match="foo"):
        tb.amp.is_autocast_available("foo")
    assert tb.get_autocast_dtype("xla") is tb.bfloat16 and tb.get_autocast_dtype("mps") is tb.half
    with pytest.warns(UserWarning, match="MPS is not available. Disabling autocast"):
        tb.autocast("mps")
    with pytest.raises(ValueError, match="no policy"):
        policy_on("wider", True)


def test_the_older_names_warn() -> None:
    x = tb.ones(2, 2)
    with pytest.warns(FutureWarning, match=r"torch.amp.autocast\('cpu', args...\)"):
        block = cpu_amp.autocast(dtype=tb.float16)
    with block:
        assert (x @ x).dtype is tb.float16
    with pytest.warns(FutureWarning, match=r"torch.amp.GradScaler\('cpu', args...\)"):
        assert cpu_amp.GradScaler().is_enabled()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cuda_amp.autocast()
        cuda_amp.GradScaler()
        cuda_amp.custom_bwd(lambda ctx: ctx)
        cuda_amp.custom_fwd(lambda ctx: ctx)
    texts = [str(w.message) for w in told if w.category is FutureWarning]
    assert texts == [
        "`torch.cuda.amp.autocast(args...)` is deprecated. Please use "
        "`torch.amp.autocast('cuda', args...)` instead.",
        "`torch.cuda.amp.GradScaler(args...)` is deprecated. Please use "
        "`torch.amp.GradScaler('cuda', args...)` instead.",
        "`torch.cuda.amp.custom_bwd(args...)` is deprecated. Please use "
        "`torch.amp.custom_bwd(args..., device_type='cuda')` instead.",
        "`torch.cuda.amp.custom_fwd(args...)` is deprecated. Please use "
        "`torch.amp.custom_fwd(args..., device_type='cuda')` instead.",
    ]


@pytest.mark.parametrize("room", [cpu_amp, cuda_amp])
def test_the_modules_of_older_names(room: Any) -> None:
    assert room.autocast_mode.autocast is room.autocast
    assert room.grad_scaler.GradScaler is room.GradScaler
    found = importlib.import_module(f"{room.__name__}.grad_scaler")
    assert found is room.grad_scaler


def test_states_of_optimizers_lie_where_pytorch_has_them() -> None:
    found = importlib.import_module("tensorbus.cuda.amp.grad_scaler")
    assert found.OptState is importlib.import_module("tensorbus.amp.grad_scaler").OptState


def test_attention_rounds_its_operands_once() -> None:
    rng = np.random.default_rng(1)
    q, k, v = (tb.tensor(rng.standard_normal((2, 5, 4)), dtype=tb.float32) for _ in range(3))
    with tb.autocast("cpu", dtype=tb.bfloat16):
        found = F.scaled_dot_product_attention(q, k, v)
    a, b, c = (t.bfloat16().double().numpy() for t in (q, k, v))
    scores = a @ b.transpose(0, 2, 1) / 2
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    exact = weights / weights.sum(-1, keepdims=True) @ c
    assert found.dtype is tb.bfloat16
    # One rounding to 8 bits at the end: scores that were rounded, too, would be farther off.
    np.testing.assert_allclose(found.double().numpy(), exact, rtol=2**-8, atol=1e-6)


def test_full_contractions_have_pytorchs_node_and_gradients() -> None:
    x = tb.arange(6.0).reshape(2, 3).requires_grad_()
    y = tb.tensordot(x, x, 2)
    assert y.grad_fn is not None and y.grad_fn.name() == "ViewBackward0"
    y.backward()
    assert y.item() == 55.0
    assert x.grad is not None and x.grad.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]

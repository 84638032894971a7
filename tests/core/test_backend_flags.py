"""Settings that programs written for PyTorch ask for and set before they compute."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

import tensorbus as torch

CUDNN = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    """The settings are those of the process: each test leaves them as it found them."""
    before = torch.backends.cudnn.set_flags()
    precision = torch.get_float32_matmul_precision()
    threads = torch.get_num_interop_threads()
    yield
    for name, value in zip(CUDNN, before, strict=True):
        setattr(torch.backends.cudnn, name, value)
    torch.set_float32_matmul_precision(precision)
    torch.set_num_interop_threads(threads)


DEFAULTS = """
import importlib
b = importlib.import_module(torch.__name__ + ".backends")
print(b.cudnn.enabled, b.cudnn.benchmark, b.cudnn.deterministic, b.cudnn.benchmark_limit)
print(b.cudnn.allow_tf32, b.cudnn.is_available(), b.cudnn.version())
print(b.cudnn.is_acceptable(torch.ones(2)))
print(b.cuda.matmul.allow_tf32, b.cuda.matmul.allow_fp16_accumulation)
print(b.cuda.matmul.allow_fp16_reduced_precision_reduction)
print(b.cuda.matmul.allow_bf16_reduced_precision_reduction)
print(b.cuda.flash_sdp_enabled(), b.cuda.math_sdp_enabled())
print(b.cuda.mem_efficient_sdp_enabled(), b.cuda.cudnn_sdp_enabled())
print(b.mkldnn.enabled, b.mkldnn.deterministic)
print(torch.get_float32_matmul_precision())
print(torch.version.cuda, torch.version.hip, torch.version.debug)
print(type(torch.version.git_version).__name__, torch.version.__version__ == torch.__version__)
"""
SHOWN = """True False False None
True False None
False
False False
True
True
True True
True True
True False
highest
None None False
str True
"""


def shown(library: str) -> str:
    """What the program of defaults prints in a fresh process."""
    code = f"import {library} as torch\n{DEFAULTS}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_defaults_are_those_of_pytorch_on_the_cpu():
    assert shown("tensorbus") == SHOWN


@pytest.mark.slow
def test_the_table_of_defaults_is_pytorchs(live_torch):
    assert shown("torch") == SHOWN


@pytest.mark.parametrize("name", [n for n in CUDNN if n != "benchmark_limit"])
def test_a_flag_is_kept_and_takes_bools_alone(name):
    cudnn = torch.backends.cudnn
    for value in (True, False, True):
        setattr(cudnn, name, value)
        assert getattr(cudnn, name) is value
    for wrong in (1, "yes", None):
        with pytest.raises(RuntimeError, match=f"{name} expects a bool, but got"):
            setattr(cudnn, name, wrong)
    assert getattr(cudnn, name) is True


def test_flags_stay_flags_when_a_path_below_them_is_imported():
    importlib.import_module("tensorbus.backends.cudnn.rnn")
    cudnn = torch.backends.cudnn
    assert cudnn.fp32_precision == "none"
    with pytest.raises(RuntimeError, match="benchmark expects a bool"):
        cudnn.benchmark = 1


def test_every_spelling_of_the_module_sees_the_same_flags():
    import tensorbus.backends.cudnn as imported
    from tensorbus.backends import cudnn

    torch.backends.cudnn.benchmark = True
    assert imported.benchmark is True and cudnn.benchmark is True
    cudnn.benchmark = False
    assert torch.backends.cudnn.benchmark is False


def test_flags_of_a_context_end_with_it_after_an_error_too():
    cudnn = torch.backends.cudnn
    before = cudnn.set_flags(_deterministic=True)
    assert before == (True, False, None, False, True)
    with pytest.raises(KeyError), cudnn.flags(enabled=False, benchmark_limit=3):
        assert cudnn.set_flags() == (False, False, 3, False, True)
        raise KeyError
    assert cudnn.set_flags() == (True, False, None, True, True)
    with pytest.raises(RuntimeError, match="deterministic expects a bool, but got str"):
        cudnn.set_flags(False, True, 5, "no")
    assert cudnn.set_flags() == (True, False, None, True, True)


def test_flags_change_no_result():
    x, w = torch.rand(1, 2, 5, 5), torch.rand(3, 2, 3, 3)
    before = torch.nn.functional.conv2d(x, w), x[0, 0] @ x[0, 1]
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.enabled = False
    after = torch.nn.functional.conv2d(x, w), x[0, 0] @ x[0, 1]
    assert torch.equal(before[0], after[0]) and torch.equal(before[1], after[1])


def test_the_precision_of_products_is_one_setting_with_two_spellings():
    matmul = torch.backends.cuda.matmul
    for level, allowed in (("high", True), ("medium", True), ("highest", False)):
        torch.set_float32_matmul_precision(level)
        assert torch.get_float32_matmul_precision() == level
        assert matmul.allow_tf32 is allowed
    matmul.allow_tf32 = True
    assert torch.get_float32_matmul_precision() == "high"
    matmul.allow_tf32 = False
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(RuntimeError, match="allow_tf32 expects a bool, but got int"):
        matmul.allow_tf32 = 1
    with pytest.raises(RuntimeError, match="expects a str, but got int"):
        torch.set_float32_matmul_precision(3)
    with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("x")
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(AttributeError):
        matmul.allow_everything = True


def test_attention_flags_are_kept():
    cuda = torch.backends.cuda
    for name in ("flash", "math", "mem_efficient", "cudnn"):
        enable, enabled = getattr(cuda, f"enable_{name}_sdp"), getattr(cuda, f"{name}_sdp_enabled")
        enable(False)
        assert enabled() is False
        with pytest.raises(RuntimeError, match="expects a bool, but got int"):
            enable(3)
        enable(True)
        assert enabled() is True


def test_precisions_of_float32_products_are_kept():
    b = torch.backends
    owners = (b, b.mkldnn, b.mkldnn.matmul, b.mkldnn.conv, b.mkldnn.rnn)
    others = (b.cudnn, b.cudnn.conv, b.cudnn.rnn, b.cuda.matmul)
    before = [owner.fp32_precision for owner in owners + others]
    assert before == ["none"] * 6 + ["tf32"] * 2 + ["none"]
    for owner in owners + others:
        now = [o.fp32_precision for o in owners + others]
        owner.fp32_precision = "ieee"
        changed = [o.fp32_precision for o in owners + others]
        assert [x is y for x, y in zip(now, changed, strict=True)].count(False) == 1
        with pytest.raises(RuntimeError, match="Unknown precision: exact"):
            owner.fp32_precision = "exact"
        with pytest.raises(TypeError, match="fp32_precision expects a str, but got int"):
            owner.fp32_precision = 3
    for owner in owners:
        owner.fp32_precision = "bf16"
    for owner in others:
        with pytest.raises(RuntimeError, match="choose one of none, ieee, tf32"):
            owner.fp32_precision = "bf16"
    for owner, value in zip(owners + others, before, strict=True):
        owner.fp32_precision = value
    for part in (b.mkldnn.conv, b.cuda.matmul):
        with pytest.raises(AttributeError):
            part.fp32 = "tf32"


def test_flags_of_mkldnn_in_a_block():
    mkldnn = torch.backends.mkldnn
    with pytest.raises(KeyError), mkldnn.flags(deterministic=True, fp32_precision="tf32"):
        assert (mkldnn.enabled, mkldnn.deterministic, mkldnn.fp32_precision) == (
            False, True, "tf32",
        )  # fmt: skip
        raise KeyError
    assert mkldnn.set_flags() == (True, False, None, "none")
    with pytest.raises(RuntimeError, match="deterministic expects a bool"):
        mkldnn.set_flags(False, "yes")
    assert mkldnn.set_flags() == (True, False, None, "none")
    for told in (torch.backends.mkl, mkldnn):
        with told.verbose(told.VERBOSE_ON) as block:
            assert block.level == 1


def test_what_computes_on_cuda_is_asked_and_kept():
    cuda = torch.backends.cuda
    libraries = (
        cuda.preferred_linalg_library, cuda.preferred_blas_library, cuda.preferred_rocm_fa_library,
    )  # fmt: skip
    for prefer in libraries:
        assert prefer() == "default"
        assert (prefer("other"), prefer()) == ("other", "other")
        with pytest.raises(RuntimeError, match="expects a str, but got int"):
            prefer(3)
        prefer("default")
    x = torch.ones(1, 1, 2, 4)
    params = cuda.SDPAParams(x, x, x, None, 0.0, False, False)
    for can in "flash efficient cudnn".split():
        assert getattr(cuda, f"can_use_{can}_attention")(params, debug=True) is False
    assert not cuda.fp16_bf16_reduction_math_sdp_allowed()
    cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert cuda.fp16_bf16_reduction_math_sdp_allowed()
    cuda.allow_fp16_bf16_reduction_math_sdp(False)
    with pytest.raises(RuntimeError, match="expects a bool"):
        cuda.allow_fp16_bf16_reduction_math_sdp(1)
    sparse = torch.backends.cusparselt
    assert (sparse.is_available(), sparse.version(), sparse.get_max_alg_id()) == (False, None, None)


def test_interop_threads_are_kept():
    torch.set_num_interop_threads(3)
    assert torch.get_num_interop_threads() == 3
    with pytest.raises(RuntimeError, match="expects a positive integer"):
        torch.set_num_interop_threads(0)
    with pytest.raises(RuntimeError, match="expects an int, but got str"):
        torch.set_num_interop_threads("a")
    assert torch.get_num_interop_threads() == 3


def test_an_importing_program_loads_no_flags():
    code = "import sys, tensorbus\nprint([m for m in sys.modules if 'tensorbus.backends' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[]\n", done.stderr


# -- fork_rng -------------------------------------------------------------------------------
def test_fork_rng_leaves_the_stream_where_it_was():
    torch.manual_seed(4)
    expected = torch.rand(6)
    torch.manual_seed(4)
    first = torch.rand(3)
    with pytest.raises(KeyError), torch.random.fork_rng(devices=[0], device_type="cpu"):
        torch.manual_seed(99)
        torch.rand(5)
        raise KeyError
    assert torch.initial_seed() == 4
    last = torch.rand(3)
    torch.manual_seed(4)
    again = torch.rand(3), torch.rand(3)
    assert torch.equal(first, again[0]) and torch.equal(last, again[1])
    assert torch.equal(first, expected[:3])


def test_seeds_are_what_int_makes_of_them():
    for seed, expected in (
        (np.int64(5), 5),
        (3.7, 3),
        (torch.tensor(4), 4),
        ("7", 7),
        (-1, 2**64 - 1),
    ):
        assert torch.manual_seed(seed).initial_seed() == expected
        assert torch.initial_seed() == expected
    assert torch.Generator().manual_seed(np.uint64(2**64 - 1)).initial_seed() == 2**64 - 1
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="Overflow when unpacking long long"):
            torch.manual_seed(seed)
    with pytest.raises(ValueError, match="invalid literal"):
        torch.manual_seed("a")
    with pytest.raises(RuntimeError, match="expected a long, but got float"):
        torch.Generator().manual_seed(3.7)


def test_fork_rng_takes_the_types_of_devices_that_pytorch_knows():
    with torch.random.fork_rng(device_type="mps"):
        pass


def test_fork_rng_decorates_and_may_be_switched_off():
    @torch.random.fork_rng()
    def draw():
        return torch.rand(2)

    torch.manual_seed(1)
    assert torch.equal(draw(), draw())
    with torch.random.fork_rng(enabled=False):
        inside = torch.rand(2)
    assert not torch.equal(inside, torch.rand(2))
    with (
        pytest.raises(RuntimeError, match="nowhere"),
        torch.random.fork_rng(device_type="nowhere"),
    ):
        pass

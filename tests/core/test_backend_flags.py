"""Settings that programs written for PyTorch ask for and set before they compute."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

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

"""The alias: programs that import torch get tensorbus, with or without a real torch around."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
import pytest

from tensorbus.as_torch import extensions
from tensorbus.torch_version import TorchVersion

PROGRAM = """
import importlib.metadata, sys
import multiprocessing
import torch
import torch.nn.functional as F
from torch.nn.modules.rnn import LSTM
from torch.autograd.gradcheck import gradgradcheck
from torch.multiprocessing.spawn import spawn

def child(answers):
    answers.put((torch.__name__, torch.ones(2).sum().item(), sys.argv))

if __name__ == "__main__":
    import tensorbus
    assert torch is tensorbus and torch.nn is tensorbus.nn and F is tensorbus.nn.functional
    assert LSTM is tensorbus.nn.LSTM and torch.__spec__.name == "tensorbus"
    assert F.__spec__.name == "tensorbus.nn.functional"
    assert torch.autograd.gradcheck.__name__ == "gradcheck" and callable(torch.autograd.gradcheck)
    assert callable(torch.multiprocessing.spawn) and torch.multiprocessing.spawn is spawn
    version = importlib.metadata.version("torch")
    assert version == torch.__version__, version
    release, _, ours = version.partition("+")
    assert release == "2.13.0" and ours == "tensorbus." + importlib.metadata.version("tensorbus")
    assert torch.__version__ >= (2, 0) and torch.__version__ > "1.13"
    assert [d.version for d in importlib.metadata.distributions(name="torch")][0] == version
    assert importlib.metadata.requires("torch") is None
    import tensorbus.as_torch
    tensorbus.as_torch.install()
    assert sum(type(f).__name__ == "Alias" for f in sys.meta_path) == 1
    for missing in ("torch.nothing", "torch.nn.nothing"):
        try:
            __import__(missing)
        except ModuleNotFoundError as error:
            assert error.name == missing and "torch is tensorbus here" in str(error), error
        else:
            raise AssertionError(missing)
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=child, args=(answers,))
    process.start()
    assert answers.get(timeout=100) == ("torch", 2.0, sys.argv)
    process.join()
    print(__file__, __spec__, sys.argv)
"""


def test_a_program_and_the_processes_that_it_spawns_get_tensorbus(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "tensorbus.as_torch", str(script), "--rate", "3"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{script} None {[str(script), '--rate', '3']}"


@pytest.mark.slow
def test_modules_and_code_run_too(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "__init__.py").write_text("")
    (tmp_path / "part" / "__main__.py").write_text(
        "import sys, torch; print(__name__, __spec__.name, sys.argv[1:], torch.__name__)"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tensorbus.as_torch", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert run("-m", "part", "x").stdout.split("\n")[0] == "__main__ part.__main__ ['x'] torch"
    code = "import sys, torch; print(sys.argv, torch.__name__)"
    assert run("-c", code, "y").stdout.strip() == "['-c', 'y'] torch"
    for wrong in ([], ["-m"], ["-m", "part.nothing"]):
        done = run(*wrong)
        assert done.returncode == 1 and "tensorbus.as_torch" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_real_torch_that_is_loaded_already_is_refused() -> None:
    program = "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\n"
    program += "import tensorbus.as_torch as a; a.install()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "RuntimeError: torch has been imported already" in done.stderr


def test_without_the_alias_nothing_changes() -> None:
    import tensorbus

    assert tensorbus.__version__ == importlib.metadata.version("tensorbus")


def test_what_is_compiled_for_pytorch_is_refused(tmp_path: Path) -> None:
    own = np._core._multiarray_umath.__file__  # type: ignore[attr-defined]
    assert not extensions.needs_pytorch(own)
    file = tmp_path / f"kernels{EXTENSION_SUFFIXES[0]}"
    file.write_bytes(b"\x7fELF\0libtorch_python.so\0libc.so.6\0")
    finder = extensions.CompiledForPyTorch()
    with pytest.raises(ImportError, match=r"kernels .* is compiled for PyTorch's C\+\+ library"):
        finder.find_spec("kernels", [str(tmp_path)])
    file.write_bytes(b"\x7fELF\0libc.so.6\0")
    assert finder.find_spec("kernels", [str(tmp_path)]) is None


@pytest.mark.parametrize(
    ("named", "needs"),
    [
        (b"libc10.so", True),
        (b"libc10_cuda.so", True),
        (b"libtorch_cpu.so", True),
        (b"c10.dll", True),
        (b"torch.dll", True),
        (b"torch_cpu.dll", True),
        (b"mylibtorch.so", False),
        (b"libtorchdata.so", False),
        (b"libc10", False),
        (b"mytorch.dll", False),
    ],
)
def test_only_the_names_of_pytorchs_libraries_refuse(
    tmp_path: Path, named: bytes, needs: bool
) -> None:
    file = tmp_path / "kernels.so"
    file.write_bytes(b"\x7fELF\0" + named + b"\0")
    assert extensions.needs_pytorch(str(file)) is needs


def test_versions_compare_as_versions() -> None:
    version = TorchVersion("2.13.0+tensorbus.0.1.0")
    assert version > "2.9" and version >= (2, 13) and version < "3" and not version < "2.13.0"
    assert version != "2.13.0" and version == "2.13.0+tensorbus.0.1.0"
    assert TorchVersion("2.1.0") == "2.1" and TorchVersion("2.0.0a1") < "2.0.0"
    assert TorchVersion("2.0.0.post1") >= "2.0" and version != "no version"
    assert hash(version) == hash(str(version)) and isinstance(version, str)

"""The stubs say what there is, and type checkers find mistakes with their help."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorbus
from tensorbus._base import absent
from tensorbus._tools import stubs as _stubs
from tensorbus._tools.overloads import OVERLOADS
from tensorbus.op_engine.names import FUNCTIONS, METHODS

CORE = Path(tensorbus.__file__).parents[1]


@functools.cache
def texts() -> dict[str, str]:
    """The stubs that the functions give, by their files' paths in the package."""
    folder = CORE / "tensorbus"
    return {path.relative_to(folder).as_posix(): text for path, text in _stubs.stubs().items()}


def test_the_files_are_what_the_functions_give():
    folder = CORE / "tensorbus"
    old = [path for path, text in texts().items() if (folder / path).read_text("utf-8") != text]
    assert old == [], "run scripts/stubs"


@pytest.mark.parametrize("space", ["linalg", "nn.functional"])
def test_every_function_of_a_namespace_is_in_its_stub(space):
    module = importlib.import_module(f"tensorbus.{space}")
    text = texts()[space.replace(".", "/") + "/__init__" * hasattr(module, "__path__") + ".pyi"]
    documented = {n for n in absent.documented()[space] if hasattr(module, n)}
    assert documented <= set(module.__all__) == names_of(ast.parse(text).body)


def test_every_class_of_results_is_in_its_stub():
    named = {n for n, c in vars(tensorbus.return_types).items() if hasattr(c, "_fields")}
    assert "topk" in named
    assert names_of(ast.parse(texts()["return_types.pyi"]).body) == named


def test_forms_of_a_signature_are_of_functions_that_are_there():
    for name in OVERLOADS:
        assert name in FUNCTIONS or name in METHODS, name


def names_of(body: list[ast.stmt]) -> set[str]:
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(ast.unparse(node.target))
        elif isinstance(node, ast.ImportFrom):
            found |= {a.asname for a in node.names if a.asname}
    return found


def test_every_public_name_of_the_package_is_in_its_stub():
    names = names_of(ast.parse(texts()["__init__.pyi"]).body)
    assert {*FUNCTIONS, *vars(tensorbus)["_LATER"], *tensorbus.__all__} <= names
    dtypes = {n for n, v in vars(tensorbus).items() if isinstance(v, tensorbus.dtype)}
    assert {"float32", "bool", "long"} <= dtypes <= names
    assert {"nn", "optim", "autograd", "utils", "linalg", "plugin"} <= names
    public = {n for n in names if not n.startswith("_")}
    assert [n for n in public if not hasattr(tensorbus, n)] == []


def test_every_member_of_tensor_is_in_its_stub():
    (tensor,) = (
        node
        for node in ast.parse(texts()["_tensor/tensor.pyi"]).body
        if isinstance(node, ast.ClassDef) and node.name == "Tensor"
    )
    slots = {"_a", "_b", "_c", "_e", "_g", "_k", "_r", "_s", "_v"}
    own = {n for n, v in vars(tensorbus.Tensor).items() if callable(v) or type(v) is classmethod}
    assert set(METHODS) | slots | own == names_of(tensor.body)


def test_checkers_know_what_subpackages_reach_later():
    later = {
        n: m for n, m in sys.modules.items() if n.startswith("tensorbus.") and "_LATER" in vars(m)
    }
    assert "tensorbus.autograd" in later
    for package, module in later.items():
        for name, part in vars(module)["_LATER"].items():
            assert _stubs._origins(package)[name] == (f"{package}.{part}", name)


def test_start_up_imports_neither_the_stubs_nor_what_writes_them():
    program = "import sys, tensorbus; print([m for m in sys.modules if 'stubs' in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


GOOD = """
import tensorbus
import tensorbus as torch
from tensorbus import Tensor, nn
from tensorbus.autograd import Function

x = torch.ones(2, 3, dtype=torch.float32, device="cpu", requires_grad=True)
y: Tensor = tensorbus.add(x, 1, alpha=2).view(-1).requires_grad_()
z: Tensor = (2.0 - x) @ x.mT + x.sum(dim=0, keepdim=True).sqrt()[..., 0] ** 2
z += 1
mask: Tensor = x == y
shape: torch.Size = x.shape
rows: int = x.shape[0]
kinds: tuple[torch.dtype, torch.device, bool] = (x.dtype, x.device, x.requires_grad)
number: float = float(x.sum())
parts: tuple[Tensor, ...] = x.split(1)
weight: nn.Parameter = nn.Parameter(torch.zeros(3)).requires_grad_()
net: nn.Module = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
generator: torch.Generator = torch.manual_seed(0)
torch.save(net.state_dict(), "file")
with torch.no_grad():
    nn.functional.relu(x).backward()
for row in x:
    row.add_(1).mul_(2)
loader = torch.utils.data.DataLoader([1, 2, 3], batch_size=2)
values, indices = x.max(dim=1)
greatest: Tensor = torch.max(x, 1).values + torch.max(x, y) + x.max()
order: Tensor = x.sort().indices + torch.topk(x, k=2, dim=0).indices + x.median(1).indices
chosen: Tensor = x[0] + x[..., None] + x[x > 0] + torch.where(x > 0, x, 0) + x.view(3, 2)
coordinates: tuple[Tensor, ...] = torch.where(x > 0) + x.nonzero(as_tuple=True)
named: torch.return_types.max = torch.max(x, dim=1, keepdim=True)
made: Tensor = torch.zeros(2, dtype=float, device=0, layout=torch.strided, requires_grad=True)
moved: Tensor = x.to("cpu", torch.float64, copy=True).to(dtype=torch.float32).to(y)
kind: str = x.type()
active: Tensor = nn.functional.gelu(nn.functional.relu(x), approximate="tanh")
fit: Tensor = nn.functional.softmax(nn.functional.mse_loss(x, y, reduction="sum"), dim=-1)
size: int = x.size(-1)
strides: tuple[int, ...] = x.stride()
length: Tensor = torch.linalg.norm(x, dim=-1, keepdim=True, dtype=torch.float64, out=y)
product: Tensor = torch.linalg.multi_dot([x, x.mT], out=None)


@torch.no_grad()
def halved(x: Tensor) -> Tensor:
    return x / 2


half: Tensor = halved(x)


class Double(Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor) -> Tensor:
        return x * 2
"""

BAD = """
import tensorbus as torch
from tensorbus import nn

x = torch.ones(2)
torch.adds(x, x)  # attr-defined
x.veiw(-1)  # attr-defined
torch.add(x)  # call-arg
torch.add(x, 1, beta=2)  # call-arg
x + "a"  # operator
torch.exp([1.0])  # arg-type
x.transpose("a", 0)  # arg-type
text: str = x.sum()  # assignment
x.dtype = torch.float32  # misc
torch.flaot32  # attr-defined
nn.Linaer(1, 2)  # attr-defined
nn.Linear("a", 2)  # arg-type
torch.optim.SDG  # attr-defined
torch.linalg.nrom  # attr-defined
torch.linalg.norm([1.0])  # arg-type
torch.linalg.cross(x, x, axes=0)  # call-arg
torch.linalg.matrix_power(x, 2, out="x")  # arg-type
words: str = torch.linalg.vecdot(x, x)  # assignment
x.relu_().shape.ndim  # attr-defined
torch.max(x, 1).value  # attr-defined
torch.sort(x).indexes  # attr-defined
part: str = x[0]  # assignment
torch.zeros(2, dtype="float32")  # arg-type
torch.zeros(2, device=torch.float32)  # arg-type
torch.ones(2, grad=True)  # call-arg
nn.functional.rleu(x)  # attr-defined
nn.functional.relu([1.0])  # arg-type
nn.functional.gelu(x, approx="tanh")  # call-arg


@torch.no_grad()
def halved(x: torch.Tensor) -> torch.Tensor:
    return x / 2


halved("a")  # arg-type
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory) -> str:
    """What mypy says of two programs of a user, ``good.py`` and ``bad.py``."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("checking types needs mypy (extra `test`)")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "good.py").write_text(GOOD)
    (folder / "bad.py").write_text(BAD)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "good.py", "bad.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert not done.stderr and done.returncode == 1, done.stdout + done.stderr
    assert "(checked 2 source files)" in done.stdout, done.stdout
    return done.stdout


@pytest.mark.slow
def test_a_correct_program_passes_a_strict_check(complaints):
    assert [line for line in complaints.splitlines() if not line.startswith("bad.py:")] == [
        f"Found {complaints.count(': error: ')} errors in 1 file (checked 2 source files)"
    ]


@pytest.mark.slow
def test_mistakes_are_found_where_they_are(complaints):
    expected = [
        (number, line.rpartition("# ")[2])
        for number, line in enumerate(BAD.splitlines(), 1)
        if "# " in line
    ]
    found = re.findall(r"^bad\.py:(\d+): error: .*\[([\w-]+)\]$", complaints, re.M)
    assert [(int(line), code) for line, code in found] == expected

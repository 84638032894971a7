"""After a fork, the CPU works in the child and accelerators say that they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

PROGRAM = """
import os, sys, traceback
import tensorbus as torch
{before}
sys.stdout.flush()
child = os.fork()
if child == 0:
    try:
        {inside}
    except Exception as e:
        print(type(e).__name__, e)
    sys.stdout.flush()
    os._exit(0)
os.waitpid(child, 0)
{after}
"""


@pytest.fixture
def run() -> Callable[..., str]:
    def program(before: str, inside: str, after: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(before=before, inside=inside, after=after)],
            capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return program


def test_the_cpu_goes_on(run: Callable[..., str]) -> None:
    out = run(
        "x = torch.ones(200, 200, requires_grad=True); y = (x @ x).sum()",
        "y.backward(); print(x.grad[0, 0].item(), (x.detach() @ x.detach()).sum().item())",
    )
    assert out.split() == ["400.0", "8000000.0"]


@pytest.mark.parametrize("survives", [True, False])
def test_the_trait_decides_what_the_child_may_do(run: Callable[..., str], survives: bool) -> None:
    child, parent = run(
        "from tensorbus import discovery\n"
        "from tensorbus_conformance.devices.strict import StrictBackend\n"
        f"plugged = discovery.plugged(StrictBackend(survives_fork={survives}))\n"
        "x = torch.ones(2, device=plugged.__enter__()); x + x",
        "print((x + x).tolist())",
        "print((x + x).tolist())",
    ).splitlines()
    assert parent == "[2.0, 2.0]"
    if survives:
        assert child == parent
    else:
        assert child.startswith("RuntimeError the parent process used device") and "spawn" in child


def test_an_accelerator_in_use_names_spawn(run: Callable[..., str], accelerator: str) -> None:
    out = run(
        f"x = torch.ones(2, device={accelerator!r}); (x + x).tolist()",
        "print((x + x).tolist())",
        "print((x + x).tolist())",
    )
    child, parent = out.splitlines()
    assert child.startswith("RuntimeError") and "spawn" in child and accelerator in child
    assert parent == "[2.0, 2.0]"


def test_an_accelerator_first_used_in_the_child_works(
    run: Callable[..., str], accelerator: str
) -> None:
    out = run("", f"print((torch.ones(2, device={accelerator!r}) * 3).tolist())")
    assert out.strip() == "[3.0, 3.0]"


@pytest.mark.parametrize(
    "use",
    [
        "x + x",
        "x.tolist()",
        "torch.ones(3, dtype=torch.int32, device=x.device)",
        "x[0].exp()",
        "x.add_(1)",
    ],
)
def test_a_backend_that_does_not_survive_a_fork_refuses_every_use(
    run: Callable[..., str], use: str
) -> None:
    # Any backend, whatever its library: here the CPU's own, told not to survive.
    before = (
        "from dataclasses import replace\n"
        "backend = type(torch.ones(1)._k.backend)\n"
        "backend.traits = replace(backend.traits, survives_fork=False)\n"
        "x = torch.ones(2); x + x"
    )
    child, parent = run(before, f"print({use})", "print((x + x).tolist())").splitlines()
    assert child.startswith("RuntimeError the parent process used device 'cpu'")
    assert "spawn" in child
    assert parent == "[2.0, 2.0]"

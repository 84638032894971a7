"""docs/plugins.md names every hook, field and group, and its examples run."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
import tensorbus.distributed as dist
from tensorbus import cli, discovery
from tensorbus.discovery.metadata import BACKENDS, COMMANDS, COMMS, GROUPS, OVERLAYS
from tensorbus.plugin import float32, hooks

DOCS = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", DOCS, re.DOTALL))


def test_every_hook_is_documented_with_its_arguments():
    names = [n for n in vars(hooks) if n.startswith("tensorbus_")]
    assert len(names) >= 2
    for name in names:
        arguments = ", ".join(inspect.signature(getattr(hooks, name)).parameters)
        assert f"- `{name}({arguments})` returns" in DOCS


@pytest.mark.parametrize("spec", [hooks.BackendSpec, hooks.CommSpec, hooks.OverlaySpec])
def test_every_field_of_a_spec_is_documented_in_its_list(spec):
    start = DOCS.index(f"`{spec.__name__}` has these fields:")
    bullets = re.findall(r"^- (`\w+`(?:, `\w+`)*):", DOCS[start:].split("\n\n")[1], re.MULTILINE)
    listed = [name for group in bullets for name in re.findall(r"\w+", group)]
    assert sorted(listed) == sorted(f.name for f in dataclasses.fields(spec))


def test_every_group_is_documented():
    assert all(f"| `{group}` |" in DOCS for group in GROUPS)


def test_the_documented_backend_computes(install):
    source = EXAMPLES["acme_mirror"]
    install("acme-mirror", {BACKENDS: {"mirror": "acme_mirror"}}, {"acme_mirror": source})
    mirror = discovery.backend("mirror")
    x = mirror.from_host(np.array([1.0, 2.0], np.float32), float32, 0)
    assert mirror.to_host(mirror.kernel("add", float32, 0)(x, x), float32).tolist() == [2.0, 4.0]


def test_the_documented_comm_moves_the_tensors_of_a_job_of_one(install):
    install("acme-alone", {COMMS: {"alone": "acme_alone"}}, {"acme_alone": EXAMPLES["acme_alone"]})
    x = torch.ones(3)

    def rank() -> list[float]:
        dist.all_reduce(x, dist.ReduceOp.AVG)
        out = torch.zeros(3)
        dist.all_gather_into_tensor(out, x + 1)
        return out.tolist()

    assert dist.local.run(rank, 1, backend="alone") == [[2.0, 2.0, 2.0]]


def test_the_documented_overlay_and_command_load(install):
    install("acme-fast", {OVERLAYS: {"fast": "acme_fast"}}, {"acme_fast": EXAMPLES["acme_fast"]})
    (overlay,) = discovery.overlays("cpu", "minimum")
    assert overlay.supports("minimum", float32, 0)
    assert overlay.kernel("minimum", float32, 0)(1, 2) == 1
    source = {"acme_hello": EXAMPLES["acme_hello"]}
    install("acme-hello", {COMMANDS: {"hello": "acme_hello"}}, source)
    assert cli.main(["hello", "--to", ""]) == 2

"""The README's example runs, its links lead somewhere, and its commands are those that CI runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_example_is_the_one_in_examples():
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert block == (ROOT / "examples" / "quickstart.py").read_text("utf-8")
    assert len(block.splitlines()) <= 25


def test_the_example_learns(device):
    command = [sys.executable, str(ROOT / "examples" / "quickstart.py"), device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)", done.stdout)]
    assert len(losses) == 6
    assert losses[-1] < 0.01 < losses[0]


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "docs/index.md", "docs/plugins.md"]
)
def test_links_lead_to_files(document):
    text = (ROOT / document).read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / document).parent.joinpath(target).exists(), target


def test_the_two_commands_are_scripts_and_ci_runs_the_tests_through_the_same():
    for script in re.findall(r"^(scripts/\w+)", README, re.MULTILINE):
        assert os.access(ROOT / script, os.X_OK), script
    assert "scripts/check" in (ROOT / ".ci" / "run").read_text("utf-8")
    assert "scripts/test" in (ROOT / "scripts" / "check").read_text("utf-8")


def test_every_extra_is_in_the_table():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    section = project[project.index("[project.optional-dependencies]") :].split("\n[project.")[0]
    extras = re.findall(r"^([\w-]+) = \[", section, re.MULTILINE)
    assert len(extras) >= 9
    for extra in extras:
        assert f"`{extra}`" in README, extra

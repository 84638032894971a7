"""The site's map: each page has a room, each link a page, and nothing loads from elsewhere."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tensorbus as torch
from tensorbus._base import absent

ROOT = Path(__file__).parents[1]
SETTINGS = (ROOT / "mkdocs.yml").read_text("utf-8")
NAV = SETTINGS[SETTINGS.index("\nnav:\n") :]
ENTRIES = re.findall(r"^      - [^:\n]+: (\S+)$", NAV, re.M)


def hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


repository, reference = hook("mkdocs_repository"), hook("mkdocs_reference")


def test_each_page_has_one_place_in_the_nav_and_each_entry_a_page():
    written = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    made = {f"reference/{space}.md" for space in reference.SPACES}
    assert sorted(ENTRIES) == sorted(written | made | {*repository.PAGES})
    # Whatever is neither a room nor an entry would have escaped the two patterns.
    rooms = re.findall(r"^  - ([^:\n]+):$", NAV, re.M)
    assert len(NAV.strip().splitlines()) == 1 + len(rooms) + len(ENTRIES)
    assert rooms == [
        "Start",
        "From PyTorch",
        "Devices",
        "Distributed",
        "Performance",
        "API reference",
        "Backend authors",
        "Comm authors",
        "Maintainers",
    ]


def test_pages_of_the_repository_exist_and_their_links_are_the_sites():
    for page, source in repository.PAGES.items():
        assert not (ROOT / "docs" / page).exists()
        text = repository.at_site((ROOT / source).read_text("utf-8"), source)
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert target in ENTRIES, f"{source}: {target}"
    moved = repository.at_site
    assert moved("[a](../benchmarks/README.md#b)", "docs/index.md") == "[a](benchmarks.md#b)"
    assert moved("[a](docs/index.md)", "README.md") == "[a](index.md)"
    assert moved("see [the licence](LICENSE).", "README.md") == "see the licence."
    assert moved("nets[0](x) [a](#b)", "README.md") == "nets[0](x) [a](#b)"


def test_the_settings_and_the_style_load_nothing_from_elsewhere():
    assert "highlightjs: false" in SETTINGS
    style = (ROOT / "docs" / "site.css").read_text("utf-8")
    for text in (SETTINGS, style):
        assert "//" not in text
    assert "@import" not in style and "url(" not in style


@pytest.mark.parametrize("space", ["torch", "nn.functional", "optim"])
def test_the_reference_has_every_present_name_that_can_be_called(space):
    home = getattr(torch, space, torch) if "." not in space else torch.nn.functional
    names = {
        name
        for name in absent.documented()[space]
        if callable(getattr(home, name, None)) and not inspect.ismodule(getattr(home, name))
    }
    page = reference.page(space)
    headings = re.findall(r"^## (\w+)$", page, re.M)
    assert len(names) > 10 and names <= {*headings}
    assert headings == sorted({*headings}, key=lambda n: (n.lower(), n))
    assert page.count("```") % 2 == 0
    assert " at 0x" not in page and "``" not in page.replace("```", "")


def test_a_page_of_the_reference_shows_signature_sentence_and_example():
    page = reference.page("Tensor")
    add = page[page.index("## add\n") : page.index("## add_\n")]
    assert "torch.Tensor.add(" in add and "alpha: complex = 1" in add and "broadcast" in add
    assert re.search(r"^```text\ntorch\.Tensor\.grad\n```$", page, re.M), "a property has no call"
    for space in ("serialization", "cuda"):
        assert f"\n```text\ntorch.{space}." in reference.page(space)
    saved = reference.page("serialization")
    saved = saved[saved.index("## save\n") : saved.index("## save_file\n")]
    assert re.search(r"\n```text\n>>> import tensorbus.*\n```\n", saved, re.S)


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install 'tensorbus[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    pages = {p: p.read_text("utf-8") for p in tmp_path.rglob("*.html")}
    assert len(pages) >= len(ENTRIES)
    for path, text in pages.items():
        loads = re.findall(r"<(?:link|script|img|iframe)\b[^>]*?(?:href|src)=\"([^\"]*)\"", text)
        alone = path.name == "404.html" or path.parent.name == "reports"  # of an earlier check
        assert loads or alone, path
        assert [a for a in loads if "//" in a] == [], path
    for path in tmp_path.rglob("*.css"):
        remote = re.findall(r"url\([\"']?(?:https?:)?//|@import", path.read_text("utf-8"))
        assert remote == [], path

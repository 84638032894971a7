"""The site: the suite's reports are made for it, and none lies in the repository."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
HOOK = ROOT / "scripts" / "mkdocs_reports.py"


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The functions that mkdocs calls, with reports in *tmp_path* / "reports"."""
    spec = importlib.util.spec_from_file_location("mkdocs_reports", HOOK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.REPORTS == ROOT / "build" / "reports"
    monkeypatch.setattr(module, "REPORTS", tmp_path / "reports")
    return module


def page(name: str) -> SimpleNamespace:
    return SimpleNamespace(file=SimpleNamespace(src_uri=name))


def test_mkdocs_calls_the_hook():
    lines = (ROOT / "mkdocs.yml").read_text("utf-8").splitlines()
    assert lines[lines.index("hooks:") + 1] == f"  - {HOOK.relative_to(ROOT).as_posix()}"


def test_without_reports_the_page_is_as_written(hook, tmp_path):
    assert hook.on_page_markdown("text", page=page("capabilities.md"), files=None) == "text"
    hook.on_post_build(config={"site_dir": str(tmp_path / "site")})
    assert not (tmp_path / "site").exists()


def test_with_reports_the_page_is_theirs_and_leads_to_them(hook, tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "capabilities.md").write_text("# Made\n", "utf-8")
    for device in ("cpu", "opencl"):
        (tmp_path / "reports" / f"{device}.html").write_text(f"<p>{device}</p>", "utf-8")
    assert hook.on_page_markdown("text", page=page("index.md"), files=None) == "text"
    made = hook.on_page_markdown("text", page=page("capabilities.md"), files=None)
    assert made.startswith("# Made\n") and "text" not in made
    hook.on_post_build(config={"site_dir": str(tmp_path / "site")})
    # The page is <site>/capabilities/index.html.
    for device in ("cpu", "opencl"):
        assert f'<a href="../reports/{device}.html">{device}</a>' in made
        copied = tmp_path / "site" / "reports" / f"{device}.html"
        assert copied.read_text("utf-8") == f"<p>{device}</p>"


def test_the_reports_are_written_where_the_hook_reads_and_git_does_not():
    for script in ("reports", "check"):
        text = (ROOT / "scripts" / script).read_text("utf-8")
        assert '--html "build/reports/$device.html"' in text, script
        assert "--matrix build/reports/capabilities.md build/reports/*.json" in text, script
    assert "/build/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_no_generated_page_is_in_the_repository():
    command = ["git", "ls-files", "-z", "docs/*.html", "docs/*.json"]
    try:
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the list of the repository's files needs git and a checkout")
    assert [n for n in names.split("\0") if n] == []
    made = "Made by `tensorbus conformance --matrix`"
    assert not any(made in p.read_text("utf-8") for p in (ROOT / "docs").glob("*.md"))

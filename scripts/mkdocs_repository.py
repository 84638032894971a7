"""Puts pages of the repository that do not lie in docs/ into the site.

mkdocs calls the two functions, as mkdocs.yml asks it to.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "benchmarks.md": "benchmarks/README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "overview.md": "README.md",
}
"""What each page of the site is in the repository."""

_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
_PLACES = {source: page for page, source in PAGES.items()}


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages to those of docs/."""
    from mkdocs.structure.files import File

    for page, source in PAGES.items():
        text = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=at_site(text, source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page with its links to these files leading to the site's pages."""
    return at_site(markdown, f"docs/{page.file.src_uri}")


def at_site(markdown: str, source: str) -> str:
    """The text of the repository's file *source* with links that hold in the site.

    A link to a file that is no page there leaves its words.
    """

    def moved(link: re.Match[str]) -> str:
        words, target, heading = link[1], link[2], link[3] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (ROOT / target).exists():
            return link[0]  # no link: code may look like one
        page = _PLACES.get(target) or target.removeprefix("docs/")
        return words if page == target else f"[{words}]({page}{heading})"

    return _LINK.sub(moved, markdown)

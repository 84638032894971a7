"""Puts the suite's reports into the site, where ``scripts/reports`` has made some.

mkdocs calls the two functions, as mkdocs.yml asks it to.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

REPORTS = Path(__file__).resolve().parents[1] / "build" / "reports"
"""What ``scripts/reports`` writes: capabilities.md, and a page for each device."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page of capabilities, made from the reports and with links to them, if there are any."""
    made = REPORTS / "capabilities.md"
    if page.file.src_uri != "capabilities.md" or not made.exists():
        return markdown
    pages = sorted(REPORTS.glob("*.html"))
    links = ", ".join(f'<a href="../reports/{p.name}">{p.stem}</a>' for p in pages)
    return f"{made.read_text('utf-8')}\n## The reports\n\n{links}\n"


def on_post_build(config: Any, **_: Any) -> None:
    """Copy the reports themselves into the site."""
    for file in REPORTS.glob("*.html"):
        target = Path(config["site_dir"]) / "reports" / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)

"""Reports as pages: HTML, JUnit, Markdown; well formed, whatever a backend says."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tensorbus_conformance import (
    Report,
    Result,
    to_html,
    to_junit,
    to_markdown,
)
from tensorbus_conformance.case import LEVELS
from tensorbus_conformance.report import (
    BLOCKED,
    CRASH,
    FAIL,
    FALLBACK,
    OUTCOMES,
    PASS,
    QUALITY,
    UNSUPPORTED,
)
from tensorbus_conformance.reporting import matrix
from tensorbus_conformance.reporting.text import printable

# -- HTML ------------------------------------------------------------------------------------------
VOID = {"meta", "input", "link", "br", "img"}


class Page(HTMLParser):
    """The page as a browser reads it: tags that match, texts, attributes."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def page(sample: Report) -> Page:
    return Page(to_html(sample))


def test_the_page_is_whole_and_alone(page: Page, sample: Report) -> None:
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in page.all("a")]
    assert links and all(link[0] == "#" and link[1:] in ids for link in links)
    assert not any({"src", "srcset"} & set(a) for _, a in page.tags)
    assert not page.all("link") and not page.all("img")
    text = to_html(sample)
    assert "url(" not in text and "@import" not in text and "http" not in text.replace("http-", "")
    assert {a.get("lang") for a in page.all("html")} == {"en"}


def test_nothing_that_a_backend_says_becomes_markup(
    page: Page, sample: Report, only: Callable[..., Report], evil: str
) -> None:
    (script,) = page.texts["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for a in page.all("meta") if "http-equiv" in a)
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert printable(evil) in page.texts["pre"]
    assert not any(name.startswith("on") for _, a in page.tags for name in a)
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", to_html(sample))
    hostile = only(
        Result(f"L1/{evil}/{evil}", evil, FAIL, evil, excepted=None, used=(evil,)),
        Result(f"L1/x{evil}/float32", evil, FAIL, evil, excepted=evil),
        *(Result(f"L1/{evil}/{i}", evil, o, evil, used=(evil,)) for i, o in enumerate(OUTCOMES)),
        device=evil,
        pattern=evil,
        versions={evil: evil},
        seeds={evil: 1},
        capabilities={"dtypes": [evil], "details": {evil: evil}},
    )
    assert len(Page(to_html(hostile)).all("script")) == 1


def test_cells_have_colour_and_letter(
    page: Page, sample: Report, only: Callable[..., Report]
) -> None:
    cells = dict(_table(to_html(sample)))
    assert cells["L1 pointwise add", "float32"] == ("pass", "✓° 0.50 x3.0")
    assert cells["L1 pointwise add", "bfloat16"] == ("none", "-")
    assert cells["L1 pointwise exp", "float32"] == ("quality", "Q 3.90")
    assert cells["L1 pointwise pow", "float32"] == ("gap", "G")
    assert cells["L1 reductions sum", "float32"] == ("fail", "F 80.00")
    assert cells["L1 reductions sum", "int8"] == ("crash", "X")
    assert cells["L4 composite gelu", "float32"] == ("fallback", "CPU")
    assert cells["L4 composite norm", "float32"] == ("blocked", "B")
    mixed = only(
        Result("L4/gelu/float32/a", "composite", FAIL, "wrong"),
        Result("L4/gelu/float32/b", "composite", FALLBACK, used=("erf",)),
    )
    assert dict(_table(to_html(mixed)))["L4 composite gelu", "float32"] == ("fail", "F+CPU")


def _table(text: str):
    """((row, dtype), (class, text)) of each cell of the matrices."""
    for table in re.findall(r'<table class="matrix">(.*?)</table>', text, re.DOTALL):
        heads = re.findall(r'<th scope="col">(.*?)</th>', table)
        for name, row in re.findall(r'<tr data-text="(.*?)".*?>(.*?)</tr>', table):
            cells = re.findall(r"<td(.*?)>(.*?)</td>", row)
            for head, (attributes, cell) in zip(heads[1:], cells, strict=True):
                kind = re.search('class="(.*?)"', attributes)
                shown = re.sub("<.*?>", "", cell).replace("&deg;", "°").replace("&times;", "x")
                yield (name, head), (kind[1] if kind else "", shown)


def test_tables_have_headers_and_failures_their_commands(page: Page) -> None:
    assert all("scope" in a for a in page.all("th"))
    commands = [text for text in page.texts["pre"] if text.startswith("tensorbus conformance")]
    # Three cases of take fail alike and are told once.
    assert commands == [
        f"tensorbus conformance npu:1 -k '{id}'"
        for id in ("L1/sum/float32/edges", "L1/sum/int8/edges", "L1/take/int8/a")
    ]
    assert any("L1/take/int8/b, L1/take/bool/a" in text for text in page.texts["article"])
    assert "npu:1 does not conform: 5 of 18 cases fail (1.5 s)" in page.texts["p"][0]
    assert any("the vendor's <pow>" in text for text in page.texts["td"])


def test_the_page_of_a_good_report_and_of_an_empty_one(only: Callable[..., Report]) -> None:
    good = Page(to_html(only(Result("L1/add/int8/a", "pointwise", PASS), levels=LEVELS)))
    said = f"npu:1 conforms to profile full ({', '.join(LEVELS)}): 1 case in 1.5 s"
    assert said in good.texts["p"][0]
    assert not good.all("article")
    empty = Page(to_html(only(pattern="nothing")))
    assert "no case of L0, L1, L4 matches 'nothing'" in empty.texts["p"][0]


def test_a_page_stays_small(only: Callable[..., Report]) -> None:
    many = [
        Result(f"L1/op{op}/{dtype}/v{v}", f"family{op % 9}", outcome, f"{op} {v} {'x' * 500}", 0.5)
        for op in range(200)
        for dtype in ("float32", "float16", "int8", "bool")
        for v, outcome in enumerate((PASS, FAIL, QUALITY, UNSUPPORTED, BLOCKED, FALLBACK))
    ]
    text = to_html(only(*many))
    assert len(text) < 2_000_000
    assert len(re.findall("<article", text)) == 200  # the four dtypes of an op fail alike
    distinct = [replace(r, outcome=FAIL, message=f"{i} {r.message}") for i, r in enumerate(many)]
    text = to_html(only(*distinct))
    assert len(re.findall("<article", text)) == 1000
    assert "3,800 more failures in the JSON file: L1/op" in text


# -- JUnit -----------------------------------------------------------------------------------------
def test_junit_counts_what_it_holds(sample: Report) -> None:
    root = ET.fromstring(to_junit(sample).encode())
    assert root.tag == "testsuites" and root.attrib["tests"] == "18"
    assert (root.attrib["failures"], root.attrib["errors"], root.attrib["skipped"]) == (
        "4", "1", "6",
    )  # fmt: skip
    suites = {suite.attrib["name"]: suite for suite in root}
    assert list(suites) == [
        "L0 runtime", "L0 copy_", "L1 pointwise", "L1 reductions", "L1 index", "L4 composite",
    ]  # fmt: skip
    for suite in root:
        cases = suite.findall("testcase")
        found = Counter(child.tag for case in cases for child in case)
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == found["failure"]
        assert int(suite.attrib["errors"]) == found["error"]
        assert int(suite.attrib["skipped"]) == found["skipped"]


def test_junit_says_why(sample: Report, evil: str) -> None:
    root = ET.fromstring(to_junit(sample).encode())
    cases = {case.attrib["name"]: case for case in root.iter("testcase")}
    assert [len(case) for case in cases.values()].count(0) == 6  # passes
    failure = cases["L1/sum/float32/edges"].find("failure")
    assert failure.attrib["message"] == printable(evil)
    assert failure.text.endswith("tensorbus conformance npu:1 -k 'L1/sum/float32/edges'")
    assert cases["L1/sum/int8/edges"].find("error").attrib["type"] == CRASH
    skipped = cases["L1/pow/float32/edges"].find("skipped")
    assert skipped.attrib["message"] == "known gap: the vendor's <pow>: wrong"
    assert cases["L1/exp/float32/edges"].find("system-out").text == "quality: 3.9 ULP"
    assert cases["L4/gelu/float32/plain"].find("skipped").attrib["type"] == FALLBACK
    properties = {p.attrib["name"]: p.attrib["value"] for p in root[0].iter("property")}
    assert properties["device"] == "npu:1 Example <NPU>"
    assert properties["seed.explore"] == "7" and properties["git.dirty"] == "True"


# -- the page of capabilities ----------------------------------------------------------------------
def test_markdown_tables_are_even(sample: Report) -> None:
    text = to_markdown([sample, replace(sample, backend="cpu", index=0)])
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for block in re.split(r"\n(?!\|)", text):
        widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1, block
    assert "| `add` |  |  |  | - | ✓° | 0.50 `add` float32 |" in rows
    assert "| `exp` |  |  | ✓ |  | Q | 3.90 `exp` float32 |" in rows
    assert "| `sum` |  | X |  |  | F | 80.00 `sum` float32 |" in rows
    assert "| `gelu`, `erf` | CPU |  |" in rows
    assert "### npu:1 L1: primitives" in text
    for target in re.findall(r"\]\(#(.*?)\)", text):
        assert re.search(rf"^## {target[:3]}:{target[3:]}$", text, re.MULTILINE)


# -- the page of the documentation -----------------------------------------------------------------
def test_the_documentation_explains_every_outcome_and_its_example_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "conformance-report.md").read_text("utf-8")
    for state in matrix.STATES.values():
        assert re.search(rf"^\| {state.name} \| (yes|no) ", text, re.MULTILINE), state
        assert re.search(rf"^\| {state.symbol}[ |]", text, re.MULTILINE), state
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["report"].ok and names["again"].counts() == names["report"].counts()
    assert names["slowest"] in names["again"].results

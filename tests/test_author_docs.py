"""The pages for authors of plugins: complete by introspection, true by running what they show."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorbus as torch
from tensorbus import cli, discovery, plugin
from tensorbus._dispatch import kinds, resolve
from tensorbus.discovery.metadata import BACKENDS, OVERLAYS
from tensorbus.plugin import (
    PRIMITIVES,
    VIEWS,
    Backend,
    Capabilities,
    ImmutableArrayBackend,
    Overlay,
    float32,
    hooks,
    int64,
)
from tensorbus.plugin.array_library.runtime import ArrayRuntime
from tensorbus.plugin.backend import SINCE
from tensorbus.plugin.immutable_arrays.runtime import ImmutableRuntime
from tensorbus.plugin.kernel_language import Dialect
from tensorbus.rows.registry import ROWS
from tensorbus_conformance import OUTCOMES, all_cases, exceptions, run
from tensorbus_conformance.comms import cases as comms

FOLDER = Path(__file__).parents[1] / "docs"
PAGES = {page.name: page.read_text("utf-8") for page in FOLDER.glob("*.md")}
CONTRACT, BASES = PAGES["contract.md"], PAGES["backends.md"]
MUST, MAY = "## Methods that a backend must have", "## Methods that a backend may have"


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next of any level."""
    return re.split(r"^#", page[page.index(heading) + len(heading) :], maxsplit=1, flags=re.M)[0]


def blocks(page: str) -> list[str]:
    """The Python examples of a page; what ``...`` stands for is the reader's."""
    return re.findall(r"^```python\n(.*?)^```", PAGES[page], re.M | re.S)


# -- complete --------------------------------------------------------------------------------
def methods(heading: str) -> set[str]:
    return set(re.findall(r"^\| `(\w+\(.*?\))` \|", section(CONTRACT, heading), re.M))


def test_every_method_of_a_backend_is_in_the_right_table():
    must, may = set(), set()
    for name, member in vars(Backend).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            names = list(inspect.signature(member).parameters)[1:]
            raises = "raise NotImplementedError" in inspect.getsource(member)
            (must if raises else may).add(f"{name}({', '.join(names)})")
    assert len(must) >= 10 and len(may) >= 10
    assert methods(MUST) == must
    assert methods(MAY) == may


def test_every_door_of_version_2_has_its_state():
    table = section(CONTRACT, "## Version 2")
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    named = [name for row in rows for name in re.findall(r"`([\w.]+)`", row[1])]
    doors = {name for name, version in SINCE.items() if version == 2}
    fields = {f"Overlay.{n}" for n, m in vars(Overlay).items() if inspect.isfunction(m)}
    for spec in (hooks.BackendSpec, hooks.CommSpec, hooks.OverlaySpec):
        new = r'^    (\w+): [^\n]*\n    """[^"]*Since version 2\."""'
        found = re.findall(new, inspect.getsource(spec), re.M)
        fields |= {f"{spec.__name__}.{field}" for field in found}
    assert {*named} == doors | fields | {"KERNEL_GROUPS"}
    for _, _, state, cases in rows:
        assert state in ("drawn", "served")
        case = cases.strip(" |`")
        assert (case == "none yet") == (state == "drawn")
        assert state == "drawn" or case in {c.id for c in (*all_cases(), *comms.all_cases())}, case
    drawn = re.findall(r"`(\w+)`", "".join(row[1] for row in rows if row[2] == "drawn"))
    for device in ("cpu", "null", "strict"):
        backend = discovery.backend(device)
        offered = [m for m in drawn if m in doors and discovery.offered(backend, m)]
        assert offered == [], "what a backend of ours offers is built: say so, and name its cases"


def test_every_optional_kernel_has_its_call():
    table = section(CONTRACT, "### Groups of kernels")
    calls = re.findall(r"^\| (\w+) \| `(\w+)(\(.*?\))` \|", table, re.M)
    expected = [(g, k, call) for g, ks in plugin.KERNEL_GROUPS.items() for k, call in ks.items()]
    assert calls == expected
    assert not {k for _, k, _ in calls} & {*PRIMITIVES}


def test_every_attribute_of_a_backend_is_named():
    for name in Backend.__annotations__:
        assert f"`{name}`" in section(CONTRACT, MAY), name


@pytest.mark.parametrize(
    ("page", "heading", "kind"),
    [
        (CONTRACT, "`Capabilities` has these fields:", Capabilities),
        (BASES, "### The dialect", Dialect),
    ],
)
def test_every_field_is_in_its_list(page, heading, kind):
    listed = re.findall(r"^- (`\w+`(?:, `\w+`)*):", section(page, heading), re.M)
    names = [name for group in listed for name in re.findall(r"\w+", group)]
    assert sorted(names) == sorted(f.name for f in dataclasses.fields(kind))


def test_every_word_of_a_dialect_is_explained():
    words = {
        word
        for code in re.findall(r"``([^`]+)``", inspect.getdoc(Dialect))
        for word in re.findall(r"\b(?:[A-Z]+[0-9]*|[iuf]\d+)\b", code)
    } - {"NAN", "INFINITY"}
    assert len(words) >= 20
    listed = set(re.findall(r"\w+", "".join(re.findall(r"^\| (`.*?) \|", BASES, re.M))))
    assert words - listed == set()


def test_every_method_of_the_array_runtime_says_what_it_needs():
    first_cells = re.findall(
        r"^\| (.*?) \|", section(BASES, "### What the library must have"), re.M
    )
    named = set(re.findall(r"`(\w+)`", "".join(first_cells)))
    overridden = {n for n in vars(ArrayRuntime) if n in vars(Backend) and not n.startswith("_")}
    assert named == overridden | {"kernel"}


def test_every_name_a_plugin_may_import_is_explained():
    """In a table under this heading, or one that begins so, of some page."""
    heading, names = "## What `tensorbus.plugin` has", []
    for page in PAGES.values():
        for table in page.split(heading)[1:]:
            first_cells = re.findall(r"^\| (.*?) \|", re.split(r"^#", table, flags=re.M)[0], re.M)
            names += re.findall(r"`(\w+)`", "".join(first_cells))
    assert sorted(names) == sorted(plugin.__all__)


def test_every_view_kernel_has_its_call():
    table = section(PAGES["primitives.md"], "## View kernels")
    assert sorted(re.findall(r"^\| `(\w+)\(", table, re.M)) == sorted(VIEWS)


def test_the_other_ops_are_rows_with_these_arguments():
    table = section(PAGES["primitives.md"], "## Other ops worth a kernel")
    calls = re.findall(r"`(\w+)\((.*?)\)`", table)
    assert len(calls) > 15
    for name, arguments in calls:
        assert name not in PRIMITIVES
        assert ", ".join(ROWS[name].arguments) == arguments, name
    mine = re.search(r"A row with a derivative of its own \((.*?)\)", table, re.S)
    assert all(ROWS[name].rules for name in re.findall(r"`(\w+)`", mine[1]))


def test_a_primitive_gets_what_its_row_tells():
    """Under its own names: here *out* may be what the row calls *x*."""
    calls = re.findall(r"^### \w+\n\n`(\w+)\((.*?)\)`", PAGES["primitives.md"], re.M)
    assert {name for name, _ in calls} >= {*PRIMITIVES}
    for name, arguments in calls:
        given = [a for a in arguments.split(", ") if a != "out=None"]
        assert (given[-1:] == ["dtype"]) == ROWS[name].takes_dtype, name
        assert len(given) == len(ROWS[name].arguments) + ROWS[name].takes_dtype, name


def test_the_refusal_shown_is_the_one_raised(install, monkeypatch):
    (shown,) = re.findall(r"^> (.*)$", PAGES["versions.md"], re.M)
    monkeypatch.setattr(hooks, "SUPPORTED_API", range(1, 3))
    source = (
        "from tensorbus.plugin import BackendSpec, hookimpl\n"
        "@hookimpl\ndef tensorbus_backend(): return BackendSpec('npu', load=None, api=3)\n"
    )
    install("acme-npu", {BACKENDS: {"npu": "acme_npu"}}, {"acme_npu": source}, "1.4")
    with pytest.raises(RuntimeError, match=re.escape(shown)):
        discovery.backend("npu")


# -- links and commands ----------------------------------------------------------------------
def anchors(page: str) -> set[str]:
    text = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.M | re.S)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages_and_headings(page):
    for file, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", PAGES[page]):
        assert not file or (FOLDER / file).exists(), file
        assert not anchor or anchor in anchors(file or page), f"{file}#{anchor}"


def test_the_index_leads_to_every_page():
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", PAGES["index.md"]))
    assert {"index.md", *linked} == {*PAGES}


def options(text: str) -> set[str]:
    return set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", text))


def test_every_option_shown_is_one_of_its_command():
    commands = ("conformance", "new-backend", "demo", "run")
    takes = {}
    for command in commands:
        words = [sys.executable, "-m", "tensorbus", command, "--help"]
        takes[command] = options(subprocess.run(words, capture_output=True, text=True).stdout)
    any_takes = set().union(
        *takes.values(), {"--backend", "--local-rank"}
    )  # of pytest, of a script
    unknown, seen = [], 0
    for name, page in PAGES.items():
        for command, rest in re.findall(rf"tensorbus ({'|'.join(commands)})([^`\n#]*)", page):
            rest = rest.partition(".py")[0]  # what follows is the script's own
            seen += len(options(rest))
            unknown += [(name, command, o) for o in options(rest) - takes[command]]
        for alone in re.findall(r"`(--[a-z-]+)", page):
            unknown += [(name, alone)] if alone not in any_takes else []
    assert seen > 20 and unknown == []


# -- true ------------------------------------------------------------------------------------
def train(device: str) -> list[float]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    net = net.to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    x, y = torch.randn(16, 4).to(device), (torch.arange(16) % 3).to(device)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.fixture
def allowed():
    before = torch.get_fallback()
    torch.set_fallback("allow")
    yield
    torch.set_fallback(before)


def test_the_page_of_the_contract_runs(allowed):
    names = {"__name__": "contract"}
    for block in blocks("contract.md"):
        exec(block, names)
    assert names["out"].tolist() == [[2.0, 2.0, 2.0]] * 2
    torch.set_fallback("allow")
    with discovery.plugged(names["SmallestDevice"]()) as device:
        assert train(device) == pytest.approx(train("cpu"), rel=1e-5)
        x = torch.arange(6.0, device=device).reshape(2, 3)
        x.t()[1] += 10
        assert x.flip(0).tolist() == [[3, 14, 5], [0, 11, 2]]
        assert torch.rand(5, device=device).shape == (5,)


def test_the_page_of_immutable_arrays_runs(capsys):
    names = {"__name__": "frozen"}
    for block in blocks("immutable-arrays.md"):
        exec(block, names)
    (shown,) = re.findall(r"tolist\(\)\)  # (.*)", PAGES["immutable-arrays.md"])
    assert capsys.readouterr().out == f"{shown}\n"
    torch.set_fallback("error")
    try:
        for device in ("FrozenDevice", "PaddedDevice"):
            with discovery.plugged(names[device]()) as device:
                assert train(device) == pytest.approx(train("cpu"), rel=1e-5)
    finally:
        torch.set_fallback("warn")


def test_what_an_immutable_library_must_have_is_all_that_may_be_overridden():
    table = section(PAGES["immutable-arrays.md"], "## What the library must have")
    own = {n for c in (ImmutableRuntime, ImmutableArrayBackend) for n in vars(c) if n[0] != "_"}
    beyond = {"boxed", "contents", "index_of", "read", "write"}  # the base class' own
    expected = own - beyond - {*vars(Backend)}
    assert {*re.findall(r"^\| `(\w+)", table, re.M)} == expected
    for name in expected - {"dtypes", "tables", "xp"}:
        names = list(inspect.signature(getattr(ImmutableArrayBackend, name)).parameters)[1:]
        assert f"`{name}({', '.join(names)})`" in table


def test_the_smallest_device_has_a_whole_runtime():
    names = {"__name__": "contract"}
    exec(blocks("contract.md")[0], names)
    report = run(names["SmallestDevice"](), level="L0")
    assert len(report.results) > 300
    assert [f"{r.id}: {r.message}" for r in report.results if r.bad] == []


def test_the_random_bits_of_the_contract_are_the_streams(allowed):
    names = {"np": np}
    for block in blocks("contract.md"):
        if "philox" in block:
            exec(block, names)
    kernel = discovery.backend("cpu").kernel("random_bits", int64, 0)
    for key, offset in [((0, 0), 0), ((7, 2**64 - 1), 5), ((2**63, 3), 2**256 - 1)]:
        words = names["random_bits"](key, offset, 11)
        assert words.tolist() == np.asarray(kernel(key, offset, 11)).tolist()
        made = [w for i in range(3) for w in names["philox_block"]((offset + i) % 2**256, key)]
        assert np.array(made[:11], np.uint64).view(np.int64).tolist() == words.tolist()


def test_the_page_of_versions_runs():
    names = {}
    for block in blocks("versions.md"):
        exec(block, names)
    assert names["CONTRACT"] == min(plugin.API, 2)


def test_the_overlay_of_its_page_is_used(install):
    source = blocks("overlays.md")[0]
    install("acme-softmax", {OVERLAYS: {"acme": "acme_softmax"}}, {"acme_softmax": source})
    assert '`acme = "acme_softmax"`' in PAGES["overlays.md"]
    (spec,) = discovery.overlays("cpu", "softmax")
    assert spec.supports("softmax", float32, 0) and not spec.supports("softmax", torch.float16, 0)
    kernel = spec.kernel("softmax", float32, 0)
    x = np.array([[0.0, 2.0], [1.0, 1.0]], np.float32)
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(kernel(x, 1), expected, rtol=1e-6)
    assert kernel(x, 0) is NotImplemented


def test_a_row_is_looked_up_as_the_page_of_overlays_shows():
    (session,) = [block for block in blocks("overlays.md") if block.startswith(">>>")]
    example = doctest.DocTestParser().get_doctest(session, {}, "overlays.md", None, 0)
    assert len(example.examples) == 2
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_overlay_object_of_its_page_is_used(install):
    source = blocks("overlays.md")[1]
    install("acme-lazy", {OVERLAYS: {"lazy": "acme_lazy"}}, {"acme_lazy": source})
    (spec,) = discovery.overlays("cpu", "reciprocal")
    reciprocal = discovery.overlay(spec).kernel("reciprocal", float32, 0)
    assert reciprocal(np.array([2.0, -4.0], np.float32)).tolist() == [0.5, -0.25]


def test_the_copies_of_the_page_of_overlays_are_used(install):
    modules = {"acme_copies": blocks("overlays.md")[2]}
    install("acme-copies", {OVERLAYS: {"copies": "acme_copies"}}, modules)
    copies = resolve.copying(kinds.kind_of(torch.device("cpu"), float32))
    x, y = np.arange(600.0, dtype=np.float32).reshape(3, 200), np.zeros((200, 3), np.float32)
    assert copies(y, float32, x.T, float32) is None and (y == x.T).all()
    assert copies(y, float32, 2.0, None) is None and (y == 2).all()


def test_the_way_to_a_backend_can_be_walked(install, tmp_path, monkeypatch):
    page = PAGES["write-a-backend.md"]
    command = re.search(r"^tensorbus (new-backend acme .*)$", page, re.M)[1]
    monkeypatch.chdir(tmp_path)
    assert cli.main(command.split()) == 0
    install("tensorbus-acme", {BACKENDS: {"acme": "tensorbus_acme"}})
    project = tmp_path / "tensorbus-acme"
    monkeypatch.syspath_prepend(project)
    for path in re.findall(r"`((?:tensorbus_acme|\.github|README|PRIMITIVES)[\w./-]*)`", page):
        assert (project / path).exists() or path.endswith("driver.py") or "/" not in path, path
    names = {}
    for block in blocks("write-a-backend.md"):
        exec(block, names)
    assert names["AcmeBackend"]().kernel("exp", float32, 0) is np.exp
    backend = discovery.backend("acme")
    assert backend.traits == names["AcmeBackend"].traits
    assert backend.kernel("exp", float32, 0) is names["exp"]
    with discovery.plugged(names["AcmeBackend"]()) as device:
        assert train(device) == pytest.approx(train("cpu"), rel=1e-6)


def test_every_outcome_of_a_case_is_explained():
    step = section(PAGES["write-a-backend.md"], "## 4. Ask the suite")
    sentence = step[step.index("Each case is") : step.index("A failure shows")]
    assert sorted(re.findall(r"\*([a-z ]+)\*", sentence)) == sorted(OUTCOMES)


def test_the_exception_shown_is_one_that_the_suite_takes():
    for page in ("write-a-backend.md", "conformance.md"):
        (text,) = re.findall(r"^```toml\n(\[\[exception\]\].*?)^```", PAGES[page], re.M | re.S)
        (gap,) = exceptions.parse(text)
        assert gap.reason and gap.covers("L1/pow/float16/contiguous")

"""What is known of primitives stands in one table: all else follows from it or agrees with it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorbus import plugin
from tensorbus._base.dtypes import BOOL, COMPLEX, FLOAT, INTEGER
from tensorbus.plugin import JOINS, PRIMITIVE_TABLE, PRIMITIVES, Primitive
from tensorbus.plugin.primitives import FAMILIES
from tensorbus.rows.registry import DOMAINS, ROWS
from tensorbus_conformance import formats
from tensorbus_conformance.primitives import dtypes_of, whole_domain

ROOT = Path(__file__).parents[2]
CATEGORIES = {"bool": BOOL, "int": INTEGER, "float": FLOAT, "complex": COMPLEX, "int64": INTEGER}


@pytest.mark.parametrize("p", PRIMITIVE_TABLE.values(), ids=PRIMITIVES)
def test_a_row_is_whole(p: Primitive) -> None:
    assert p.family in FAMILIES
    assert p.result in ("same", "bool", "int64", "given")
    assert {*p.dtypes.split(), *p.optional.split()} <= {*CATEGORIES}
    assert not {*p.dtypes.split()} & {*p.optional.split()}
    assert p.dtypes and whole_domain(p.name)
    assert ("dtype" in p.signature) == (p.result == "given")
    assert p.family == "creation" or p.operands


def test_the_ways_to_join_are_some_of_what_is_written() -> None:
    assert set(JOINS) == {"set", "add", "mul", "amax", "amin"}
    for words in JOINS.values():
        assert set(dtypes_of(words)) <= set(formats.ALL)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_the_rows_of_the_frontend_agree(name: str) -> None:
    p, row = PRIMITIVE_TABLE[name], ROWS[name]
    lowest, highest = DOMAINS[row.domain]
    taken = {CATEGORIES[word] for word in p.dtypes.split()}
    if name in ("floor", "round"):  # of integers the frontend gives a copy
        taken |= {INTEGER}
    assert all(lowest <= category <= highest for category in taken)
    arrays = [row.operands[t] for t in row.tensors]
    assert arrays == [*p.operands.values()]
    if p.operands:
        assert row.result == ("same" if p.result == "given" else p.result)
    assert row.takes_dtype == (p.result == "given") or name == "matmul"
    assert row.writes == p.writes
    assert row.divides == p.divides
    assert (row.form in ("unary", "binary")) == (p.family == "pointwise" and name != "where")


# -- nothing else says it again --------------------------------------------------------------
def listed(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Lists of names in a file, with their lines: literals, and texts that are split."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names: list[object] = []
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            names = [e.value for e in node.elts if isinstance(e, ast.Constant)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [*node.value.split()]
            names = names if all(n in PRIMITIVE_TABLE for n in names) else []
        found = [n for n in names if isinstance(n, str) and n in PRIMITIVE_TABLE]
        if found:
            yield getattr(node, "lineno", 0), found


def groups() -> dict[frozenset[str], str]:
    """The sets of primitives that the table tells apart, of two and more."""
    found: dict[frozenset[str], str] = {}
    for field in set(Primitive._fields) - {"name", "signature"}:
        values = {getattr(p, field) for p in PRIMITIVE_TABLE.values()}
        for value in values:
            those = [p.name for p in PRIMITIVE_TABLE.values() if getattr(p, field) == value]
            if len(those) > 1:
                found[frozenset(those)] = f"{field} {value!r}"
    found[frozenset(p.name for p in PRIMITIVE_TABLE.values() if p.writes)] = "writes"
    return found


def sources() -> list[Path]:
    suite = ROOT / "conformance" / "tensorbus_conformance"
    own = {suite / part for part in ("samples", "layer_samples", "kinks", "refusals")}
    return [
        *(f for f in suite.rglob("*.py") if not own & {*f.parents}),
        *(ROOT / "core" / "tensorbus" / "plugin").glob("*.py"),
        *(ROOT / "core" / "tensorbus" / "_dispatch").glob("*.py"),
    ]


def test_no_other_list_repeats_a_group_of_the_table() -> None:
    known = groups()
    home = ROOT / "core" / "tensorbus" / "plugin" / "primitives.py"
    again = [
        f"{file.relative_to(ROOT)}:{line}: {known[frozenset(names)]}"
        for file in sources()
        if file != home
        for line, names in listed(file)
        if frozenset(names) in known
    ]
    assert again == []


# -- a primitive that is added ---------------------------------------------------------------
PROGRAM = """
import json, sys
from importlib.machinery import PathFinder, SourceFileLoader

class Longer(SourceFileLoader):
    def get_code(self, name):
        text = self.get_data(self.path).decode()
        return compile(text.replace("_ROWS = [", "_ROWS = [" + ADDED, 1), self.path, "exec")

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "tensorbus.plugin.primitives":
            return None
        spec = PathFinder.find_spec(name, path)
        spec.loader = Longer(name, spec.origin)
        return spec

sys.meta_path.insert(0, Finder)
from tensorbus.plugin import PRIMITIVES
from tensorbus_conformance.cases import all_cases, creation
from tensorbus_conformance.primitives import OF_ARRAYS, domain
from tensorbus_conformance.specimens import specimen

lacking = sorted(set(PRIMITIVES) - {*OF_ARRAYS} - {case.op for case in creation.cases()})
for op in OF_ARRAYS:
    try:
        for d in domain(op):
            specimen(op, d, (4, 4)).expected
    except Exception:
        lacking.append(op)
print(json.dumps([len(PRIMITIVES), len(OF_ARRAYS), lacking]))
"""


def lacking(added: str) -> tuple[int, int, list[str]]:
    """How many primitives there are, how many of arrays, and those the suite knows no values of."""
    done = subprocess.run(
        [sys.executable, "-c", f"ADDED = {added!r}\n{PROGRAM}"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    whole, arrays, names = json.loads(done.stdout)
    return whole, arrays, names


def test_a_primitive_without_a_specimen_is_found() -> None:
    assert lacking("") == (49, 47, [])
    whole, arrays, names = lacking(
        "*_pointwise(_UNARY, 'float', 'cbrt'),"
        "Primitive('span', 'reduction', '(x, dims, out=None)', 'int float'),"
        "Primitive('identity', 'creation', '(n, dtype)', 'int float', result='given'),"
    )
    assert (whole, arrays) == (52, 49)
    assert sorted(names) == ["cbrt", "identity", "span"]


def test_the_names_of_the_families_are_views_of_the_table() -> None:
    for name, families in {
        "POINTWISE": {"pointwise"},
        "REDUCTIONS": {"reduction"},
        "SCANS": {"scan"},
        "OTHERS": {"contraction", "index", "order", "creation"},
    }.items():
        expected = [p.name for p in PRIMITIVE_TABLE.values() if p.family in families]
        assert [*getattr(plugin, name)] == expected
    assert {p.name: p.signature for p in PRIMITIVE_TABLE.values()} == plugin.SIGNATURES

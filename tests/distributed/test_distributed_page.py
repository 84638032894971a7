"""docs/distributed.md: its examples run, and it names every operation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ports import own_port

import tensorbus.distributed as dist
from tensorbus.plugin import COMM_OPTIONAL, COMM_REQUIRED, Comm

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "distributed.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


def test_the_first_example_runs_on_two_ranks(tmp_path):
    program = tmp_path / "all_ranks.py"
    program.write_text(BLOCKS[0].replace("29500", str(own_port())))
    ranks = [
        subprocess.Popen([sys.executable, program, str(r)], stdout=subprocess.PIPE, text=True)
        for r in range(2)
    ]
    outs = [p.communicate(timeout=120)[0] for p in ranks]
    assert outs == [f"rank {r} has [3.0, 3.0, 3.0]\n" for r in range(2)]


def test_the_examples_with_threads_print_what_they_say(capsys):
    names: dict[str, object] = {}
    blocks = [b for b in BLOCKS if "dist.local.run" in b]
    assert len(blocks) == 3
    for block in blocks:
        exec(block, names)
        shown = re.search(r"^print.*# (.*)$", block, re.M)
        assert shown is not None and capsys.readouterr().out.strip() == shown[1]


def test_every_operation_and_store_is_named():
    named = set(re.findall(r"`(\w+)", PAGE))
    assert len(dist.__all__) > 50
    operations = [
        n for n in dist.__all__
        if re.search(r"all_|reduce|gather|scatter|send|recv|broadcast|barrier|Store$|_group$", n)
        and n not in ("Store", "reduce_op")
    ]  # fmt: skip
    assert [n for n in operations if n not in named and not n.startswith("get_")] == []


def test_authors_find_every_call_of_a_comm():
    page = (DOCS / "plugins.md").read_text("utf-8")
    assert all(re.search(rf"^\| `{call}\(", page, re.M) for call in COMM_REQUIRED)
    assert all(f"`{call}`" in page for call in COMM_OPTIONAL)
    assert all(hasattr(Comm, call) for call in (*COMM_REQUIRED, *COMM_OPTIONAL))

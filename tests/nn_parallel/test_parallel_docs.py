"""The program in the section "Data-parallel training" of docs/distributed.md trains."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"


def test_the_program_trains(tools: Any, tmp_path: Path) -> None:
    section = PAGE.read_text("utf-8").split("## Data-parallel training\n")[1].split("\n## ")[0]
    script = tmp_path / "train.py"
    script.write_text(re.findall(r"```python\n(.*?)```", section, re.S)[0], "utf-8")
    for rank, (code, out) in enumerate(tools.processes([script], 2)):
        assert code == 0, out
        found = re.fullmatch(rf"rank {rank}: (\d+\.\d+)\n", out)
        assert found, out
        assert float(found[1]) < 0.1

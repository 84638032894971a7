"""What PyTorch refuses of matrices, quantiles, transforms and special functions is refused here.

``bad_input.txt`` has the programs: above the empty line those whose error has PyTorch's text, below
it those whose error has its class and says it in other words.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tensorbus

EQUAL, OTHER = (
    part.split("\n")
    for part in Path(__file__).with_name("bad_input.txt").read_text("utf-8").strip().split("\n\n")
)
# A device without complex numbers refuses these for another reason.
COMPLEX = re.compile(r"\b(CV?|c64|complex64|fft|stft|istft|view_as_\w+|polar|eig|eigvals)\b|1j")


def names(library: Any, device: str) -> dict[str, Any]:
    """What the programs use: singular, not finite, regular matrices and so on."""

    def tensor(values: Any, dtype: Any = None) -> Any:
        return library.tensor(values, dtype=dtype, device=device)

    regular = tensor([[4.0, 1.0], [1.0, 3.0]])
    singular = tensor([[1.0, 2.0], [2.0, 4.0]])
    nan, inf = float("nan"), float("inf")
    not_a_number = tensor([[nan, 1.0], [1.0, 2.0]])
    found = {
        "torch": library, "T": tensor, "L": library.linalg, "nan": nan, "inf": inf,
        "f64": library.float64, "f16": library.float16, "bf": library.bfloat16,
        "i64": library.int64, "c64": library.complex64,
        "G": regular, "S": singular, "Z": tensor([[0.0, 0.0], [0.0, 0.0]]), "N": not_a_number,
        "I": tensor([[inf, 1.0], [1.0, 2.0]]), "NP": tensor([[1.0, 2.0], [2.0, 1.0]]),
        "R": tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), "M": tensor([[1, 2], [3, 4]]),
        "V": tensor([1.0, 2.0]), "O": tensor(1.0), "E": tensor([]).reshape(0, 0),
        "B": library.stack([regular, singular]), "BN": library.stack([regular, not_a_number]),
        "BG": library.stack([regular, regular]),
    }  # fmt: skip
    if device == "cpu":
        found["C"] = tensor([[1 + 1j, 2], [3, 4]])
        found["CV"] = found["C"].diagonal()
    return found


def outcomes(library: Any, programs: list[str], device: str = "cpu") -> list[tuple[list[str], str]]:
    """The classes and the text of each program's error; none where it runs."""
    given = names(library, device)
    found = []
    for program in programs:
        try:
            eval(program, given)
            if device != "cpu":  # faults of values are told when the device is waited for
                library.accelerator.synchronize(device)
        except Exception as error:
            classes = [kind.__name__.lstrip("_") for kind in type(error).__mro__]
            # A hint is ours; which kernel has no such dtype is the build's.
            text = str(error).partition("\n")[0].partition(" Hint:")[0]
            found.append((classes, re.sub(r'^"(\w+?)(_out)?_cpu" not', r'"\1" not', text)))
        else:
            found.append(([], "runs"))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("programs", [EQUAL, OTHER], ids=["text", "class"])
def test_bad_input_is_refused_as_by_pytorch(programs: list[str], device: str, oracle: Any) -> None:
    if device != "cpu":
        programs = [program for program in programs if not COMPLEX.search(program)]
    expected = oracle(lambda torch: outcomes(torch, programs))
    wrong = []
    for program, ours, theirs in zip(
        programs, outcomes(tensorbus, programs, device), expected, strict=True
    ):
        same = ours[1] == theirs[1] if programs[0] in EQUAL else theirs[0]
        if not same or theirs[0][0] not in ours[0]:
            wrong.append(f"{program}\n    {ours[0][:1]} {ours[1]}\n    {theirs[0][:1]} {theirs[1]}")
    assert not wrong, "\n".join(wrong)

"""In which dtype an op computes under autocast: the words of a row's field ``autocast``.

``lower`` is the chosen dtype of 16 bits, ``float32`` says itself, ``widest`` is the widest dtype
among the operands, ``given`` the dtype that they have, also in what the op is made of, and
``refuse`` an error. One word counts on all devices; PyTorch has one list
for the CPU and one for accelerators, so ``cpu float32`` counts on the CPU alone and
``device float32`` elsewhere, and several are joined by commas. Without a word an op takes its
operands as they are.
"""

from __future__ import annotations

import functools

_WORDS = ("", "lower", "float32", "widest", "given", "refuse")
_PLACES = ("cpu", "device")


@functools.cache
def policy_on(policy: str, cpu: bool) -> str:
    """The word that counts on the CPU, or on other devices; ValueError for one there is not."""
    found = {"cpu": "", "device": ""}
    for part in policy.split(","):
        place, _, word = part.strip().rpartition(" ")
        if word not in _WORDS or (place and place not in _PLACES):
            raise ValueError(f"autocast={policy!r}: {part.strip()!r} is no policy")
        found.update(dict.fromkeys([place] if place else _PLACES, word))
    return found["cpu" if cpu else "device"]

"""Each wrong kernel of a graph is caught by the case whose subject it breaks, and through ops."""

from __future__ import annotations

import pytest
from mutant_graphs import GRAPHS, Compiling, mutant  # type: ignore[import-not-found]

from tensorbus import discovery
from tensorbus_conformance import run

OPS = {
    # which of the cases of ops notice it
    "strides-are-not-used": "compiled-strided",
    "broadcasts-the-wrong-way": "compiled*",
    "last-element": "compiled",
    "sizes-baked-in": "compiled",
    "numbers-baked-in": "compiled*",
    "nan-lost-in-amax": "compiled*",
    "negative-zero-lost": "compiled-special",
    "infinity-lost": "compiled-special",
    "one-element": "compiled-one",
    "writes-to-its-input": "compiled",
}


@pytest.mark.parametrize("name", [name for name, (_, case) in GRAPHS.items() if case])
def test_a_wrong_kernel_of_a_graph_is_caught(name: str) -> None:
    case = GRAPHS[name][1]
    backend = mutant(name)
    with discovery.plugged(backend):
        report = run(backend, pattern="L0/compile/*")
    caught = {r.id.split("/", 3)[3] for r in report.failures}
    assert case in caught, caught


def test_the_sound_compiler_passes_them() -> None:
    backend = Compiling()
    with discovery.plugged(backend):
        report = run(backend, pattern="L0/compile/*")
    assert report.counts() == {"pass": len(report.results)} and len(report.results) > 30


ROWS = ("logsumexp", "softmax", "nn.functional.softplus", "logaddexp", "std", "linalg.vector_norm",
        "nn.functional.hardswish")  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_a_wrong_kernel_is_caught_through_ops(name: str) -> None:
    backend = mutant(name)
    with discovery.plugged(backend):
        assert any(run(backend, pattern=f"L4/{op}/float32/*/{OPS[name]}").failures for op in ROWS)


@pytest.mark.parametrize("op", ROWS)
def test_the_sound_compiler_passes_ops(op: str) -> None:
    backend = Compiling()
    with discovery.plugged(backend):
        report = run(backend, pattern=f"*/{op}/*/compiled*")
    assert report.ok, [f"{r.id}: {r.message}" for r in report.failures[:5]]
    assert report.counts()["pass"] > 3

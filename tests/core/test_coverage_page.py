"""Names of PyTorch that are absent: what their errors say, and the page that lists them."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import pytorch_names

import tensorbus
from tensorbus._base import absent
from tensorbus._tools import coverage, left_out


def test_the_page_is_what_the_script_makes() -> None:
    assert coverage.PAGE.read_text("utf-8") == coverage.page(), "run scripts/coverage"


def test_only_documented_names_that_are_absent_are_left_out() -> None:
    for space, name in left_out.reasons():
        assert name in absent.documented()[space], f"{space}.{name}: PyTorch documents no such name"
        assert name not in coverage.present(space), f"{space}.{name} is there: take it off the list"


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of names that PyTorch has deprecated
def test_the_names_are_pytorchs(live_torch: Any) -> None:
    checked = 0
    for space, names in absent.documented().items():
        try:
            assert names == set(pytorch_names.names(space)), f"{space}: scripts/coverage record"
            checked += 1
        except ModuleNotFoundError:
            assert space == "utils.tensorboard"  # it needs a package of its own
    assert checked >= len(pytorch_names.SPACES) - 1


@pytest.fixture
def unwritten(monkeypatch: pytest.MonkeyPatch) -> str:
    """A name that PyTorch is made to have in each namespace, as what is absent today may come."""
    everywhere = {space: names | {"unwritten"} for space, names in absent.documented().items()}
    monkeypatch.setattr(absent, "documented", lambda: everywhere | {"unwritten": frozenset()})
    return "unwritten"


@pytest.mark.parametrize(
    "module",
    "nn nn.functional nn.utils linalg autograd optim optim.lr_scheduler utils utils.data "
    "distributed random cuda accelerator".split(),
)
def test_an_absent_name_is_told(module: str, unwritten: str) -> None:
    home = importlib.import_module(f"tensorbus.{module}")
    with pytest.raises(AttributeError) as error:
        getattr(home, unwritten)
    assert str(error.value) == (
        f"module 'tensorbus.{module}' has no attribute 'unwritten': PyTorch 2.13 has torch."
        f"{module}.unwritten, tensorbus does not yet; docs/coverage.md lists what is there"
    )
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        home.nonsense  # noqa: B018


def test_an_absent_namespace_is_told(unwritten: str) -> None:
    with pytest.raises(AttributeError, match=r"PyTorch 2.13 has torch.unwritten, tensorbus does"):
        getattr(tensorbus, unwritten)
    with pytest.raises(AttributeError, match=r"^module 'tensorbus' has no attribute 'nonsense'$"):
        tensorbus.nonsense  # noqa: B018


def test_an_absent_method_is_told(unwritten: str) -> None:
    class Tensor(tensorbus.Tensor):
        """One that lacks a name."""

    Tensor.unwritten = absent.Absent(unwritten)  # type: ignore[attr-defined]
    x = tensorbus.ones(2).as_subclass(Tensor)
    assert not hasattr(x, unwritten)
    with pytest.raises(AttributeError, match=r"'Tensor' object has no attribute 'unwritten': PyTo"):
        x.unwritten()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"type object 'Tensor' has no attribute 'unwritten'"):
        Tensor.unwritten  # type: ignore[attr-defined]  # noqa: B018
    x.unwritten = 3  # type: ignore[attr-defined]
    assert x.unwritten == 3  # type: ignore[attr-defined]


def test_every_absent_method_has_its_error() -> None:
    names = [n for n in absent.documented()["Tensor"] if not n.startswith("_")]
    here = [n for n in names if isinstance(vars(tensorbus.Tensor).get(n), absent.Absent)]
    assert sorted(here) == sorted(n for n in names if not hasattr(tensorbus.Tensor, n))
    with pytest.raises(TypeError, match="^Tensor does not support deleting items$"):
        del tensorbus.ones(2)[0]  # type: ignore[attr-defined]

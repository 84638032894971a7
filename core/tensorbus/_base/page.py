"""Docstrings that are completed when somebody reads them, so that an import pays for none of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any


class Page(str):
    """A docstring: what stands in the source, and below it what the reference knows besides.

    Python takes any object for a function's ``__doc__``, and readers of it want a str. So this is
    one, of the source's text; each method of it asks for the whole page and goes on with that.
    """

    __slots__ = ("names", "shown")

    names: list[str]
    """Where users find what it documents: ``softmax``, ``Tensor.exp``, ``nn.Linear``."""
    shown: Any
    """The function or the class."""

    def whole(self) -> str:
        """The page."""
        # Imported late, and from above: only readers need it.
        pages = importlib.import_module("tensorbus._reference.pages")
        own = self.shown.__name__
        names = sorted(self.names, key=lambda n: ("__" in n, n.rpartition(".")[2] != own))
        text: str = pages.page(names, self.source())
        return text

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (self.whole(),)

    def source(self) -> str:
        """What stands in the source."""
        return str.__str__(self)


def _asking(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Page, *args: Any, **kwargs: Any) -> Any:
        return method(self.whole(), *args, **kwargs)

    return call


_OBJECTS_OWN = {"__new__", "__class__", "__getattribute__", "__doc__", "__init__"}

for _name, _method in vars(str).items():
    if callable(_method) and _name not in _OBJECTS_OWN and not isinstance(_method, staticmethod):
        setattr(Page, _name, _asking(_method))


def show_pages(module: str, objects: Iterable[tuple[str, Any]]) -> None:
    """Complete the docstrings of public functions and classes, given with their names in *module*.

    What has several names has one page, with the example of one of them.
    """
    prefix = module.removeprefix("tensorbus").removeprefix(".")
    for name, shown in objects:
        if isinstance(shown, (FunctionType, type)):
            doc = vars(shown).get("__doc__") if isinstance(shown, type) else shown.__doc__
            path = f"{prefix}.{name}" if prefix else name
            if isinstance(doc, Page) and doc.shown is shown:
                doc.names.append(path)
            elif doc is not None:
                page = Page(doc.source() if isinstance(doc, Page) else doc)
                page.names, page.shown = [path], shown
                shown.__doc__ = page

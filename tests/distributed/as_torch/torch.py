"""Stands for PyTorch on the path of a program: ``torch`` and its submodules are tensorbus."""

import importlib
import importlib.abc
import importlib.util
import sys

import tensorbus


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``torch.x`` as ``tensorbus.x``, the same module."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("torch."):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        module = importlib.import_module("tensorbus" + spec.name.removeprefix("torch"))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # The import has written its own there.
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.insert(0, Finder())
sys.modules["torch"] = tensorbus

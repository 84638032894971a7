"""The graph of a model for TensorBoard: what ran when the model was called once.

A function mode sees each call of a public function or method, and hooks of the modules say which
module it was made in; tensors join the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import tensorbus
from tensorbus import nn, overrides
from tensorbus.utils import _pytree
from tensorbus.utils.tensorboard.packages import message, shape_of


def _tensors(value: Any) -> list[Any]:
    return [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, tensorbus.Tensor)]


class _Recorder(overrides.TorchFunctionMode):
    """The nodes in the order of their calls."""

    def __init__(self, scopes: dict[nn.Module, str], known: dict[int, str]):
        super().__init__()
        self.scopes, self.unused = scopes, known
        self.places: list[str] = []
        self.nodes: list[Any] = []
        self.names: dict[int, str] = {}
        self.held: list[Any] = []  # what is freed may have its id taken by another tensor
        self.counts: dict[str, int] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if outputs := _tensors(made):
            name = str(overrides.resolve_name(func) or getattr(func, "__name__", "function"))
            short = name.removeprefix("torch.").removeprefix("Tensor.")
            self.add(short, short.rpartition(".")[2], _tensors((args, kwargs)), outputs)
        return made

    def add(self, op: str, name: str, inputs: list[Any], outputs: list[Any]) -> None:
        """A node for a call in the module that runs now; numbered where its name is taken."""
        name = "/".join([self.places[-1], name] if self.places else [name])
        number = self.counts[name] = self.counts.get(name, -1) + 1
        name = f"{name}_{number}" if number else name
        read = [self.name_of(x) for x in inputs]
        self.nodes.append(_node(name, op, [r for r in read if r is not None], outputs))
        for place, x in enumerate(outputs):
            self.names[id(x)] = f"{name}:{place}" if place else name
            self.held.append(x)

    def name_of(self, x: Any) -> str | None:
        """The node that made a tensor; a parameter gets its node when it is first read."""
        own = self.unused.pop(id(x), None)
        if own is not None:
            self.nodes.append(_node(own, "Parameter", [], [x]))
            self.names[id(x)] = own
        return self.names.get(id(x))

    def enter(self, module: nn.Module, inputs: Any) -> None:
        """A module begins."""
        self.places.append(self.scopes[module])

    def leave(self, module: nn.Module, inputs: Any, kwargs: Any, output: Any) -> None:
        """A module ends: what no public function made in it, it made itself."""
        made = [x for x in _tensors(output) if id(x) not in self.names]
        if made:
            name = type(module).__name__
            self.add(name, name, _tensors((inputs, kwargs)), made)
        self.places.pop()


def _node(name: str, op: str, inputs: list[str], outputs: list[Any]) -> Any:
    value = message("attr", "AttrValue")
    shapes = [shape_of(*x.shape) for x in outputs]
    said = {"_output_shapes": value(list=value.ListValue(shape=shapes))}
    return message("node", "NodeDef")(name=name, op=op, input=inputs, attr=said)


def _scopes(model: nn.Module) -> dict[nn.Module, str]:
    """A path for each module: classes with the names of attributes in brackets."""
    found = {model: type(model).__name__}

    def below(module: nn.Module) -> None:
        for name, child in module.named_children():
            if child not in found:
                found[child] = f"{found[module]}/{type(child).__name__}[{name}]"
                below(child)

    below(model)
    return found


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def graph(model: nn.Module, input_to_model: Any, verbose: bool = False) -> Any:
    """The ``GraphDef`` of one call of *model* in evaluation mode: a tuple is several arguments."""
    if input_to_model is None:
        raise ValueError("add_graph needs input_to_model: the model is called with it once")
    arguments = input_to_model if isinstance(input_to_model, tuple | list) else (input_to_model,)
    scopes = _scopes(model)
    known = {
        id(x): f"{scopes[module]}/{name}"
        for module in scopes
        for named in (module._parameters, module._buffers)
        for name, x in named.items()
        if x is not None
    }
    recorder = _Recorder(scopes, known)
    for number, x in enumerate(_tensors(arguments)):
        recorder.add("Input", f"input/input.{number + 1}", [], [x])
    with ExitStack() as stack:
        for module in scopes:
            entering = module.register_forward_pre_hook(recorder.enter)
            leaving = module.register_forward_hook(recorder.leave, with_kwargs=True)
            stack.callback(entering.remove)
            stack.callback(leaving.remove)
        stack.enter_context(_evaluating(model))
        stack.enter_context(tensorbus.no_grad())
        stack.enter_context(recorder)
        result = model(*arguments)
    for number, x in enumerate(_tensors(result)):
        recorder.add("Output", f"output/output.{number + 1}", [x], [x])
    made = message("graph", "GraphDef")(node=recorder.nodes)
    if verbose:
        print(made)
    return made

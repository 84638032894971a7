"""``torch.fx``: programs as graphs that programs rewrite, on the level of Python.

A function or module is run once on ``Proxy`` objects, which note what is done to them as a
``Graph``; a ``GraphModule`` is a module whose ``forward`` is written from such a graph.

>>> import tensorbus
>>> from tensorbus import fx
>>> traced = fx.symbolic_trace(lambda x: tensorbus.relu(x) + 1)
>>> for node in traced.graph.nodes:
...     print(node.op, node.name)
placeholder x
call_function relu
call_function add
output output
>>> traced(tensorbus.tensor([-1.0, 2.0]))
tensor([1., 3.])
"""

from tensorbus.fx._symbolic_trace import Tracer, symbolic_trace, wrap
from tensorbus.fx.graph import CodeGen, Graph
from tensorbus.fx.graph_module import GraphModule
from tensorbus.fx.interpreter import Interpreter, Transformer
from tensorbus.fx.node import Node, has_side_effect, map_arg
from tensorbus.fx.proxy import Proxy

__all__ = [
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "symbolic_trace",
    "wrap",
]

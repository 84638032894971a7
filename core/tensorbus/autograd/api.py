"""``backward`` and ``grad``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorbus._base import registered
from tensorbus._base.modes import STREAMS
from tensorbus._base.warning import warn_user
from tensorbus._dispatch.memory import check_memory
from tensorbus._tensor.sparse_array import SparseArray
from tensorbus._tensor.tensor import Tensor, from_array
from tensorbus.autograd import early, engine, multi_grad_hook
from tensorbus.autograd.batched import by_rows
from tensorbus.autograd.grad_mode import no_grad
from tensorbus.autograd.gradient_edge import GradientEdge, node_of, shape_of
from tensorbus.autograd.hook_calls import in_grad_dtype, tensor_hooks
from tensorbus.autograd.node import AccumulateGrad
from tensorbus.op_engine.argument_values import flag
from tensorbus.op_engine.batches import lifting_rows
from tensorbus.op_engine.cores import core
from tensorbus.op_engine.history import edge_of

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of *tensors* to ``.grad`` of the leaves they were made from.

    *grad_tensors* gives the gradient of each result; scalars have 1. RuntimeError where a tensor
    records nothing or the graph was freed.

    >>> import tensorbus
    >>> x = tensorbus.tensor([2.0, 3.0], requires_grad=True)
    >>> tensorbus.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([4., 6.])

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
    """
    if grad_variables is not None:
        warn_user("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    outputs = _outputs(tensors)
    create_graph = flag(create_graph)
    keep = create_graph if retain_graph is None else flag(retain_graph)
    wanted: set[Any] | None = None
    given: list[Any] = []
    edges: list[Any] = []
    if inputs is not None:
        given = _inputs(inputs, "backward")
        for t in given:
            if isinstance(t, Tensor) and not t.requires_grad:
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    try:
        roots = _roots(outputs, grad_tensors, create_graph)
        if inputs is not None:
            edges = [node_of(t, roots) for t in given]
            wanted = set(edges)
        if multi_grad_hook.REGISTERED.any:
            with multi_grad_hook.noted(roots, wanted):
                _pass(roots, keep, create_graph, wanted, given, edges)
        else:
            _pass(roots, keep, create_graph, wanted, given, edges)
    except BaseException as error:
        try:
            early.drop_callbacks()
        except BaseException:
            early.drop_callbacks()
            raise
        check_memory(error, _kind(outputs[0]).device)
        raise
    if early.CALLBACKS:
        early.run_callbacks()


def _pass(
    roots: Any, keep: bool, create_graph: bool, wanted: set[Any] | None,
    given: list[Any], edges: list[Any],
) -> None:  # fmt: skip
    """A pass that stores the gradients of leaves, and of *given* where these are wanted."""
    found = engine.run(roots, keep, create_graph, wanted)
    for t, edge in zip(given, edges, strict=True):
        if not isinstance(edge, AccumulateGrad) and edge in found:
            g = found.pop(edge)
            if isinstance(t, GradientEdge):  # has no .grad
                continue
            g = g.clone() if create_graph else engine.own(edge.k, g)
            before = getattr(t, "_g", None)  # .grad itself warns
            t._g = g if before is None else before + g
    engine.store(found, engine.as_tensors(create_graph))
    if STREAMS.order is not None:  # the gradients before may have been memory of other streams
        STREAMS.order.after()


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of *outputs* with respect to *inputs*; never touches ``.grad``.

    RuntimeError where an input was not used, unless *allow_unused* (then None) or
    *materialize_grads* (then zeros). With *is_grads_batched* the first dimension of each of
    *grad_outputs* counts gradients, and that of the results theirs; they are computed all at once,
    as ``vmap`` does.

    >>> import tensorbus
    >>> x = tensorbus.tensor(3.0, requires_grad=True)
    >>> (g,) = tensorbus.autograd.grad(x**3, x, create_graph=True)
    >>> tensorbus.autograd.grad(g, x)
    (tensor(18.),)

    Source: https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """
    if not only_inputs:
        warn_user(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    results, given = _outputs(outputs), _inputs(inputs, "grad")
    create_graph, materialize_grads = flag(create_graph), flag(materialize_grads)
    unused = materialize_grads if allow_unused is None else flag(allow_unused)
    for i, t in enumerate(results):
        if isinstance(t, Tensor) and not t.requires_grad:
            raise _no_history(i)
    for t in given:
        if isinstance(t, Tensor) and not t.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        if isinstance(t, GradientEdge) and materialize_grads:
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
    keep = create_graph if retain_graph is None else flag(retain_graph)
    if is_grads_batched:

        def one(row: list[Tensor], keep: bool) -> tuple[Tensor, ...]:
            return grad(results, given, row, keep, create_graph, allow_unused=unused)

        batch = by_rows(one, results, grad_outputs, keep)
        if not materialize_grads:
            return batch
        return tuple(_zeros(t) if g is None else g for t, g in zip(given, batch, strict=True))
    seeds = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs or ()
    with lifting_rows(seeds, map(_kind, results)):
        return _gradients(
            results, given, grad_outputs, keep, create_graph, unused, materialize_grads
        )


def _gradients(
    results: list[Any], given: list[Any], grad_outputs: Any,
    keep: bool, create_graph: bool, unused: bool, materialize_grads: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of some results with respect to the *given*."""
    roots = _roots(results, grad_outputs, create_graph)
    edges = [node_of(t, roots) for t in given]
    wanted = set(edges)
    try:
        if multi_grad_hook.REGISTERED.any:
            with multi_grad_hook.noted(roots, wanted):
                found = engine.run(roots, keep, create_graph, wanted)
                return _picked(given, edges, found, create_graph, unused, materialize_grads)
        found = engine.run(roots, keep, create_graph, wanted)
        return _picked(given, edges, found, create_graph, unused, materialize_grads)
    except Exception as error:
        if results:
            check_memory(error, _kind(results[0]).device)
        raise


def _picked(
    given: list[Any], edges: list[Any], found: dict[Any, Any],
    create_graph: bool, unused: bool, materialize_grads: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients for the inputs of ``grad``, in order; None for what was not used."""
    gradients: list[Tensor | None] = []
    for i, (t, edge) in enumerate(zip(given, edges, strict=True)):
        g = found.get(edge)
        if g is None:
            if not unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the "
                    "graph. Set allow_unused=True if this is the desired behavior."
                )
            if materialize_grads:
                gradients.append(_zeros(t))
                continue
            gradients.append(None)
            continue
        if type(edge) is AccumulateGrad and edge.h is not None:
            tensors = engine.as_tensors(create_graph)
            g = tensor_hooks(edge, in_grad_dtype(edge, g, tensors), tensors)
            if isinstance(g, SparseArray):
                gradients.append(registered.sparse_tensor(g))
                continue
        if not create_graph:
            g = engine.own(edge.hook_kind, g)
        if isinstance(t, Tensor) and isinstance(t._a, SparseArray):
            g = registered.sparse_tensor(t._a.with_values(g))
        gradients.append(g)
    return tuple(gradients)


def _kind(t: Any) -> Any:
    return t._k if isinstance(t, Tensor) else node_of(t).k


def _zeros(t: Any) -> Tensor:
    return from_array(t._k.zeros(tuple(t._s)), t._k)


def _outputs(tensors: Any) -> list[Any]:
    single = isinstance(tensors, (Tensor, GradientEdge))
    found = [tensors] if single else list(tensors)
    for t in found:
        if not isinstance(t, (Tensor, GradientEdge)):
            raise AssertionError(
                f"Expected output to be a torch.Tensor, but got {type(t).__name__}"
            )
    return found


def _inputs(tensors: Any, function: str) -> list[Any]:
    single = isinstance(tensors, (Tensor, GradientEdge))
    found = [tensors] if single else list(tensors)
    for t in found:
        if not isinstance(t, (Tensor, GradientEdge)):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}"
            )
    if not found:
        raise RuntimeError(f"`inputs` argument to `{function}()` cannot be empty.")
    return found


def _no_history(i: int) -> RuntimeError:
    return RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")


def _roots(outputs: list[Any], grads: Any, create_graph: bool) -> list[tuple[Any, Any]]:
    given: list[Any]
    if grads is None:
        given = [None] * len(outputs)
    else:
        given = [grads] if isinstance(grads, Tensor) else list(grads)
    for g in given:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if len(given) != len(outputs):
        raise RuntimeError(
            f"got {len(outputs)} tensors and {len(given)} gradients: give one for each tensor"
        )
    roots = []
    tensors = engine.as_tensors(create_graph)
    size: Any
    for i, (t, g) in enumerate(zip(outputs, given, strict=True)):
        if isinstance(t, Tensor):
            edge, k, size = t._e if t._b is None else edge_of(t), t._k, t._s
        else:
            edge, size = node_of(t), shape_of(t)
            k = edge.k
        if edge is None:
            raise _no_history(i)
        if g is None:
            if size is None or (size and size.numel() != 1):
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if k.is_complex:
                raise RuntimeError(
                    f"grad can be implicitly created only for real scalar outputs but got {k.dtype}"
                )
            if not tensors and not size:
                roots.append((edge, k.seed()))
                continue
            g = registered.ones_like(t) if tensors and isinstance(t, Tensor) else None
            g = from_array(k.full(tuple(size), 1), k) if g is None else g
        elif size is not None and g._s != size:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g._s} and output[{i}] has a "
                f"shape of {size}."
            )
        elif g._k.is_complex != k.is_complex:
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same "
                f"dtype. Mismatch in dtype: grad_output[{i}] has a dtype of {g._k.dtype} and "
                f"output[{i}] has a dtype of {k.dtype}."
            )
        elif g._k is not k:
            g = g.to(k.device, k.dtype)
            if g._k.device is not k.device and not tensors:
                raise RuntimeError(
                    "backward() inside vmap got a gradient for each element of the batch, of a "
                    "tensor from outside: use torch.autograd.grad or torch.func.vjp there"
                )
        if tensors and not create_graph and g._e is not None:
            with no_grad():
                g = core("clone")(g)
        roots.append((edge, g if tensors else g._a))
    return roots

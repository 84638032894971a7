"""Modules as functions of their parameters: ``functional_call``, and what goes with it."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

from tensorbus._base.leaving import block
from tensorbus._tensor.tensor import Tensor
from tensorbus.nn.modules.module import Module
from tensorbus.ops.joining.joining import stack

Tensors = Mapping[str, Tensor]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the place of its parameters and buffers.

    *parameter_and_buffer_dicts* maps their names to tensors, or is a list of such dicts; what is
    not named stays. Parameters that are the same tensor under several names all get the one
    that is given, unless *tie_weights* is False. With *strict* all have to be named. *args* is a
    tuple of arguments, or one alone. A buffer that the call replaces is replaced in the dict.

    ValueError for a name in several dicts or two values for tied names, AttributeError for a name
    that the module lacks, RuntimeError for names missing or not expected with *strict*,
    TypeError for what is no tensor.

    >>> import tensorbus as torch
    >>> net = torch.nn.Linear(2, 1)
    >>> weights = {"weight": torch.tensor([[1.0, 10.0]]), "bias": torch.tensor([0.5])}
    >>> torch.func.functional_call(net, weights, torch.tensor([[2.0, 3.0]]))
    tensor([[32.5000]])

    Source: https://pytorch.org/docs/stable/generated/torch.func.functional_call.html
    """
    given = parameter_and_buffer_dicts
    if isinstance(given, (list, tuple)) and all(isinstance(d, dict) for d in given):
        names = [name for each in given for name in each]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"{twice} appeared in multiple dictionaries; behavior of functional call is "
                "ambiguous"
            )
        tensors = {name: t for each in given for name, t in each.items()}
    elif isinstance(given, dict):
        tensors = given
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(given)}"
        )
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, tensors, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


@block
def _replaced(
    module: Module, tensors: dict[str, Tensor], tie_weights: bool, strict: bool
) -> Generator[None, None, None]:
    """A block in which a module has other tensors."""
    wanted = _tied(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, wanted)
    slots = [(name, *_slot(module, name, t)) for name, t in wanted.items()]
    before = [table.get(last) for _, table, last in slots]
    count = 0  # of those that are replaced

    def set_back() -> None:
        nonlocal count
        while count:
            name, table, last = slots[count - 1]
            now = table[last]
            if now is not wanted[name] and name in tensors:
                tensors[name] = now
            table[last] = before[count - 1]
            count -= 1  # no call since the table was written: an interrupt comes before both

    try:
        for name, table, last in slots:
            table[last] = wanted[name]
            count += 1
        yield
    finally:
        try:
            set_back()
        except BaseException:
            set_back()
            raise


def _tied(module: Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under all names of the parameters and buffers that they stand for."""
    names: dict[int, list[str]] = {}
    for listing in (module.named_parameters, module.named_buffers):
        for name, t in listing(remove_duplicate=False):
            names.setdefault(id(t), []).append(name)
    wanted = dict(tensors)
    for group in names.values():
        given = [name for name in group if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            wanted.update(dict.fromkeys(group, tensors[given[0]]))
    return wanted


def _check_names(module: Module, wanted: dict[str, Tensor]) -> None:
    own = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    own |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    unexpected, missing = sorted(set(wanted) - own), sorted(own - set(wanted))
    lines = [
        f"\n\t{what} key(s): {', '.join(map(repr, names))}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if lines:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:" + "".join(lines)
        )


def _slot(module: Module, name: str, value: Any) -> tuple[dict[str, Any], str]:
    """The table of a submodule in which a parameter or buffer stands, and its name there."""
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    *path, last = name.split(".")
    for part in path:
        found = module._modules.get(part)
        if found is None:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`")
        module = found
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    for table in (module._parameters, module._buffers):
        if last in table:
            return table, last
    present = getattr(module, last, None)
    if present is not None and not isinstance(present, Tensor):
        raise TypeError(f"attribute `{last}`: {present} is not an instance of torch.Tensor")
    return vars(module), last


def stack_module_state(
    models: Sequence[Module] | Any,
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules, each stacked under its name.

    With ``vmap`` over ``functional_call`` the modules run as one. The stacked parameters are new
    leaves, which require gradients as the modules' do.

    RuntimeError where there is none, or where they differ in class, mode or in what requires
    gradients.

    >>> import tensorbus as torch
    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 1)] * 3)
    >>> parameters["weight"].shape, buffers
    (torch.Size([3, 1, 2]), {})

    Source: https://pytorch.org/docs/stable/generated/torch.func.stack_module_state.html
    """
    given = list(models)
    if not given:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in given}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if len({type(m) for m in given}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in given]
    buffers = [dict(m.named_buffers()) for m in given]
    made = {name: _stacked(name, [p[name] for p in parameters]) for name in parameters[0]}
    return made, {name: _stacked(name, [b[name] for b in buffers]) for name in buffers[0]}


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    wanting = {t.requires_grad for t in tensors}
    if len(wanting) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    return stack(tensors).detach().requires_grad_(wanting.pop())


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Make each batch norm in a module, in place, use the statistics of its batch alone.

    Running statistics are written to in each call, which no function transform allows.

    >>> import tensorbus as torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(3))
    >>> torch.func.replace_all_batch_norm_modules_(net)[0].running_mean is None
    True

    Source: https://pytorch.org/docs/stable/generated/torch.func.replace_all_batch_norm_modules_.html
    """
    for module in root.modules():
        if getattr(module, "track_running_stats", False) and hasattr(module, "num_batches_tracked"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root

"""``torch.__future__``: what becomes of parameters that are converted or loaded, beside PyTorch."""

from __future__ import annotations

import pytest

import tensorbus as torch


def converted(lib):
    n, future, seen = lib.nn, lib.__future__, []

    def layer():
        made = n.Linear(2, 2)
        made(lib.ones(1, 2)).sum().backward()
        return made, made.weight

    for overwrite in (False, True):
        future.set_overwrite_module_params_on_conversion(overwrite)
        seen.append(future.get_overwrite_module_params_on_conversion())
        made, weight = layer()
        made.double()
        own = made.weight
        seen += [own is weight, str(own.dtype), str(own.grad.dtype), str(weight.dtype)]
        seen += [type(own).__name__, own.requires_grad]
        made.to("cpu")
        seen.append(made.weight is own)
    future.set_overwrite_module_params_on_conversion(False)
    return seen


def loaded(lib):
    n, future, seen = lib.nn, lib.__future__, []
    source = n.Linear(2, 2).double()
    with lib.no_grad():
        source.weight.fill_(3)
    for swap in (False, True):
        future.set_swap_module_params_on_conversion(swap)
        seen.append(future.get_swap_module_params_on_conversion())
        for options in ({}, {"device": "meta"}):
            state = source.state_dict()
            made = n.Linear(2, 2, **options).requires_grad_(not options)
            weight = made.weight
            made.load_state_dict(state, assign=True)
            own = made.weight
            seen += [own is weight, own.tolist(), str(own.dtype), type(own).__name__]
            seen += [own.requires_grad, state["weight"].tolist(), str(state["weight"].device)]
    future.set_swap_module_params_on_conversion(False)
    return seen


@pytest.fixture(autouse=True)
def _switches_are_put_back():
    yield
    torch.__future__.set_overwrite_module_params_on_conversion(False)
    torch.__future__.set_swap_module_params_on_conversion(False)


@pytest.mark.parametrize("program", [converted, loaded])
def test_parameters_stay_or_are_replaced_as_the_switches_say(program, oracle):
    assert program(torch) == list(oracle(program))


def test_a_module_is_compiled_in_place_and_stays_what_it_is(recwarn):
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    before = layer(x)
    assert layer.compile(mode="default") is None
    assert torch.equal(layer(x), before)
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast"):
        layer.compile(mode="fast")

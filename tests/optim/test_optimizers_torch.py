"""Optimizers beside PyTorch's: parameters and state after many steps, checkpoints, errors."""

import copy

import numpy as np
import pytest

import tensorbus

CASES = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.001, "momentum": 0.5, "dampening": 0.3, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"betas": (0.5, 0.7), "eps": 0.1, "maximize": True}),
    ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.2}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.3}),
    ("Adamax", {"weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3}),
    ("Adadelta", {"weight_decay": 0.1, "lr": 0.5}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Rprop", {"maximize": True, "step_sizes": (1e-3, 0.1)}),
    ("ASGD", {"weight_decay": 0.1, "t0": 5, "lambd": 0.1}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.3, "weight_decay": 0.1, "eps": (1e-3, 0.1), "beta2_decay": -0.5}),
    ("Adafactor", {"lr": 0.1, "maximize": True, "d": 1.5}),
]


def label(case):
    return f"{case[0]}-{','.join(case[1])}"


def make(lib, name, options):
    rng = np.random.default_rng(0)
    params = [
        lib.nn.Parameter(lib.tensor(rng.normal(size=(3, 4)))),
        lib.nn.Parameter(lib.tensor(rng.normal(size=5))),
    ]
    return params, getattr(lib.optim, name)(params, **options)


def train(params, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        a, b = params
        loss = (a * a).sum() + ((b - 1) ** 2).sum() + a.sin().mean() * b[0]
        loss.backward()
        optimizer.step()


def as_array(value):
    return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def check_same(ours, parameters, state_dict):
    # PyTorch rounds ASGD's rate to float32 in each step, whatever the parameters are.
    rtol, atol = (1e-7, 1e-8) if type(ours[1]).__name__ == "ASGD" else (1e-9, 1e-12)
    for a, b in zip(ours[0], parameters, strict=True):
        np.testing.assert_allclose(as_array(a), b.values, rtol=rtol, atol=atol)
    mine = ours[1].state_dict()
    assert mine["param_groups"] == state_dict["param_groups"]
    assert list(mine["state"]) == list(state_dict["state"])
    for number, entries in state_dict["state"].items():
        assert list(mine["state"][number]) == list(entries)
        for key, value in entries.items():
            got = mine["state"][number][key]
            np.testing.assert_allclose(as_array(got), value.values, rtol=1e-6, atol=1e-12)
            # PyTorch rounds these to float32, but not after a checkpoint: the way would fork.
            exact = key in ("mu_product", "eta", "mu")
            assert str(got.dtype) == ("torch.float64" if exact else value.dtype)


@pytest.mark.parametrize("case", CASES, ids=label)
def test_25_steps_agree(case, oracle):
    def program(lib):
        made = make(lib, *case)
        text = repr(made[1])
        train(*made, 25)
        return text, made[0], made[1].state_dict()

    ours = make(tensorbus, *case)
    text, *expected = oracle(program)
    assert repr(ours[1]) == text
    train(*ours, 25)
    check_same(ours, *expected)


@pytest.mark.parametrize("case", CASES, ids=label)
def test_training_goes_on_from_pytorch_s_checkpoint(case, oracle):
    def program(lib):
        made = make(lib, *case)
        train(*made, 7)
        saved = copy.deepcopy((made[0], made[1].state_dict()))
        made[1].load_state_dict(made[1].state_dict())
        train(*made, 8)
        return saved, (made[0], made[1].state_dict())

    (parameters, saved), expected = oracle(program)
    ours = make(tensorbus, *case)
    with tensorbus.no_grad():
        for mine, other in zip(ours[0], parameters, strict=True):
            mine.copy_(tensorbus.tensor(other.values))
    state = {
        number: {key: tensorbus.tensor(value.values) for key, value in entries.items()}
        for number, entries in saved["state"].items()
    }
    ours[1].load_state_dict({"state": state, "param_groups": saved["param_groups"]})
    train(*ours, 8)
    check_same(ours, *expected)


LBFGS_OPTIONS = [
    {},
    {"line_search_fn": "strong_wolfe"},
    {"lr": 0.1, "history_size": 3, "max_iter": 8},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "max_eval": 4},
]


@pytest.mark.parametrize("options", LBFGS_OPTIONS, ids=lambda options: ",".join(options))
def test_lbfgs_takes_the_same_path(options, oracle):
    def program(lib):
        point = lib.nn.Parameter(lib.tensor(np.array([-1.5, 2.0, 0.3])))
        optimizer = lib.optim.LBFGS([point], **options)

        def closure(point=point, optimizer=optimizer):
            optimizer.zero_grad()
            x, y, z = point
            loss = 5 * (y - x**2) ** 2 + (1 - x) ** 2 + (z - x * y) ** 2 + z**4
            loss.backward()
            return loss

        history = [optimizer.step(closure).item() for _ in range(5)]
        evaluations = optimizer.state_dict()["state"][0]["func_evals"]
        return history, point.detach().numpy(), evaluations

    # Rounding errors grow along the path.
    history, end, evaluations = program(tensorbus)
    expected = oracle(program, rtol=1e-6)
    np.testing.assert_allclose(history, expected[0], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(end, expected[1], rtol=1e-6)
    assert evaluations == expected[2]


@pytest.mark.parametrize(
    "make_optimizer",
    [
        lambda lib, p: lib.optim.SGD([p], lr=-1),
        lambda lib, p: lib.optim.SGD([p], momentum=-1),
        lambda lib, p: lib.optim.SGD([p], weight_decay=-1),
        lambda lib, p: lib.optim.SGD([p], nesterov=True),
        lambda lib, p: lib.optim.Adam([p], eps=-1),
        lambda lib, p: lib.optim.Adam([p], betas=(1.0, 0.9)),
        lambda lib, p: lib.optim.AdamW([p], betas=(0.9, -0.1)),
        lambda lib, p: lib.optim.Adagrad([p], lr_decay=-1),
        lambda lib, p: lib.optim.Adagrad([p], initial_accumulator_value=-1),
        lambda lib, p: lib.optim.Adadelta([p], rho=2),
        lambda lib, p: lib.optim.RMSprop([p], alpha=-1),
        lambda lib, p: lib.optim.Rprop([p], etas=(1.1, 1.2)),
        lambda lib, p: lib.optim.NAdam([p], momentum_decay=-1),
        lambda lib, p: lib.optim.SGD([]),
        lambda lib, p: lib.optim.SGD(p),
        lambda lib, p: lib.optim.SGD([3]),
        lambda lib, p: lib.optim.SGD([p * 2]),
        lambda lib, p: lib.optim.SGD([{"params": {p}}]),
        lambda lib, p: lib.optim.SGD([{"params": [p]}, {"params": [p]}]),
        lambda lib, p: lib.optim.SGD([("a", p), lib.ones(1)]),
        lambda lib, p: lib.optim.SGD([p]).add_param_group([p]),
        lambda lib, p: lib.optim.SGD([p]).add_param_group({"params": [("b", lib.ones(1))]}),
        lambda lib, p: lib.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
        lambda lib, p: lib.optim.SGD([p]).load_state_dict(
            {"state": {}, "param_groups": [{"params": [0, 1]}]}
        ),
        lambda lib, p: lib.optim.LBFGS([{"params": [p]}, {"params": [lib.ones(1)]}]),
        lambda lib, p: lib.optim.Adafactor([p], lr=-1),
        lambda lib, p: lib.optim.Adafactor([p], beta2_decay=0.5),
        lambda lib, p: lib.optim.Adafactor([p], eps=(-1, 1)),
        lambda lib, p: lib.optim.Adafactor([p], eps=(1, -1)),
        lambda lib, p: lib.optim.Adafactor([p], d=0.5),
        lambda lib, p: lib.optim.Adafactor([p], weight_decay=-1),
        lambda lib, p: lib.optim.Adafactor([p], lr=p.detach()),
        lambda lib, p: lib.optim.Muon([p]),
        lambda lib, p: lib.optim.Muon([p], lr=-1),
        lambda lib, p: lib.optim.Muon([p], momentum=-1),
        lambda lib, p: lib.optim.Muon([p], weight_decay=-1),
        lambda lib, p: lib.optim.Muon([p], adjust_lr_fn="none"),
        lambda lib, p: lib.optim.SparseAdam([p], lr=0),
        lambda lib, p: lib.optim.SparseAdam([p], eps=0.0),
        lambda lib, p: lib.optim.SparseAdam([p], betas=(0.9, 1.0)),
        lambda lib, p: lib.optim.SparseAdam([p, lib.ones(1, dtype=lib.complex64)]),
    ],
)
def test_errors_have_pytorch_s_text(make_optimizer, oracle):
    def program(lib):
        with pytest.raises((TypeError, ValueError)) as caught:
            make_optimizer(lib, lib.nn.Parameter(lib.ones(2)))
        return caught.type.__name__, str(caught.value)

    assert program(tensorbus) == oracle(program)


def test_named_parameters_are_kept_in_the_state_dict(oracle):
    def program(lib):
        return lib.optim.Adam(lib.nn.Linear(2, 2).named_parameters()).state_dict()["param_groups"]

    ours = program(tensorbus)
    assert ours == oracle(program)
    assert ours[0]["param_names"] == ["weight", "bias"]

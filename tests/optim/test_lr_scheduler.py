"""Schedules: sequences beside PyTorch's, checkpoints, warnings, errors."""

import copy
import gc
import math
import pickle
import types
import warnings
import weakref

import pytest

import tensorbus
from tensorbus import nn, optim

SCHEDULES = {
    "lambda": lambda L, o: L.LambdaLR(o, lambda step: 0.9**step),
    "lambdas": lambda L, o: L.LambdaLR(o, [lambda step: 0.9**step, lambda step: 1 / (step + 1)]),
    "multiplicative": lambda L, o: L.MultiplicativeLR(o, lambda step: 0.9 + step / 100),
    "step": lambda L, o: L.StepLR(o, 3, 0.5),
    "multistep": lambda L, o: L.MultiStepLR(o, [2, 2, 5, 11], 0.5),
    "constant": lambda L, o: L.ConstantLR(o, 0.3, 4),
    "linear": lambda L, o: L.LinearLR(o, 0.2, 0.9, 6),
    "exponential": lambda L, o: L.ExponentialLR(o, 0.9),
    "polynomial": lambda L, o: L.PolynomialLR(o, 7, 2.0),
    "cosine": lambda L, o: L.CosineAnnealingLR(o, 5, 0.001),
    "restarts": lambda L, o: L.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "one cycle": lambda L, o: L.OneCycleLR(o, [0.5, 1.0], total_steps=25),
    "three phases": lambda L, o: L.OneCycleLR(
        o, 0.5, epochs=5, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"
    ),
    "sequential": lambda L, o: L.SequentialLR(
        o,
        [L.LinearLR(o, 0.1, 1.0, 4), L.CosineAnnealingLR(o, 10), L.ExponentialLR(o, 0.9)],
        [4, 12],
    ),
    "chained": lambda L, o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 4), L.ExponentialLR(o, 0.9)]),
    "nested": lambda L, o: L.SequentialLR(
        o,
        [
            L.ChainedScheduler([L.ConstantLR(o, 0.1, 4), L.ExponentialLR(o, 0.9)]),
            L.StepLR(o, 2),
        ],
        [4],
    ),
    "triangles": lambda L, o: L.CyclicLR(o, 0.01, 0.5, 4),
    "smaller triangles": lambda L, o: L.CyclicLR(
        o, [0.01, 0.02], [0.5, 0.7], 3, 5, "triangular2", base_momentum=0.6, max_momentum=0.95
    ),
    "exponential range": lambda L, o: L.CyclicLR(
        o, 0.01, 0.5, 4, mode="exp_range", gamma=0.9, cycle_momentum=False
    ),
    "own scale": lambda L, o: L.CyclicLR(
        o, 0.01, 0.5, 4, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations"
    ),
    "scale of cycles": lambda L, o: L.CyclicLR(o, 0.1, 0.5, 2, scale_fn=lambda x: 1 / x),
}


def make_optimizer(lib=tensorbus, name="SGD", **options):
    params = [lib.nn.Parameter(lib.ones(n)) for n in (2, 3)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.3}]
    return getattr(lib.optim, name)(groups, lr=0.1, **options)


def values(optimizer):
    return [
        option
        for group in optimizer.param_groups
        for option in (group["lr"], group.get("momentum"), group.get("betas"))
    ]


def follow(optimizer, scheduler, steps=24):
    sequence = []
    for _ in range(steps):
        sequence.append((scheduler.get_last_lr(), values(optimizer)))
        optimizer.step()
        scheduler.step()
    return sequence


# Making a sequence steps its first schedule; if that is a chain, its parts warn, as in PyTorch.
inner_schedules_warn = pytest.mark.filterwarnings("ignore:Detected call of:UserWarning")


@inner_schedules_warn
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sequences_agree(schedule, optimizer, oracle):
    options = {"momentum": 0.9} if optimizer == "SGD" else {}

    def program(lib):
        made = make_optimizer(lib, optimizer, **options)
        return follow(made, SCHEDULES[schedule](lib.optim.lr_scheduler, made))

    assert program(tensorbus) == oracle(program)


@pytest.mark.parametrize("schedule", [s for s in SCHEDULES if s not in ("sequential", "nested")])
def test_state_dicts_have_the_same_entries(schedule, oracle):
    def program(lib):
        made = make_optimizer(lib, momentum=0.9)
        scheduler = SCHEDULES[schedule](lib.optim.lr_scheduler, made)
        follow(made, scheduler, 3)
        return scheduler.state_dict()

    assert program(tensorbus) == oracle(program)


@inner_schedules_warn
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_run_that_was_saved_goes_on(schedule):
    whole = make_optimizer(momentum=0.9)
    expected = follow(whole, SCHEDULES[schedule](optim.lr_scheduler, whole))

    first = make_optimizer(momentum=0.9)
    scheduler = SCHEDULES[schedule](optim.lr_scheduler, first)
    follow(first, scheduler, 9)
    second = make_optimizer(momentum=0.9)
    again = SCHEDULES[schedule](optim.lr_scheduler, second)
    second.load_state_dict(first.state_dict())
    again.load_state_dict(scheduler.state_dict())
    assert follow(second, again, 15) == expected[9:]


PLATEAUS = [
    {},
    {"mode": "max"},
    {"threshold_mode": "abs", "threshold": 0.1, "cooldown": 2},
    {"min_lr": [0.01, 0.05], "factor": 0.5},
    {"eps": 0.02},
]


@pytest.mark.parametrize("options", PLATEAUS, ids=lambda options: ",".join(options))
def test_reduce_on_plateau(options, oracle):
    def program(lib):
        made = make_optimizer(lib)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(made, patience=2, **options)
        rates = []
        for step in range(60):
            scheduler.step(math.sin(step * step) + (step < 20) / (step + 1))
            rates.append([group["lr"] for group in made.param_groups])
        return rates, scheduler.state_dict()

    assert program(tensorbus) == oracle(program)


def test_reduce_on_plateau_by_hand():
    optimizer = make_optimizer()
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    rates = []
    for loss in [1.0, 0.9, 0.95, 0.92, 0.8, tensorbus.tensor(0.9), 0.9]:
        scheduler.step(loss)
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025]


def test_step_lr_by_hand():
    optimizer = make_optimizer()
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    rates = [rates[0] for rates, _ in follow(optimizer, scheduler, 5)]
    assert rates == [0.1, 0.1, 0.05, 0.05, 0.025]


def test_stepping_before_the_optimizer_warns_once_and_at_the_caller():
    optimizer = make_optimizer()
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.warns(
        UserWarning, match=r"call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"
    ) as caught:
        scheduler.step()
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()


def test_a_step_that_replaces_the_noted_one_warns():
    optimizer = make_optimizer()
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step = types.MethodType(type(optimizer).step, optimizer)
    optimizer.step()
    with pytest.warns(UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden"):
        scheduler.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()


def test_a_step_that_was_replaced_before_is_noted():
    optimizer = make_optimizer()
    calls = []
    optimizer.step = types.MethodType(lambda self: calls.append(self), optimizer)
    schedulers = [optim.lr_scheduler.StepLR(optimizer, 1) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
    assert calls == [optimizer]


def test_schedulers_keep_no_optimizer_alive_and_copy_with_it():
    optimizer = make_optimizer()
    optim.lr_scheduler.StepLR(optimizer, 1)
    pickle.loads(pickle.dumps(optimizer)).step()
    copy.deepcopy(optimizer).step()
    gone = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer
        assert gone() is None
    finally:
        gc.enable()


def test_the_right_order_does_not_warn():
    optimizer = make_optimizer()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        follow(optimizer, optim.lr_scheduler.StepLR(optimizer, 1), 3)


def test_get_lr_outside_of_step_warns():
    scheduler = optim.lr_scheduler.StepLR(make_optimizer(), 1)
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`") as caught:
        scheduler.get_lr()
    assert caught[0].filename == __file__


def test_going_to_an_epoch_uses_the_closed_form_and_warns():
    optimizer = make_optimizer()
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [0.1 * 0.5**3, 0.3 * 0.5**3]


def test_resuming_with_last_epoch():
    optimizer = make_optimizer()
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"]
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step, last_epoch=2)
    assert scheduler.get_last_lr() == [0.1 * 0.5**3, 0.3 * 0.5**3]
    with pytest.raises(KeyError, match=r"not specified in param_groups\[0\] when resuming"):
        optim.lr_scheduler.StepLR(make_optimizer(), 1, last_epoch=2)


def test_a_user_s_schedule():
    class Halve(optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [group["lr"] / 2 for group in self.optimizer.param_groups]

    optimizer = make_optimizer()
    assert Halve(optimizer).get_last_lr() == [0.05, 0.15]


def test_a_rate_that_is_a_tensor_stays_one():
    rate = tensorbus.tensor(0.5)
    optimizer = optim.SGD([nn.Parameter(tensorbus.ones(1))], lr=rate)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    before = scheduler.get_last_lr()[0]
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.25
    assert before.item() == 0.5


def test_only_attributes_of_function_objects_are_saved():
    class Power:
        def __init__(self, base):
            self.base = base

        def __call__(self, step):
            return self.base**step

    saved = optim.lr_scheduler.LambdaLR(make_optimizer(), [Power(0.5), lambda s: 1.0]).state_dict()
    assert saved["lr_lambdas"] == [{"base": 0.5}, None]
    power = Power(0.9)
    optim.lr_scheduler.LambdaLR(make_optimizer(), [power, lambda s: 1.0]).load_state_dict(saved)
    assert power.base == 0.5
    assert saved["lr_lambdas"] == [{"base": 0.5}, None]


ERRORS = [
    lambda L, o: L.StepLR("optimizer", 1),
    lambda L, o: L.LambdaLR(o, [lambda step: 1.0]),
    lambda L, o: L.MultiplicativeLR(o, 3),
    lambda L, o: L.ConstantLR(o, 1.5),
    lambda L, o: L.LinearLR(o, 0.0),
    lambda L, o: L.LinearLR(o, 0.5, 1.5),
    lambda L, o: L.CosineAnnealingWarmRestarts(o, 0),
    lambda L, o: L.CosineAnnealingWarmRestarts(o, 1, 0),
    lambda L, o: L.OneCycleLR(o, 0.1),
    lambda L, o: L.OneCycleLR(o, 0.1, total_steps=-3),
    lambda L, o: L.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=0),
    lambda L, o: L.OneCycleLR(o, 0.1, total_steps=5, pct_start=2),
    lambda L, o: L.OneCycleLR(o, 0.1, total_steps=5, anneal_strategy="square"),
    lambda L, o: L.OneCycleLR(o, [0.1], total_steps=5),
    lambda L, o: L.ReduceLROnPlateau(o, factor=1.0),
    lambda L, o: L.ReduceLROnPlateau(o, mode="mean"),
    lambda L, o: L.ReduceLROnPlateau(o, threshold_mode="both"),
    lambda L, o: L.ReduceLROnPlateau(o, min_lr=[1.0]),
    lambda L, o: L.SequentialLR(o, [], []),
    lambda L, o: L.SequentialLR(o, [L.StepLR(o, 1)], [1]),
    lambda L, o: L.SequentialLR(o, [L.ReduceLROnPlateau(o)], []),
    lambda L, o: L.SequentialLR(o, [3], []),
    lambda L, o: L.ChainedScheduler([]),
    lambda L, o: L.ChainedScheduler([L.ReduceLROnPlateau(o)]),
]


@pytest.mark.parametrize("build", ERRORS)
def test_errors_have_pytorch_s_text(build, oracle):
    def program(lib):
        with pytest.raises((TypeError, ValueError)) as caught:
            build(lib.optim.lr_scheduler, make_optimizer(lib, momentum=0.9))
        return caught.type.__name__, str(caught.value)

    assert program(tensorbus) == oracle(program)


def test_more_steps_than_a_cycle_has():
    optimizer = make_optimizer(momentum=0.9)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2)
    follow(optimizer, scheduler, 2)
    with pytest.raises(ValueError, match=r"Tried to step 3 times. The specified number of total"):
        scheduler.step()

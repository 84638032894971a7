"""state_dict and load_state_dict: contents, errors, hooks, extra state."""

from collections import OrderedDict

import pytest

import tensorbus
from tensorbus import nn


def make():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


def values(tensor):
    return tensor.detach().numpy()


def test_keys_order_and_metadata():
    state = make().state_dict()
    assert isinstance(state, OrderedDict)
    assert list(state) == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    assert dict(state._metadata) == {
        "": {"version": 1},
        "0": {"version": 1},
        "1": {"version": 2},
    }


def test_values_are_detached_and_share_memory():
    net = make()
    state = net.state_dict()
    assert not state["0.weight"].requires_grad
    with tensorbus.no_grad():
        net[0].weight.fill_(4.0)
    assert (values(state["0.weight"]) == 4.0).all()
    assert net.state_dict(keep_vars=True)["0.weight"] is net[0].weight


def test_prefix_and_destination():
    target = {}
    result = nn.Linear(1, 1).state_dict(destination=target, prefix="layer.")
    assert result is target
    assert list(target) == ["layer.weight", "layer.bias"]


def test_loading_copies_into_the_same_parameters():
    source, target = make(), make()
    weight = target[0].weight
    result = target.load_state_dict(source.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert target[0].weight is weight
    assert (values(weight) == values(source[0].weight)).all()
    with tensorbus.no_grad():
        source[0].weight.fill_(0.0)
    assert not (values(weight) == 0.0).all()


def test_assign_puts_the_given_tensors_in_place():
    target = nn.Linear(2, 2)
    given = {"weight": tensorbus.ones(2, 2).double(), "bias": tensorbus.zeros(2).double()}
    target.load_state_dict(given, assign=True)
    assert target.weight.dtype == tensorbus.float64
    assert isinstance(target.weight, nn.Parameter)
    assert target.weight.requires_grad


def test_differences_are_listed_all_at_once():
    state = make().state_dict()
    del state["0.bias"]
    state["0.extra"] = tensorbus.ones(1)
    state["2.weight"] = tensorbus.ones(1)
    state["1.weight"] = tensorbus.ones(4)
    state["1.bias"] = "text"
    with pytest.raises(RuntimeError) as caught:
        make().load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.bias". \n'
        '\tUnexpected key(s) in state_dict: "2.weight", "0.extra". \n'
        "\tsize mismatch for 1.weight: copying a param with shape torch.Size([4]) from "
        "checkpoint, the shape in current model is torch.Size([3]).\n"
        '\tWhile copying the parameter named "1.bias", expected torch.Tensor or Tensor-like '
        "object from checkpoint but received <class 'str'>"
    )


def test_not_strict_returns_the_differences():
    state = make().state_dict()
    del state["0.bias"]
    state["more"] = tensorbus.ones(1)
    result = make().load_state_dict(state, strict=False)
    assert result.missing_keys == ["0.bias"]
    assert result.unexpected_keys == ["more"]
    assert repr(result) == ("_IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['more'])")


def test_shapes_are_checked_even_if_not_strict():
    state = {"weight": tensorbus.ones(3, 3)}
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        layer.load_state_dict(state, strict=False)


def test_only_mappings_are_loaded():
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>"):
        make().load_state_dict([])


def test_the_given_dict_is_left_as_it_was():
    state = make().state_dict()
    keys = list(state)
    metadata = {name: dict(entry) for name, entry in state._metadata.items()}
    make().load_state_dict(state, assign=True)
    assert list(state) == keys
    assert dict(state._metadata) == metadata


def test_single_numbers_load_from_vectors_of_one():
    module = nn.Module()
    module.register_buffer("count", tensorbus.tensor(0.0))
    module.load_state_dict({"count": tensorbus.tensor([5.0])})
    assert module.count.item() == 5.0


def test_old_batch_norm_checkpoints_have_no_count():
    layer = nn.BatchNorm1d(2)
    state = layer.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1
    layer.load_state_dict(state)
    assert layer.num_batches_tracked.item() == 0


def test_extra_state_goes_through():
    class Counter(nn.Module):
        def __init__(self, count):
            super().__init__()
            self.count = count

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    source, target = nn.Sequential(Counter(3)), nn.Sequential(Counter(0))
    state = source.state_dict()
    assert state["0._extra_state"] == {"count": 3}
    target.load_state_dict(state)
    assert target[0].count == 3
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0._extra_state"'):
        target.load_state_dict({})
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\).*"_extra_state"'):
        nn.Identity().load_state_dict({"_extra_state": 1})


def test_state_dict_hooks():
    layer, calls = nn.Linear(1, 1), []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append((prefix, keep)))

    def rename(module, state, prefix, metadata):
        state[prefix + "w"] = state.pop(prefix + "weight")

    layer.register_state_dict_post_hook(rename)
    assert sorted(nn.Sequential(layer).state_dict()) == ["0.bias", "0.w"]
    assert calls == [("0.", False)]


def test_load_hooks_can_repair_a_checkpoint():
    layer, seen = nn.Linear(1, 1), []

    def rename(module, state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "w")

    def forgive(module, incompatible):
        seen.append(list(incompatible.missing_keys))
        incompatible.missing_keys.clear()

    layer.register_load_state_dict_pre_hook(rename)
    layer.register_load_state_dict_post_hook(forgive)
    nn.Sequential(layer).load_state_dict({"0.w": tensorbus.ones(1, 1)})
    assert seen == [["0.bias"]]
    assert layer.weight.item() == 1.0


def test_a_load_post_hook_that_returns_something():
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_post_hook(lambda m, keys: keys)
    with pytest.raises(AssertionError, match="not expected to return new values"):
        layer.load_state_dict(layer.state_dict())

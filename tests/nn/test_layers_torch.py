"""Layers beside PyTorch's: repr, parameters, results and gradients."""

import numpy as np
import pytest

import tensorbus
from tensorbus import nn

# name, arguments, keyword arguments, shapes of the inputs
LAYERS = [
    ("Identity", (54,), {"unused": 1}, [(2, 3)]),
    ("Linear", (5, 3), {}, [(4, 5)]),
    ("Linear", (5, 3), {"bias": False}, [(2, 4, 5)]),
    ("Bilinear", (3, 4, 5), {}, [(6, 3), (6, 4)]),
    ("Bilinear", (3, 4, 5), {"bias": False}, [(2, 6, 3), (2, 6, 4)]),
    ("Flatten", (), {}, [(2, 3, 4)]),
    ("Flatten", (), {"start_dim": 0, "end_dim": 1}, [(2, 3, 4)]),
    ("Unflatten", (1, (2, 3)), {}, [(4, 6)]),
    ("Conv1d", (4, 6, 3), {"padding": 1, "groups": 2}, [(2, 4, 9)]),
    ("Conv2d", (3, 4, 3), {}, [(2, 3, 7, 8)]),
    ("Conv2d", (3, 4, (3, 2)), {"stride": 2, "padding": (1, 0), "bias": False}, [(2, 3, 7, 8)]),
    ("Conv2d", (4, 4, 3), {"dilation": 2, "groups": 4, "padding": 2}, [(2, 4, 7, 8)]),
    ("Conv2d", (3, 4, 3), {"padding": "same"}, [(2, 3, 7, 8)]),
    ("Conv2d", (3, 4, 3), {"padding": "valid"}, [(3, 7, 8)]),
    ("Conv2d", (3, 4, 3), {"padding": 1, "padding_mode": "circular"}, [(2, 3, 7, 8)]),
    ("Conv2d", (3, 4, 3), {"padding": "same", "padding_mode": "reflect"}, [(2, 3, 7, 8)]),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2}, [(2, 4, 5)]),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "padding": 1}, [(2, 4, 5, 6)]),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "output_padding": 1, "groups": 2}, [(2, 4, 3, 3)]),
    ("Conv3d", (2, 3, 2), {"padding": 1, "stride": (1, 2, 1)}, [(2, 2, 4, 5, 3)]),
    ("Conv3d", (2, 2, (1, 2, 3)), {"groups": 2, "bias": False}, [(2, 3, 4, 5)]),
    ("Conv3d", (2, 2, 3), {"padding": "same", "padding_mode": "circular"}, [(1, 2, 4, 5, 3)]),
    ("ConvTranspose3d", (2, 3, 2), {"stride": 2, "output_padding": 1}, [(2, 2, 2, 3, 2)]),
    ("ChannelShuffle", (3,), {}, [(2, 6, 3, 2)]),
    ("InstanceNorm1d", (3,), {}, [(2, 3, 5)]),
    ("InstanceNorm1d", (3,), {"affine": True}, [(3, 5)]),
    ("InstanceNorm2d", (3,), {"affine": True, "track_running_stats": True}, [(2, 3, 4, 5)]),
    ("InstanceNorm2d", (3,), {"eps": 0.1, "affine": True, "bias": False}, [(3, 4, 5)]),
    ("InstanceNorm3d", (2,), {"track_running_stats": True, "momentum": 0.3}, [(2, 2, 3, 2, 4)]),
    ("ReflectionPad3d", (1,), {}, [(1, 2, 3, 4, 3)]),
    ("ReplicationPad3d", ((1, 2, 0, 1, 2, 0),), {}, [(2, 3, 4, 3)]),
    ("CircularPad3d", (1,), {}, [(1, 2, 3, 4, 3)]),
    ("MaxPool1d", (3,), {"stride": 2}, [(2, 3, 9)]),
    ("MaxPool2d", (2,), {}, [(2, 3, 8, 6)]),
    ("MaxPool2d", ((3, 2),), {"stride": 2, "padding": 1, "ceil_mode": True}, [(2, 3, 8, 7)]),
    ("AvgPool1d", (3,), {"stride": 2, "padding": 1}, [(2, 3, 9)]),
    ("AvgPool2d", (2,), {}, [(2, 3, 8, 6)]),
    ("AvgPool2d", (3,), {"stride": 2, "padding": 1, "count_include_pad": False}, [(2, 3, 8, 7)]),
    ("AdaptiveAvgPool1d", (4,), {}, [(2, 3, 10)]),
    ("AdaptiveAvgPool2d", ((3, None),), {}, [(2, 3, 8, 7)]),
    ("AdaptiveAvgPool2d", (1,), {}, [(2, 3, 8, 7)]),
    ("AdaptiveMaxPool1d", (4,), {}, [(2, 3, 10)]),
    ("AdaptiveMaxPool2d", (3,), {}, [(2, 3, 8, 7)]),
    ("MaxPool3d", ((2, 3, 1),), {"stride": 2, "padding": (1, 1, 0)}, [(2, 3, 5, 6, 4)]),
    ("AvgPool3d", (3,), {"stride": 2, "padding": 1, "ceil_mode": True}, [(3, 5, 6, 4)]),
    ("AdaptiveAvgPool3d", ((3, None, 2),), {}, [(2, 3, 5, 4, 5)]),
    ("AdaptiveMaxPool3d", (3,), {}, [(2, 3, 5, 4, 5)]),
    ("LPPool1d", (3, 2), {"ceil_mode": True}, [(2, 3, 9)]),
    ("LPPool2d", (2, (3, 2)), {"stride": 2}, [(2, 3, 8, 7)]),
    ("LPPool3d", (2, 2), {}, [(2, 3, 4, 5, 6)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear"}, [(2, 3, 4, 5)]),
    ("Upsample", ((5, 7),), {"mode": "bicubic", "align_corners": True}, [(2, 3, 4, 5)]),
    ("Upsample", (), {"scale_factor": 1.5, "mode": "trilinear"}, [(1, 2, 3, 4, 5)]),
    ("UpsamplingNearest2d", (), {"scale_factor": 3}, [(2, 3, 4, 5)]),
    ("UpsamplingBilinear2d", ((3, 9),), {}, [(2, 3, 4, 5)]),
    ("LocalResponseNorm", (3,), {"alpha": 0.5, "k": 2.0}, [(2, 5, 4, 3)]),
    ("LocalResponseNorm", (2,), {"alpha": 0.5, "beta": 0.5}, [(2, 5, 4)]),
    ("RReLU", (0.3, 0.3), {}, [(2, 3)]),
    ("BatchNorm1d", (3,), {}, [(6, 3)]),
    ("BatchNorm1d", (3,), {"momentum": None}, [(6, 3, 4)]),
    ("BatchNorm2d", (3,), {"eps": 0.1}, [(4, 3, 5, 2)]),
    ("BatchNorm2d", (3,), {"affine": False}, [(4, 3, 5, 2)]),
    ("BatchNorm2d", (3,), {"track_running_stats": False}, [(4, 3, 5, 2)]),
    ("BatchNorm2d", (3,), {"bias": False, "momentum": 0.5}, [(4, 3, 5, 2)]),
    ("BatchNorm3d", (3,), {}, [(2, 3, 2, 3, 2)]),
    ("LayerNorm", (5,), {}, [(3, 4, 5)]),
    ("LayerNorm", ((4, 5),), {"bias": False}, [(3, 4, 5)]),
    ("LayerNorm", ([4, 5],), {"elementwise_affine": False}, [(3, 4, 5)]),
    ("RMSNorm", (5,), {"eps": 1e-5}, [(3, 4, 5)]),
    ("GroupNorm", (2, 6), {}, [(3, 6, 4)]),
    ("GroupNorm", (3, 6), {"affine": False}, [(3, 6, 4, 2)]),
    ("PixelShuffle", (2,), {}, [(2, 8, 3, 3)]),
    ("PixelUnshuffle", (2,), {}, [(2, 2, 4, 6)]),
    ("Unfold", (2,), {"padding": 1}, [(2, 3, 4, 5)]),
    ("Unfold", ((2, 3),), {"dilation": (1, 2), "stride": 2}, [(3, 6, 7)]),
    ("Fold", (4, 2), {"padding": 1}, [(2, 8, 25)]),
    ("Fold", ((5, 7), (2, 3)), {"dilation": 2, "stride": (1, 2)}, [(6, 6)]),
    ("ZeroPad1d", (2,), {}, [(2, 3, 4)]),
    ("ZeroPad2d", ((1, 2, 0, -1),), {}, [(2, 3, 4, 4)]),
    ("ConstantPad1d", (2, 1.5), {}, [(2, 3, 4)]),
    ("ConstantPad2d", (2, 1.5), {}, [(2, 3, 4, 4)]),
    ("ConstantPad3d", (1, 1.5), {}, [(2, 3, 2, 4, 4)]),
    ("ReflectionPad1d", (2,), {}, [(2, 3, 4)]),
    ("ReflectionPad2d", (1,), {}, [(2, 3, 4, 4)]),
    ("ReplicationPad2d", (2,), {}, [(2, 3, 4, 4)]),
    ("CircularPad2d", (1,), {}, [(2, 3, 4, 4)]),
    ("CosineSimilarity", (), {"dim": 1}, [(4, 5), (4, 5)]),
    ("PairwiseDistance", (), {"p": 1, "keepdim": True}, [(4, 5), (4, 5)]),
    ("ReLU", (), {}, [(3, 4)]),
    ("ReLU6", (), {}, [(3, 4)]),
    ("LeakyReLU", (), {}, [(3, 4)]),
    ("LeakyReLU", (0.3,), {}, [(3, 4)]),
    ("ELU", (), {"alpha": 0.7}, [(3, 4)]),
    ("SELU", (), {}, [(3, 4)]),
    ("CELU", (1.3,), {}, [(3, 4)]),
    ("GELU", (), {}, [(3, 4)]),
    ("GELU", (), {"approximate": "tanh"}, [(3, 4)]),
    ("SiLU", (), {}, [(3, 4)]),
    ("Mish", (), {}, [(3, 4)]),
    ("Sigmoid", (), {}, [(3, 4)]),
    ("Tanh", (), {}, [(3, 4)]),
    ("Softplus", (), {"beta": 2.0, "threshold": 2.0}, [(3, 4)]),
    ("Softsign", (), {}, [(3, 4)]),
    ("Hardtanh", (-0.5, 0.7), {}, [(3, 4)]),
    ("Hardsigmoid", (), {}, [(3, 4)]),
    ("Hardswish", (), {}, [(3, 4)]),
    ("LogSigmoid", (), {}, [(3, 4)]),
    ("Softmax", (1,), {}, [(3, 4)]),
    ("LogSoftmax", (), {"dim": 0}, [(3, 4)]),
    ("Softmin", (-1,), {}, [(3, 4)]),
    ("Softmax2d", (), {}, [(2, 3, 4, 4)]),
    ("PReLU", (), {}, [(3, 4)]),
    ("PReLU", (4,), {"init": 0.1}, [(3, 4)]),
    ("GLU", (), {}, [(3, 4)]),
    ("GLU", (0,), {}, [(2, 5)]),
    ("Tanhshrink", (), {}, [(3, 4)]),
    ("Softshrink", (), {}, [(3, 4)]),
    ("Hardshrink", (0.8,), {}, [(3, 4)]),
    ("Threshold", (0.1, 20.0), {}, [(3, 4)]),
]


# PyTorch's backward of these holds 1 / alpha and 1 / 6 in float32, whatever the input is.
IMPRECISE_IN_TORCH = {"CELU": 1e-7, "Hardsigmoid": 1e-7}


def label(case):
    name, args, kwargs, shapes = case
    given = [*map(str, args), *(f"{key}={value}" for key, value in kwargs.items())]
    return f"{name}({','.join(given)})-{'x'.join(map(str, shapes[0]))}"


def made(lib, case):
    """The layer in float64, with parameters and buffers that are the same in both libraries."""
    name, args, kwargs, _ = case
    layer = getattr(lib.nn, name)(*args, **kwargs).double()
    rng = np.random.default_rng(0)
    with lib.no_grad():
        for param in layer.parameters():
            param.copy_(lib.from_numpy(rng.normal(size=tuple(param.shape))))
    return layer


def run(lib, layer, shapes):
    """The result for random inputs, and the gradient of each."""
    rng = np.random.default_rng(1)
    inputs = [lib.tensor(rng.normal(size=shape), requires_grad=True) for shape in shapes]
    result = layer(*inputs)
    weight = rng.normal(size=tuple(result.shape))
    (result * lib.tensor(weight)).sum().backward()
    return [result.detach().numpy(), *(x.grad.numpy() for x in inputs)]


def close(ours, theirs, what, rtol=1e-10):
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("case", LAYERS, ids=label)
def test_repr_is_pytorch_s(case, oracle):
    name, args, kwargs, _ = case
    ours = repr(getattr(nn, name)(*args, **kwargs))
    assert ours == oracle(lambda torch: repr(getattr(torch.nn, name)(*args, **kwargs)))


@pytest.mark.parametrize("case", LAYERS, ids=label)
def test_results_and_gradients_agree(case, oracle):
    def program(lib):
        layer = made(lib, case)
        found = []
        for training in (True, False):
            layer.train(training)
            layer.zero_grad()
            results = run(lib, layer, case[3])
            grads = {name: p.grad.numpy().copy() for name, p in layer.named_parameters()}
            buffers = {name: b.numpy().copy() for name, b in layer.named_buffers()}
            found.append((results, grads, buffers))
        return list(layer.state_dict()), found

    (keys, ours), (expected_keys, theirs) = program(tensorbus), oracle(program)
    assert keys == expected_keys
    rtol = IMPRECISE_IN_TORCH.get(case[0], 1e-10)
    for mine, other in zip(ours, theirs, strict=True):
        for i, (a, b) in enumerate(zip(mine[0], other[0], strict=True)):
            what = f"gradient of input {i - 1}" if i else "result"
            close(a, b, what, rtol if i else 1e-10)
        for here, there in zip(mine[1:], other[1:], strict=True):
            assert list(here) == list(there)
            for name, expected in there.items():
                close(here[name], expected, f"gradient or buffer {name}")


@pytest.mark.parametrize(
    ("layer", "slope"),
    [
        (nn.Hardsigmoid(), lambda x: np.where(np.abs(x) < 3, 1 / 6, 0)),
        (nn.CELU(1.3), lambda x: np.where(x > 0, 1, np.exp(x / 1.3))),
    ],
)
def test_gradients_that_are_exact_only_here(layer, slope):
    array = np.random.default_rng(5).normal(size=20) * 3
    x = tensorbus.tensor(array, requires_grad=True)
    layer(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), slope(array), rtol=1e-14)


@pytest.mark.parametrize(
    "name",
    "ReLU ReLU6 LeakyReLU ELU SELU CELU SiLU Mish Hardtanh Hardsigmoid Hardswish Dropout".split(),
)
def test_inplace_overwrites_the_input_and_shows_in_the_repr(name, oracle):
    def program(lib):
        layer = getattr(lib.nn, name)(inplace=True).eval()
        x = lib.tensor(np.random.default_rng(2).normal(size=(3, 4)))
        assert layer(x) is x
        return repr(layer), x.numpy()

    (text, values), (expected_text, expected) = program(tensorbus), oracle(program)
    assert text == expected_text
    close(values, expected, "the input")


@pytest.mark.parametrize("kwargs", [{}, {"padding_idx": 2}, {"padding_idx": -1}])
def test_embedding(kwargs, oracle):
    def program(lib):
        layer = lib.nn.Embedding(5, 3, **kwargs)
        if kwargs:
            assert (layer.weight[kwargs["padding_idx"]].detach().numpy() == 0).all()
        weight = np.random.default_rng(6).normal(size=(5, 3))
        layer.load_state_dict({"weight": lib.from_numpy(weight)})
        result = layer(lib.tensor(np.array([[0, 2, 2], [4, 1, 0]])))
        (result * result).sum().backward()
        return repr(layer), result.detach().numpy(), layer.weight.grad.numpy()

    (text, *ours), (expected_text, *theirs) = program(tensorbus), oracle(program)
    assert text == expected_text
    for a, b, what in zip(ours, theirs, ("rows", "gradient"), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, err_msg=what)


def test_embedding_from_pretrained_is_frozen_by_default():
    table = tensorbus.ones(4, 2)
    assert not nn.Embedding.from_pretrained(table).weight.requires_grad
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad


def test_max_pool_returns_indices(oracle):
    def program(lib):
        x = lib.tensor(np.random.default_rng(3).normal(size=(2, 3, 6, 6)))
        return [t.numpy() for t in lib.nn.MaxPool2d(2, return_indices=True)(x)]

    (values, indices), (expected, at) = program(tensorbus), oracle(program)
    close(values, expected, "values")
    assert (indices == at).all()


def test_conv_transpose_output_size(oracle):
    case = ("ConvTranspose2d", (2, 2, 3), {"stride": 2}, [])
    array = np.random.default_rng(4).normal(size=(1, 2, 4, 4))
    sizes = [[10, 9], [1, 2, 9, 10]]

    def program(lib):
        layer, x = made(lib, case), lib.tensor(array)
        return [layer(x, output_size=size).detach().numpy() for size in sizes]

    for size, ours, theirs in zip(sizes, program(tensorbus), oracle(program), strict=True):
        close(ours, theirs, str(size))
    with pytest.raises(ValueError, match=r"requested an output size of \[20, 9\], but valid sizes"):
        made(tensorbus, case)(tensorbus.tensor(array), output_size=[20, 9])


@pytest.mark.parametrize(
    ("make", "call"),
    [
        (lambda lib: lib.nn.Conv2d(3, 4, 3, groups=2), None),
        (lambda lib: lib.nn.Conv2d(4, 3, 3, groups=2), None),
        (lambda lib: lib.nn.Conv2d(4, 3, 3, groups=0), None),
        (lambda lib: lib.nn.Conv2d(4, 3, 3, padding="same", stride=2), None),
        (lambda lib: lib.nn.ConvTranspose2d(4, 3, 3, padding_mode="reflect"), None),
        (lambda lib: lib.nn.GroupNorm(4, 6), None),
        (lambda lib: lib.nn.Dropout(1.5), None),
        (lambda lib: lib.nn.TripletMarginLoss(margin=0), None),
        (lambda lib: lib.nn.BatchNorm1d(3), (2, 3, 4, 4)),
        (lambda lib: lib.nn.BatchNorm2d(3), (2, 3)),
        (lambda lib: lib.nn.BatchNorm3d(3), (2, 3)),
        (lambda lib: lib.nn.Softmax2d(), (2, 3)),
        (lambda lib: lib.nn.Sequential()[0], None),
        (lambda lib: lib.nn.ModuleList()[1], None),
        (lambda lib: lib.nn.Embedding(3, 2, padding_idx=3), None),
        (lambda lib: lib.nn.init.dirac_(lib.ones(2)), None),
        (lambda lib: lib.nn.init.eye_(lib.ones(2)), None),
        (lambda lib: lib.nn.init.xavier_uniform_(lib.ones(2)), None),
        (lambda lib: lib.nn.init.kaiming_normal_(lib.ones(2, 2), mode="fan"), None),
        (lambda lib: lib.nn.init.calculate_gain("cubic"), None),
        (lambda lib: lib.nn.init.sparse_(lib.ones(2), 0.1), None),
        (lambda lib: lib.nn.init.orthogonal_(lib.ones(2)), None),
    ],
)
def test_errors_have_pytorch_s_text(make, call, oracle):
    def program(lib):
        with pytest.raises((ValueError, IndexError, AssertionError, RuntimeError)) as caught:
            layer = make(lib)
            layer(lib.ones(*call))
        return caught.type.__name__, str(caught.value)

    assert program(tensorbus) == oracle(program)


def test_an_index_outside_of_an_embedding_is_told_in_pytorchs_words() -> None:
    for outside in (3, -1):
        with pytest.raises(IndexError, match="index out of range in self"):
            tensorbus.nn.Embedding(3, 2)(tensorbus.tensor([0, outside]))

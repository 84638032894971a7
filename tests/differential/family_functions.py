"""``nn.functional``: convolutions, pools, resampling, norms, embeddings, attention and losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.differential.drawing import Draw

DTYPES = ("float64", "float64", "float32")
REDUCTIONS = ("mean", "sum", "none")


def program(d: Draw) -> None:
    for _ in range(d.int(1, 2)):
        leaves: list[str] = []
        made = d.new(f"torch.nn.functional.{d.one(KINDS)(d, leaves)}", "y")
        value = d.get(made)
        parts = [f"{made}[{k}]" for k in range(len(value))] if isinstance(value, tuple) else [made]
        parts = [p for p in parts if isinstance(eval(p, {made: value}), d.torch.Tensor)]
        squares = [f"{p}.square().sum()" for p in parts if eval(p, {made: value}).requires_grad]
        if squares:
            total, operands = " + ".join(squares), ", ".join(leaves)
            d.new(f"torch.autograd.grad({total}, [{operands}], allow_unused=True)", "g")


class Operands:
    """What a call is made of: operands of one dtype, and numbers."""

    def __init__(self, d: Draw, leaves: list[str]) -> None:
        self.d, self.leaves, self.dtype = d, leaves, d.one(DTYPES)

    def leaf(self, *shape: int, scale: str = "") -> str:
        """A leaf of the given sizes, which may lie in another order."""
        made = self.d.disordered(self.d.tensor(self.dtype, shape))
        made = self.d.new(f"{made}{scale}.detach().requires_grad_()", "w")
        self.leaves.append(made)
        return made

    def maybe(self, *shape: int) -> str:
        return self.leaf(*shape) if self.d.chance(0.5) else "None"

    def plain(self, *shape: int) -> str:
        return self.d.tensor(self.dtype, shape)

    def classes(self, shape: Sequence[int], count: int) -> str:
        """Indices below *count*."""
        drawn = self.d.tensor("int64", shape)
        return self.d.new(f"{drawn}.remainder({count})", "i")

    def sizes(self, rank: int, low: int, high: int) -> str:
        """A number for each dimension, or one for all."""
        each = [self.d.int(low, high) for _ in range(rank)]
        return str(each[0] if self.d.chance(0.5) else tuple(each))

    def image(self, rank: int, channels: int, low: int = 5, high: int = 7) -> str:
        batch = [self.d.int(1, 3)] if self.d.chance(0.8) else []
        return self.leaf(*batch, channels, *(self.d.int(low, high) for _ in range(rank)))


def convolution(d: Draw, leaves: list[str]) -> str:
    o, rank, groups = Operands(d, leaves), d.int(1, 3), d.one([1, 1, 2, 3])
    channels, made = groups * d.int(1, 2), groups * d.int(1, 2)
    kernel = [d.int(1, 3) for _ in range(rank)]
    x = o.image(rank, channels)
    w, b = o.leaf(made, channels // groups, *kernel), o.maybe(made)
    if d.chance(0.2):
        return f"conv{rank}d({x}, {w}, {b}, padding='same', groups={groups})"
    stride, padding, dilation = o.sizes(rank, 1, 3), o.sizes(rank, 0, 2), o.sizes(rank, 1, 2)
    return f"conv{rank}d({x}, {w}, {b}, {stride}, {padding}, {dilation}, {groups})"


def transposed(d: Draw, leaves: list[str]) -> str:
    o, rank, groups, stride = Operands(d, leaves), d.int(1, 3), d.one([1, 1, 2]), d.int(1, 3)
    channels, made, dilation = groups * d.int(1, 2), d.int(1, 2), d.int(1, 2)
    x = o.image(rank, channels, 2, 4)
    w = o.leaf(channels, made, *(d.int(1, 3) for _ in range(rank)))
    rest = f"{stride}, 0, {d.int(0, max(stride, dilation) - 1)}, {groups}, {dilation}"
    return f"conv_transpose{rank}d({x}, {w}, {o.maybe(made * groups)}, {rest})"


def pool(d: Draw, leaves: list[str]) -> str:
    o, rank, kind = Operands(d, leaves), d.int(1, 3), d.one(["max", "avg", "adaptive", "lp"])
    x, kernel, ceil = o.image(rank, d.int(1, 3)), d.int(1, 3), d.chance(0.5)
    stride = d.one(["None", str(d.int(1, 3))])
    if kind == "adaptive":
        return f"adaptive_{d.one(['avg', 'max'])}_pool{rank}d({x}, {o.sizes(rank, 1, 8)})"
    if kind == "lp":
        return f"lp_pool{rank}d({x}.abs() + 0.5, {d.int(1, 3)}, {kernel}, {stride}, {ceil})"
    padding = d.int(0, kernel // 2)
    if kind == "max":
        rest = f"{d.int(1, 2)}, {ceil}, {d.chance(0.5)}"
        return f"max_pool{rank}d({x}, {kernel}, {stride}, {padding}, {rest})"
    return f"avg_pool{rank}d({x}, {kernel}, {stride}, {padding}, {ceil}, {d.chance(0.5)})"


def resampling(d: Draw, leaves: list[str]) -> str:
    o, rank = Operands(d, leaves), d.int(1, 3)
    smooth = {1: ["linear"], 2: ["bilinear", "bicubic"], 3: ["trilinear"]}[rank]
    mode = d.one(["nearest-exact", "area", *smooth, *smooth])
    x = o.leaf(d.int(1, 2), d.int(1, 2), *(d.int(3, 6) for _ in range(rank)))
    rest = f"size={o.sizes(rank, 1, 9)}"
    if d.chance(0.5):
        rest = f"scale_factor={d.int(2, 10) / 4}, recompute_scale_factor={d.chance(0.5)}"
    if rank == 2 and mode in smooth and d.chance(0.3):
        # To a width of 1 PyTorch gives the first row again and again.
        rest = f"size={o.sizes(rank, 2, 9)}, antialias=True"
    if mode in smooth:
        rest += f", align_corners={d.chance(0.5)}"
    return f"interpolate({x}, mode={mode!r}, {rest})"


def sampling(d: Draw, leaves: list[str]) -> str:
    o, rank, n = Operands(d, leaves), d.int(2, 3), d.int(1, 2)
    if d.chance(0.3):
        size = (n, 2, *(d.int(1, 4) for _ in range(rank)))
        return f"affine_grid({o.leaf(n, rank, rank + 1)}, {size}, {d.chance(0.5)})"
    mode = d.one(["bilinear", "nearest", "bicubic"] if rank == 2 else ["bilinear", "nearest"])
    padding = d.one(["zeros", "border", "reflection"])
    x = o.leaf(n, d.int(1, 2), *(d.int(2, 5) for _ in range(rank)))
    # Off the borders between elements, where one rounding decides.
    grid = o.leaf(n, *(d.int(1, 3) for _ in range(rank)), rank, scale=" * 0.7 + 0.0123")
    return f"grid_sample({x}, {grid}, {mode!r}, {padding!r}, {d.chance(0.5)})"


def padding(d: Draw, leaves: list[str]) -> str:
    o, rank = Operands(d, leaves), d.int(1, 3)
    mode = d.one(["constant", "reflect", "replicate", "circular"])
    x = o.image(rank, 2, 4, 5)
    return f"pad({x}, {[d.int(-1, 3) for _ in range(2 * rank)]}, {mode!r})"


def norm(d: Draw, leaves: list[str]) -> str:
    o, kind = Operands(d, leaves), d.one(["layer", "rms", "group", "batch", "instance", "local"])
    if kind in ("layer", "rms"):
        shape = [d.int(2, 4) for _ in range(d.int(1, 3))]
        last = shape[-d.int(1, len(shape)) :]
        bias = f", {o.maybe(*last)}" if kind == "layer" else ""
        return f"{kind}_norm({o.leaf(*shape)}, {last}, {o.maybe(*last)}{bias}, eps=1e-3)"
    groups = d.int(1, 3)
    c = groups * d.int(1, 2)
    x = o.leaf(d.int(2, 3), c, *(d.int(2, 4) for _ in range(d.int(1, 3))))
    if kind == "local" and len(d.get(x).shape) < 5:  # PyTorch views volumes, which may fail
        return f"local_response_norm({x}, {d.int(1, 4)}, 0.25, 0.5, 1.5)"
    w, b = o.maybe(c), o.maybe(c)
    if kind in ("group", "local"):  # PyTorch's gradients of a bias without a weight fail
        return f"group_norm({x}, {groups}, {w}, {b if w != 'None' else None}, 1e-3)"
    mean, var = o.plain(c), d.new(f"{o.plain(c)}.abs() + 0.5", "v")
    return f"{kind}_norm({x}, {mean}, {var}, {w}, {b}, {d.chance(0.5)}, 0.25, 1e-3)"


def embedding(d: Draw, leaves: list[str]) -> str:
    o, count, width = Operands(d, leaves), d.int(2, 6), d.int(1, 4)
    w, skipped = o.leaf(count, width), d.one(["None", "0", "-1"])
    if d.chance(0.5):
        i = o.classes([d.int(1, 4) for _ in range(d.int(0, 2))], count)
        return f"embedding({i}, {w} * 1, {skipped}, scale_grad_by_freq={d.chance(0.5)})"
    mode, shape = d.one(["sum", "mean", "max"]), [d.int(1, 3), d.int(1, 4)]
    given = f", per_sample_weights={o.leaf(*shape)}" if mode == "sum" and d.chance(0.5) else ""
    i = o.classes(shape, count)
    return f"embedding_bag({i}, {w}, mode={mode!r}, padding_idx={skipped}{given})"


def attention(d: Draw, leaves: list[str]) -> str:
    o, (batch, heads), (n, m) = Operands(d, leaves), (d.int(1, 2), d.one([1, 2, 4])), two(d)
    width, grouped = d.int(1, 4), d.chance(0.3)
    pair = 1 if grouped else heads
    q, k = o.leaf(batch, heads, n, width), o.leaf(batch, pair, m, width)
    v, rest = o.leaf(batch, pair, m, d.int(1, 4)), f", enable_gqa={grouped}"
    kind = d.one(["", "causal", "numbers", "flags"])
    if kind == "causal":
        rest += ", is_causal=True"
    elif kind:
        mask = o.plain(*d.one([[n, m], [batch, 1, n, m]]))
        rest += f", attn_mask={mask}" + (" > -1" if kind == "flags" else "")
    return f"scaled_dot_product_attention({q}, {k}, {v}{rest})"


def two(d: Draw) -> tuple[int, int]:
    """Two sizes."""
    return d.int(1, 5), d.int(1, 5)


def loss(d: Draw, leaves: list[str]) -> str:
    o, (n, c), reduction = Operands(d, leaves), two(d), d.one(REDUCTIONS)
    c, end = c + 1, f"reduction={reduction!r})"
    extra = d.one([(), (), (3,), (2, 2)])
    kind = d.one(["classes", "shares", "pairs", "binary", "margins", "ranked", "ctc"])
    if kind in ("classes", "shares"):
        x, smooth = o.leaf(n, c, *extra), d.one([0.0, 0.25])
        weight = d.new(f"{o.plain(c)}.abs() + 0.5", "v") if d.chance(0.5) else "None"
        if kind == "shares":
            y = d.new(f"{o.plain(n, c, *extra)}.abs()", "p")
            return f"cross_entropy({x}, {y}, {weight}, label_smoothing={smooth}, {end}"
        y, left_out = o.classes([n, *extra], c), d.one([-100, 0])
        rest = f"ignore_index={left_out}, label_smoothing={smooth}, {end}"
        return f"cross_entropy({x}, {y}, {weight}, {rest}"
    if kind == "pairs":
        x, y = o.leaf(n, c), o.leaf(n, c)
        name = d.one(["mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "soft_margin_loss"])
        return f"{name}({x}, {y}, {end}"
    if kind == "binary":
        x, y = o.leaf(n, c), d.new(f"{o.plain(n, c)}.sigmoid()", "p")
        weight = d.new(f"{o.plain(c)}.abs() + 0.5", "v") if d.chance(0.5) else "None"
        return f"binary_cross_entropy_with_logits({x}, {y}, pos_weight={weight}, {end}"
    if kind == "margins":
        x, y = o.leaf(n, c), o.classes([n], c)
        return f"multi_margin_loss({x}, {y}, p={d.int(1, 2)}, margin=0.8, {end}"
    if kind == "ranked":
        x, y, z = (o.leaf(n, c) for _ in range(3))
        return f"triplet_margin_loss({x}, {y}, {z}, p={d.int(1, 3)}, swap={d.chance(0.5)}, {end}"
    steps, length = d.int(5, 8), d.int(1, 3)
    x = o.leaf(steps, n, c)
    labels = d.new(f"{o.classes([n, length], c - 1)} + 1", "i")
    whole, lengths = [steps] * n, [d.int(0, length) for _ in range(n)]
    rest = f"{whole}, {lengths}, zero_infinity=True, {end}"
    return f"ctc_loss({x}.log_softmax(-1), {labels}, {rest}"


def activation(d: Draw, leaves: list[str]) -> str:
    o = Operands(d, leaves)
    x = o.leaf(*(d.int(1, 4) for _ in range(d.int(1, 3))))
    if d.chance(0.3):
        return f"{d.one(['softmax', 'log_softmax', 'softmin'])}({x}, {d.one([0, -1])})"
    # PyTorch's hardswish and hardsigmoid have a sixth in float32.
    names = (
        "relu6 elu selu celu leaky_relu hardtanh hardshrink softshrink "
        "tanhshrink softsign softplus mish silu gelu logsigmoid"
    ).split()
    return f"{d.one(names)}({x})"


KINDS: tuple[Callable[[Draw, list[str]], str], ...] = (
    convolution, transposed, pool, resampling, sampling, padding, norm, embedding, attention, loss,
    activation,
)  # fmt: skip

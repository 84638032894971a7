"""Programs for ``torch.library``, most of them those of its documentation."""

HEAD = """
import numpy as np
from typing import List, Optional, Sequence, Tuple
from torch import Tensor
"""

PROGRAMS = {
    "numpy_sin": """
@torch.library.custom_op("mylib::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor) -> Tensor:
    return torch.from_numpy(np.sin(x.cpu().numpy())).to(device=x.device)

@numpy_sin.register_fake
def _(x):
    return torch.empty_like(x)

def setup_context(ctx, inputs, output):
    x, = inputs
    ctx.save_for_backward(x)

def backward(ctx, grad):
    x, = ctx.saved_tensors
    return grad * x.cos()

numpy_sin.register_autograd(backward, setup_context=setup_context)
x = torch.linspace(0, 1, 3, requires_grad=True)
y = numpy_sin(x)
(g,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
(h,) = torch.autograd.grad(g.sum(), x)
m = numpy_sin(torch.empty(2, 3, device="meta"))
result = [y, type(y.grad_fn).__name__, g, h, str(m.device), list(m.shape)]
""",
    "kwarg_only": """
@torch.library.custom_op("mylib::numpy_mul", mutates_args=())
def numpy_mul(x: Tensor, *, val: float) -> Tensor:
    return torch.from_numpy(x.cpu().numpy() * np.float32(val)).to(device=x.device)

def setup_context(ctx, inputs, keyword_only_inputs, output):
    ctx.val = keyword_only_inputs["val"]

torch.library.register_autograd(
    "mylib::numpy_mul", lambda ctx, grad: grad * ctx.val, setup_context=setup_context
)
x = torch.ones(3, requires_grad=True)
y = numpy_mul(x, val=3.14)
y.sum().backward()
result = [y, x.grad]
""",
    "mutable": """
@torch.library.custom_op("mylib::sin_inplace", mutates_args={"x"}, device_types="cpu")
def sin_inplace(x: Tensor) -> None:
    x_np = x.numpy()
    np.sin(x_np, out=x_np)

x = torch.linspace(0, 1, 3)
before = x._version
returned = sin_inplace(x)
m = sin_inplace(torch.ones(2, device="meta"))
result = [x, returned, x._version > before, m, str(sin_inplace._opoverload._schema)]
""",
    "inplace_tag": """
@torch.library.custom_op(
    "mylib::sin_", mutates_args={"x"}, device_types="cpu", tags=torch.Tag.inplace
)
def sin_(x: Tensor) -> Tensor:
    x_np = x.numpy()
    np.sin(x_np, out=x_np)
    return x

x = torch.linspace(0, 1, 3)
result = [sin_(x) is x, x, str(sin_._opoverload._schema)]
""",
    "out_tag": """
@torch.library.custom_op(
    "mylib::sin_out", mutates_args={"out"}, device_types="cpu", tags=torch.Tag.out
)
def sin_out(x: Tensor, *, out: Tensor) -> Tensor:
    np.sin(x.numpy(), out=out.numpy())
    return out

x = torch.linspace(0, 1, 3)
out = torch.empty_like(x)
result = [sin_out(x, out=out) is out, out, str(sin_out._opoverload._schema)]
""",
    "factory": """
@torch.library.custom_op("mylib::bar", mutates_args={}, device_types="cpu")
def bar(device: torch.device) -> Tensor:
    return torch.ones(3)

result = [bar("cpu"), bar(torch.device("cpu"))]
""",
    "lists": """
@torch.library.custom_op("mylib::weighted_sum", mutates_args=())
def weighted_sum(tensors: List[Tensor], weights: List[float]) -> Tuple[Tensor, List[Tensor]]:
    parts = [t * w for t, w in zip(tensors, weights)]
    return sum(parts), parts

seen = []
def setup_context(ctx, inputs, output):
    ctx.weights = inputs[1]
    seen.append([type(inputs[0]).__name__, len(output)])

def backward(ctx, grad, grads):
    seen.append([type(grads).__name__, [bool(b) for b in ctx.needs_input_grad[0]]])
    return [(grad + g) * w for g, w in zip(grads, ctx.weights)], None

weighted_sum.register_autograd(backward, setup_context=setup_context)
x, y = torch.ones(3, requires_grad=True), torch.arange(3.0)
total, parts = weighted_sum([x, y], [0.3, 0.7])
(total.sum() + 2 * parts[0].sum()).backward()
result = [total, parts, x.grad, seen, str(torch.ops.mylib.weighted_sum.default._schema)]
""",
    "cube_vmap": """
@torch.library.custom_op("mylib::numpy_cube", mutates_args=())
def numpy_cube(x: Tensor) -> Tuple[Tensor, Tensor]:
    x_np = x.cpu().numpy()
    dx = torch.tensor(3 * x_np ** 2, device=x.device)
    return torch.tensor(x_np ** 3, device=x.device), dx

def numpy_cube_vmap(info, in_dims, x):
    result = numpy_cube(x)
    return result, (in_dims[0], in_dims[0])

torch.library.register_vmap(numpy_cube, numpy_cube_vmap)
x = torch.arange(6.0).reshape(2, 3)
result = [torch.vmap(numpy_cube)(x), torch.vmap(numpy_cube, in_dims=1, out_dims=1)(x)]
""",
    "mul_vmap": """
@torch.library.custom_op("mylib::numpy_times", mutates_args=())
def numpy_times(x: Tensor, y: Tensor) -> Tensor:
    return torch.tensor(x.cpu().numpy() * y.cpu().numpy(), device=x.device)

seen = []
@torch.library.register_vmap("mylib::numpy_times")
def numpy_mul_vmap(info, in_dims, x, y):
    seen.append([info.batch_size, info.randomness, [d is None for d in in_dims]])
    x_bdim, y_bdim = in_dims
    x = x.movedim(x_bdim, -1) if x_bdim is not None else x.unsqueeze(-1)
    y = y.movedim(y_bdim, -1) if y_bdim is not None else y.unsqueeze(-1)
    return (x * y).movedim(-1, 0), 0

x, y = torch.arange(3.0), torch.arange(6.0).reshape(3, 2)
result = [
    torch.vmap(numpy_times)(x, x), torch.vmap(numpy_times, (0, None))(y, y[0]),
    torch.vmap(torch.vmap(numpy_times), (1, 1))(y, y), seen,
]
""",
    "dispatch_rule": """
from torch.utils._python_dispatch import TorchDispatchMode

@torch.library.custom_op("mylib::foo", mutates_args={})
def foo(x: Tensor) -> Tensor:
    return x.clone()

class MyMode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

@torch.library.register_torch_dispatch("mylib::foo", MyMode)
def _(mode, func, types, args, kwargs):
    x, = args
    return x + 1

x = torch.arange(3.0)
with MyMode():
    y = foo(x)
result = [foo(x), y]
""",
    "define_and_impl": """
torch.library.define("mylib::sin", "(Tensor x) -> Tensor")

@torch.library.impl("mylib::sin", "cpu")
def f(x):
    return torch.from_numpy(np.sin(x.numpy()))

def custom_decorator(func):
    def wrapper(*args, **kwargs):
        return func(*args, **kwargs) + 1
    return wrapper

torch.library.define("mylib::sin_plus_one", "(Tensor x) -> Tensor")

@torch.library.impl("mylib::sin_plus_one", "cpu")
@custom_decorator
def g(x):
    return torch.from_numpy(np.sin(x.numpy()))

@torch.library.register_fake("mylib::sin")
def _(x):
    return x.new_empty(x.shape)

x = torch.arange(3.0)
m = torch.ops.mylib.sin(torch.ones(2, device="meta"))
result = [f, torch.ops.mylib.sin(x), torch.ops.mylib.sin_plus_one(x), list(m.shape)]
""",
    "library_object": """
lib = torch.library.Library("mylib2", "DEF")
result = [lib.define("scaled(Tensor x, Scalar by=2, *, bool flip=False) -> Tensor")]

def scaled(x, by=2, *, flip=False):
    return (x * by).flip(0) if flip else x * by

lib.impl("scaled", scaled, "CPU")
lib.define("scaled.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
lib.impl("scaled.out", lambda x, *, out: out.copy_(x), "CPU")
lib.define("composed(Tensor x) -> Tensor")
lib.impl("composed", lambda x: torch.ops.mylib2.scaled.default(x) + x.sin())
x = torch.arange(3.0)
out = torch.zeros(3)
result += [
    torch.ops.mylib2.scaled(x), torch.ops.mylib2.scaled(x, 0.5, flip=True),
    torch.ops.mylib2.scaled.out(x, out=out) is out, out, torch.ops.mylib2.scaled.overloads(),
    torch.ops.mylib2.composed(x), str(torch.ops.mylib2.scaled.out._schema), repr(lib),
]
""",
    "autocast": """
@torch.library.custom_op("mylib::my_sin", mutates_args=())
def my_sin(x: Tensor, y: Tensor) -> Tensor:
    assert not torch.is_autocast_enabled("cpu") or x.dtype == torch.float32
    return torch.sin(x)

x = torch.ones(3)
with torch.autocast("cpu", dtype=torch.bfloat16):
    before = my_sin(x, x).dtype
torch.library.register_autocast("mylib::my_sin", "cpu", torch.bfloat16)
with torch.autocast("cpu", dtype=torch.bfloat16):
    after = torch.ops.mylib.my_sin(x, x).dtype
    double = my_sin(x.double(), x).dtype
    still = (x.reshape(1, 3) @ x.reshape(3, 1)).dtype
result = [str(before), str(after), str(double), str(still), str(my_sin(x, x).dtype)]
""",
    "schemas": """
def a(x: Tensor) -> Tensor: ...
def b(
    a: Tensor, b: Optional[Tensor], c: Sequence[int], d: List[float], e: list[Tensor],
    f: list[Optional[Tensor]], g: bool, h: torch.dtype, i: torch.device,
    j: Optional[Sequence[int]] = None, k: torch.dtype = torch.float32,
    l: torch.device = torch.device("cpu"), *, m: str = "x", n: float = 1.5,
) -> Tuple[Tensor, int]: ...
def c(x: "Tensor", y: "Optional[Tensor]" = None) -> "List[Tensor]": ...
def d(x: Tensor) -> Tuple[Tensor]: ...
def e(x: Tensor) -> None: ...
infer = torch.library.infer_schema
result = [
    infer(a, op_name="foo", mutates_args={}), infer(a, mutates_args="unknown"),
    infer(b, mutates_args={"a", "e"}), infer(b, mutates_args="unknown"),
    infer(c, mutates_args=()), infer(d, mutates_args=()), infer(e, mutates_args={"x"}),
]
""",
    "declared": """
result = []
for i, text in enumerate((
    "(Tensor x, int[2] y=[1,2], Scalar? z=None, bool b=False, *, ScalarType? dtype=None, "
    "Device? device=None, str s=\\"hi\\", float f=1e-3) -> (Tensor a, Tensor b)",
    "(Tensor(a!) x, Tensor[] ys, Tensor?[] zs, int[1] n=3, float[]? w=None) -> ()",
    "(Tensor(a) x, SymInt[] size, *, Layout? layout=None) -> Tensor(a)",
    "(Tensor x) -> Tensor[]", "() -> (int, float)", "(str how='a') -> bool",
)):
    torch.library.define(f"mylib3::op{i}", text)
    schema = getattr(torch.ops.mylib3, f"op{i}").default._schema
    result.append([
        str(schema), schema.name, schema.overload_name, schema.is_mutable,
        [[a.name, a.kwarg_only, a.has_default_value(), a.default_value,
          bool(a.alias_info and a.alias_info.is_write)] for a in schema.arguments],
        [r.name for r in schema.returns],
    ])
""",
    "function_modes": """
class Log(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is not torch.ones:
            seen.append([repr(func), sorted(kwargs or {})])
        return func(*args, **(kwargs or {}))

@torch.library.custom_op("mylib::seen", mutates_args=())
def op(x: Tensor, *, n: int = 1) -> Tensor:
    return x + n

seen = []
with Log():
    made = [op(torch.ones(1)), torch.ops.mylib.seen(torch.ones(1), n=2)]
    torch.ops.mylib.seen.default(made[0])

class Meters(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return [repr(func), types == (cls,)]

result = [seen, made, op(torch.ones(1).as_subclass(Meters))]
""",
    "dispatch_modes": """
from torch.utils._python_dispatch import TorchDispatchMode

class Log(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "mylib":
            seen.append([str(func), len(args), sorted(kwargs), torch.is_grad_enabled()])
        return func(*args, **(kwargs or {}))

@torch.library.custom_op("mylib::logged", mutates_args=())
def op(x: Tensor, y: float = 2.0, *, s: str = "a") -> Tensor:
    return x + y

op.register_autograd(lambda ctx, g: (g * 2, None))
seen = []
r = torch.ones(2, requires_grad=True)
with Log():
    op(torch.ones(2)), op(torch.ones(2), 3.0), op(torch.ones(2), 2.0, s="a")
    op(torch.ones(2), y=3.0, s="b")
    op(r).sum().backward()
try:
    with Log():
        op(torch.ones(2), "a")
except RuntimeError:
    pass
op(r)
result = [seen, r.grad]
""",
    "kernels_off_and_on": """
@torch.library.custom_op("mylib::f", mutates_args=())
def f(x: Tensor) -> Tensor:
    return torch.zeros(1)

x = torch.ones(1)
result = [f(x)]

@f.register_kernel("cpu")
def _(x):
    return torch.ones(1)

result.append(f(x))
with f.set_kernel_enabled("cpu", enabled=False):
    result.append(f(x))
result.append(f(x))
""",
    "defined_again": """
def first(x: Tensor) -> Tensor:
    return x + 1
def second(x: Tensor, y: int = 2) -> Tensor:
    return x + y
a = torch.library.custom_op("mylib::again", first, mutates_args=())
x = torch.zeros(1)
result = [a(x)]
b = torch.library.custom_op("mylib::again", second, mutates_args=())
result += [a(x), b(x), torch.ops.mylib.again(x, 5), str(b._opoverload._schema)]
""",
}

"""What tensors print, under random print options; and their values in Python."""

from __future__ import annotations

from tests.differential.drawing import ALL, COMPLEX, HALVES, WIDE, Draw


def program(d: Draw) -> None:
    options(d)
    for _ in range(d.int(1, 3)):
        x = tensor(d)
        d.new(f"repr({x})", "s")
        if d.chance(0.3):
            t = d.get(x)
            forms = [f"str({x})", f"{x}.tolist()", f"str({x}.shape)", f"repr({x}.dtype)"]
            forms += [f"{x}.type()", f"'{{}}'.format({x})", f"repr([{x}, {x}])", f"{x}.size()"]
            if t.numel() == 1:
                forms += [f"{x}.item()", f"f'{{{x}.item():.3f}}'" if not t.is_complex() else x]
            if t.dim() == 0:
                forms += [f"f'{{{x}}}'", f"'%s' % {x}"]
            d.new(d.one(forms), "s")
        if d.chance(0.2):
            view = d.one([".mT" if d.get(x).dim() > 1 else "[...]", "[..., :1]", "[None]", ".t()"])
            y = d.new(f"{x}{view}")
            d.new(f"repr({y})", "s")


def options(d: Draw) -> None:
    d.new("torch.set_printoptions(profile='default')", "n")
    if d.chance(0.2):
        d.new(f"torch.set_printoptions(profile={d.one(['short', 'full'])!r})", "n")
    if d.chance(0.5):
        chosen = {
            "precision": d.int(0, 8),
            "threshold": d.one([0, 3, 10, 1000]),
            "edgeitems": d.int(0, 4),
            "linewidth": d.one([10, 20, 40, 80, 200]),
            "sci_mode": d.one([True, False, None]),
        }
        some = d.random.sample(list(chosen), d.int(1, 4))
        d.new(f"torch.set_printoptions({', '.join(f'{k}={chosen[k]!r}' for k in some)})", "n")


def tensor(d: Draw) -> str:
    dtype = d.one([*ALL, *WIDE, *HALVES, *COMPLEX])
    shape = d.shape(0, 3, (1, 2, 3, 8))
    # A number beside halves would be rounded to their dtype, which PyTorch leaves out.
    name = d.tensor("float32" if dtype in HALVES else dtype, shape)
    if dtype in (*HALVES, *WIDE, *COMPLEX):
        scale = d.one(["", "", " * 1e4", " * 1e-3", " * 1e8", " * 1e-8", " / 3", " * 1000 // 1"])
        if dtype in COMPLEX:  # by parts: the sign of a 0 hangs on how complex numbers are divided
            name = d.new(f"torch.complex({name}.real{scale}, {name}.imag{scale})")
            scale = ""
        if dtype == "float16" and "8" in scale:
            scale = " * 100"
        if scale:
            name = d.new(f"{name}{scale}")
        if dtype in HALVES:
            name = d.new(f"{name}.to(torch.{dtype})")
        if d.get(name).numel() and d.chance(0.25):
            special = d.one(["'nan'", "'inf'", "'-inf'", "'-0.0'"])
            place = "[..., 0]" if d.get(name).dim() else "[...]"
            d.do(f"{name}{place} = float({special})")
        if d.chance(0.25):
            d.do(f"{name}.requires_grad_()")
            if d.chance(0.5):
                name = d.new(d.one([f"{name} * 2", f"{name} + 0", f"{name}[None]"]))
    elif dtype in ("int32", "int64") and d.chance(0.4):
        name = d.new(f"{name} * {10 ** d.int(1, 7)}")
    return name

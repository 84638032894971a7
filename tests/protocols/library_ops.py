"""An op that tests of ``torch.library`` share."""

from __future__ import annotations

from typing import Any

import tensorbus as torch
from tensorbus import library

Tensor = torch.Tensor


def cubed(name: str = "cubed") -> Any:
    """x cubed by NumPy, with all that can be registered."""

    @library.custom_op(f"calls::{name}", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return torch.from_numpy(x.cpu().numpy() ** 3).to(x.device)

    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x * x

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    op.register_autograd(backward, setup_context=keep)
    op.register_fake(torch.empty_like)
    op.register_vmap(lambda info, in_dims, x: (op(x), in_dims[0]))
    return op

"""The contract of an overlay: faster kernels for a backend that it does not own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tensorbus._base.dtypes import dtype
    from tensorbus.plugin.backend import Array, Kernel
    from tensorbus.plugin.graph import Graph


class Overlay:
    """Kernels for the arrays of another plugin's backend, by the same doors as its own.

    ``OverlaySpec.load`` is given the backend, whose runtime makes and reads the arrays. Each method
    has a default that leaves everything to the next candidate.
    """

    name: ClassVar[str]
    """The overlay, as its entry point and spec are called."""

    def kernel(self, op: str, dtype: dtype, index: int) -> Kernel | None:
        """As ``Backend.kernel``, asked for the ops that the spec lists.

        A kernel may answer ``NotImplemented``, having written nothing: then the next one runs.
        """
        return None

    def compile(self, graph: Graph, index: int) -> Kernel | None:
        """As ``Backend.compile``, asked where the spec says ``graphs=True``."""
        return None

    def copy_(self, dst: Array, dst_dtype: dtype, src: Any, src_dtype: dtype | None) -> Any:
        """As ``Backend.copy_``: casts, fills, copies between layouts; asked where ``ops`` has it.

        Returns ``NotImplemented`` for one that it leaves to the next candidate, else None.
        """
        return NotImplemented


def may_decline(kernel: Kernel) -> Kernel:
    """Mark a kernel of a backend that answers ``NotImplemented`` to some calls; a decorator.

    Then the op's composition runs. Overlays' kernels may decline without a mark. What is not marked
    is called bare: nothing looks at what it returns, which costs nothing.
    """
    kernel.may_decline = True  # type: ignore[attr-defined]
    return kernel

"""The types of devices that PyTorch knows besides those it shares with tensorbus.

Programs ask whether something is on one, or switched on for one: it is not, unless a plugin has
that type.
"""

OF_PYTORCH = ("hpu", "ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu")

WITHOUT_AUTOCAST = ("vulkan",)
"""Those of them for which PyTorch has no automatic mixed precision."""

BFLOAT16_FIRST = ("cpu", "hpu", "maia", "xla")
"""Where automatic mixed precision means bfloat16 unless told otherwise; elsewhere float16."""

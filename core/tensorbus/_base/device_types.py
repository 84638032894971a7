"""The types of devices that PyTorch knows besides those it shares with tensorbus.

Programs ask whether something is on one, or switched on for one: it is not, unless a plugin has
that type.
"""

OF_PYTORCH = ("hpu", "ipu", "maia", "mps", "mtia", "vulkan", "xla", "xpu")

"""What programs for PyTorch's elastic launcher import; the launcher is ``distributed.run``."""

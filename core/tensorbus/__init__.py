"""tensorbus: a PyTorch-style tensor library whose hardware and communication plug in."""

"""Which kernel runs for an op on a device."""

"""Devices without hardware, to test programs with: ``strict`` and ``null``."""

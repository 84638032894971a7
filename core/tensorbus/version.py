"""The version of this distribution, in its one place."""

__version__ = "0.1.0"

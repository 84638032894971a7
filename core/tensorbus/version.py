"""The version of this distribution, written once, and what it is built with: no vendor's library.

A plugin brings its library with it: the version of that is the plugin's to tell.
"""

__version__ = "0.1.0"
debug = False
git_version = "Unknown"
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None

"""Rows and functions that layers and losses stand on."""

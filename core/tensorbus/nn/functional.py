"""The functions behind the layers."""

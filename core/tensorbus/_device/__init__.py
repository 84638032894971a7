"""Devices by name, and what a program gets when it names none."""

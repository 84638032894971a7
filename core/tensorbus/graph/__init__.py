"""Graphs of ops: recorded from compositions, verified, printed and read, compiled by plugins.

``tensorbus.plugin.graph`` has the data classes, which plugins know too. What needs rows is here.
"""

"""The classes of results with several named parts: ``return_types.max``, ``return_types.sort``...

>>> import tensorbus
>>> isinstance(tensorbus.ones(2).max(0), tensorbus.return_types.max)
True
"""

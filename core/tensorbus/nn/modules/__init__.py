"""The layers of ``tensorbus.nn``, grouped by family."""

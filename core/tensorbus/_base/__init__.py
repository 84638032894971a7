"""What everything stands on: dtypes, sizes, formats, errors, and the flags of modes."""

"""What an op is: its row, the layouts of results, the recipes of views."""

"""What the processes of a job tell their launcher: ``errors``."""

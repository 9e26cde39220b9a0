"""The abstract CL interface and its implementations."""

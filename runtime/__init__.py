"""A compact OpenCL graph runtime over an abstract CL interface."""

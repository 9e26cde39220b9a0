"""A simulated OpenCL platform in pure Python and NumPy."""

"""Ways from other compilers' output to a model file; each needs its own optional packages."""

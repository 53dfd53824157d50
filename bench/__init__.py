"""Speed of the compiled samplers beside plain C, and their growth with N, D and K: ``python -m bench --help``."""

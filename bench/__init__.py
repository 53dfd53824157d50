"""Speed of the compiled samplers compared with plain C, and their growth with N, D and K: ``python -m bench
--help``."""

"""Tests that a wheel carries: ``pytest --pyargs smcmc``."""

"""Sums of logarithms: nothing of them is seen from Python."""

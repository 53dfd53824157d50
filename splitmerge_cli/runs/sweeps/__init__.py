"""Grids of runs: expanded, launched on this machine or on others, only what is missing."""

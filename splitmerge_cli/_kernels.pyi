"""The compiled loops over any model: nothing of them is seen from Python."""

"""Memory of the compiled classes: nothing of it is seen from Python."""

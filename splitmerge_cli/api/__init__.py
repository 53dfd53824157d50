"""The Python library, whose public names `smcmc` has."""

import random
from importlib import import_module

# rich draws from Python's own generator when it is imported: the draws of a program stay what they are
_state = random.getstate()
import_module("rich.style")
random.setstate(_state)

"""Types of what some models have beside a partition (see ``capabilities.pyx``)."""

from splitmerge_cli.core.model import Model

class Uncollapsed(Model): ...
class Weighted(Model): ...

class PlugIn(Model):
    @property
    def plug_in(self) -> bool: ...

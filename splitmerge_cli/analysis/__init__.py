"""Studies of a posterior that take many chains or a finished run: races, certificates, predictions."""

"""Papers whose figures and tables are reproduced, and what all of them share.

Every sub-package is a paper: `splitmerge_cli.papers.declaration` finds it by its ``paper.py``.
"""

"""Published editions of the reproduction: kept, checked, supplemented, counted and archived.

`kept` writes and reads docs/reproduction, of whose `rules` a change is noticed, and `supplement` judges single claims
later; `overview` counts verdicts for the README and the site; `again` compares figures with the kept ones; `archive`
packs figures as an RO-Crate (`crate`). `scripts/keep_figures.py` is the command line.
"""

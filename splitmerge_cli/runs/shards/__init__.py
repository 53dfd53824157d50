"""One chain on items in shards, in other processes or on other machines: see ``docs/shards.md``."""

"""Parts of ``scripts/sanitize.py``: what runs with the sanitizers of memory and of threads, and how."""

"""What ``scripts/sanitize.py`` runs with the sanitizers of memory and of threads, and how."""

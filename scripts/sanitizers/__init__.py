"""What ``scripts/sanitize.py`` runs with AddressSanitizer and UndefinedBehaviorSanitizer, and how."""

"""Comparisons across papers that none of them made."""

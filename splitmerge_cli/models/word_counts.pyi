"""Types of the word counts in topics (see ``word_counts.pyx``)."""

from typing import final

@final
class WordCounts: ...

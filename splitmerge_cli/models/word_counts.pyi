"""Types of the counts of words in topics (see ``word_counts.pyx``)."""

from typing import final

@final
class WordCounts: ...

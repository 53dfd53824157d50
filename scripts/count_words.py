"""Count the words of the built site: ``make docs``, then ``python scripts/count_words.py [docs/_build/html]``.

The text of the articles of all pages counts, generated pages and code included; menus, the index and sources do not.
"""

import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = ("_modules", "_static", "genindex", "search", "py-modindex")


class Article(HTMLParser):
    """Words of a page's ``article`` element; a formula is one word."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.depth, self.formulas, self.words = 0, 0, 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter an article or a formula."""
        self.depth += tag == "article"
        self.formulas += tag == "math"
        self.words += tag == "math" and self.depth > 0

    def handle_endtag(self, tag: str) -> None:
        """Leave an article or a formula."""
        self.depth -= tag == "article"
        self.formulas -= tag == "math"

    def handle_data(self, data: str) -> None:
        """Count the words of a text."""
        if self.depth and not self.formulas:
            self.words += len(data.split())


def count(folder: Path) -> Counter[str]:
    """Words by page, or by folder of pages."""
    words: Counter[str] = Counter()
    for file in folder.rglob("*.html"):
        path = file.relative_to(folder).as_posix()
        if not path.startswith(LEFT_OUT):
            words[path.partition("/")[0]] += Article(file.read_text(encoding="utf-8")).words
    return words


if __name__ == "__main__":
    words_by_page = count(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "_build" / "html")
    for name, number in [*reversed(words_by_page.most_common()), ("all", words_by_page.total())]:
        print(f"{number:9,}  {name}")

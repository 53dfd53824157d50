"""Draw the rooms of the package in layers, by the table of docs/design.md: ``scripts/draw_rooms.py``.

A room stands one layer above the highest room that it imports.
"""

import re
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| (\w+) \| (`[^|]*) \| ([^|]*) \|([^|]*)\|$", re.MULTILINE)
"""A row of the table: room, folders, what it holds, what it imports."""


def read_rooms() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """The folders of each room, and the rooms that it imports."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    return {
        room: (tuple(re.findall(r"\w+", folders)), tuple(re.findall(r"\w+", imports)))
        for room, folders, _, imports in ROW.findall(text)
    }


def main() -> None:
    """Write ``docs/images/rooms.png``."""
    rooms = read_rooms()

    @cache
    def layer(room: str) -> int:
        return 1 + max((layer(other) for other in rooms[room][1]), default=-1)

    layers: dict[int, list[str]] = {}
    for room in rooms:
        layers.setdefault(layer(room), []).append(room)
    figure, axes = plt.subplots(figsize=(7, 0.75 * len(layers)))
    for height, names in layers.items():
        width = 10 / len(names)
        for place, room in enumerate(names):
            left_edge = place * width + 0.1
            axes.add_patch(
                FancyBboxPatch(
                    (left_edge, height + 0.12),
                    width - 0.2,
                    0.76,
                    boxstyle="round,pad=0,rounding_size=0.12",
                    fc="#e8eef5",
                    ec="#34587a",
                )
            )
            folders = ", ".join(rooms[room][0])
            axes.text(
                left_edge + width / 2 - 0.1,
                height + 0.5,
                room,
                ha="center",
                va="center" if folders == room else "bottom",
                weight="bold",
            )
            if folders != room:
                axes.text(left_edge + width / 2 - 0.1, height + 0.46, folders, ha="center", va="top", size=8)
    axes.set(xlim=(0, 10), ylim=(0, len(layers)))
    axes.axis("off")
    figure.savefig(ROOT / "docs" / "images" / "rooms.png", dpi=110, bbox_inches="tight")


if __name__ == "__main__":
    main()

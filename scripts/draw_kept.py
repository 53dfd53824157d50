"""Draw the figures of all kept editions from their numbers alone, without a run: FOLDER/edition-N/ID.png.

    python scripts/draw_kept.py [--out FOLDER] [--edition N] [--replace] [ID ...]

docs/reproduction keeps the numbers of every edition, and the pictures of the last one. What the numbers do not hold,
single chains and some words, is left out of the pictures. A number that is not what was kept ends the script.
--replace draws the kept pictures again, where they lie, and writes their digests into the index.
"""

import argparse
from pathlib import Path

from editions.kept import INDEX, SUPPLEMENTS, kept_editions, kept_folder, read_index
from editions.pictures import draw_kept

from splitmerge_cli.runs.store.manifest import sha256_of, write_sealed

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "docs" / "reproduction"


def main(out: Path, editions: list[int], names: list[str]) -> None:
    """Draw the figures of these names, or all, of these editions."""
    for edition in editions:
        folder, target = kept_folder(KEPT, edition), out / f"edition-{edition}"
        if SUPPLEMENTS in read_index(folder):  # it has no numbers to draw
            continue
        for name in names or read_index(folder)["figures"]:
            print(
                draw_kept(folder, name, target) or f"{name}: its paper has no function that draws it from its numbers"
            )


def replace(editions: list[int], names: list[str]) -> None:
    """Draw the kept pictures of these names, or all, again in the folders of these editions."""
    for edition in editions:
        folder = kept_folder(KEPT, edition)
        index = read_index(folder)
        for name in names or index["figures"]:
            files = index["figures"][name]["files"]
            if f"{name}.png" in files and (picture := draw_kept(folder, name, folder)) is not None:
                files[picture.name] = {"bytes": picture.stat().st_size, "sha256": sha256_of(picture)}
                print(picture)
        write_sealed(folder / INDEX, index)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="ID")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "_build" / "figures")
    parser.add_argument("--edition", type=int, choices=[1, *kept_editions(KEPT)])
    parser.add_argument("--replace", action="store_true")
    options = parser.parse_args()
    chosen = [options.edition] if options.edition else [1, *kept_editions(KEPT)]
    if options.replace:
        replace(chosen, options.names)
    else:
        main(options.out, chosen, options.names)

"""Tables in a folder of their own, with a manifest of all."""

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from splitmerge_cli.runs.store.files import replace_file, write_json, write_text
from splitmerge_cli.runs.store.manifest import write_manifest, write_sealed
from splitmerge_cli.runs.store.names import MANIFEST

if TYPE_CHECKING:
    import pandas as pd


class SealedFolder:
    """A folder while its files are written. At the end its manifest lists them; stopped before, it has none. `path`:
    made where it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: list[str] = []

    def __enter__(self) -> "SealedFolder":
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / MANIFEST).unlink(missing_ok=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            write_manifest(self.path / MANIFEST, self._names)

    def add_file(self, name: str) -> Path:
        """The path of a file that somebody else writes; `name` may lead into a folder of this one."""
        self._names.append(name)
        return self.path / name

    def add_parquet(self, name: str, table: "pd.DataFrame") -> Path:
        """Write a table as ``NAME.parquet``, whole or not at all."""
        path = self.add_file(f"{name}.parquet")
        with replace_file(path) as temporary:
            table.to_parquet(temporary, index=False)
        return path

    def add_csv(self, name: str, table: "pd.DataFrame") -> None:
        """Write a table as ``NAME.csv``, whole or not at all."""
        write_text(self.add_file(f"{name}.csv"), table.to_csv(index=False, lineterminator="\n"))

    def add_text(self, name: str, text: str) -> None:
        """Write a text file, whole or not at all."""
        write_text(self.add_file(name), text)

    def add_json(self, name: str, value: Any) -> Path:
        """Write a JSON file, whole or not at all; its path."""
        path = self.add_file(name)
        write_json(path, value)
        return path

    def add_sealed(self, name: str, value: dict[str, Any]) -> None:
        """Write a JSON object with the digest of its own content, whole or not at all."""
        write_sealed(self.add_file(name), value)

"""Hydra is known in one place, in the versions that it was written for."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import splitmerge_cli
from splitmerge_cli.config import ConfigError
from splitmerge_cli.config.hydra_adapter import check_version

ROOT = Path(splitmerge_cli.__file__).parents[1]


@pytest.mark.parametrize("version", ["1.3.2", "1.3.8", "1.3.10rc1"])
def test_supported_versions(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize("version", ["1.4.0.dev1", "1.4.0rc1", "1.2.0", "2.0", "unknown"])
def test_other_versions_are_rejected(version: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"hydra-core {version}: not supported; expected 1.3")):
        check_version(version)


def test_the_command_line_rejects_them_with_one_line(tmp_path: Path) -> None:
    code = """
        import sys
        import hydra
        hydra.__version__ = "1.4.0.dev1"
        from splitmerge_cli.__main__ import main
        sys.argv = ["smcmc", "run", "N=20"]
        main()
        """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("smcmc: hydra-core 1.4.0.dev1: not supported") and ended.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_no_other_module_imports_it() -> None:
    named = re.compile(r"^\s*(?:from|import) hydra(?:_plugins)?\b", re.MULTILINE)
    files = [file for folder in ("splitmerge_cli", "bench", "scripts") for file in (ROOT / folder).rglob("*.py")]
    found = {file.name for file in files if named.search(file.read_text(encoding="utf-8"))}
    assert found == {"hydra_adapter.py"}

"""A process of its own for what is fuzzed: that it crashes, hangs or takes all memory is a finding, not the end of the
tests.

``Child(folder)`` starts it in a folder; ``child(name, *args)`` calls ``NAME`` of `served` there and returns what it
returns. Run as a script this file is that process.
"""

import faulthandler
import importlib
import os
import pickle
import resource
import select
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

MODULES = ("readers",)
"""Where the functions are that it supports; a name is ``MODULE.FUNCTION``."""
PATIENCE = 120.0
"""Seconds after which a call is taken to hang: a hundred times what the slowest needs."""
MEMORY = 8 << 30
"""Limit of the process's address space in bytes: a call that needs more is rejected, and the machine lives."""


class Ended(Exception):
    """The process ended, or did not answer."""


class Child:
    """The process; it is started when it is called first, and anew after it ended.

    Parameters
    ----------
    folder : Path
        Where it works; it may write there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._said = folder.parent / f"{folder.name}.stderr"
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self, name: str, *args: Any) -> Any:
        """Return what the function returns.

        Raises
        ------
        Ended
            It crashed or hung; the message says how.
        """
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump((name, args), process.stdin)
            process.stdin.flush()
            if not select.select([process.stdout], [], [], PATIENCE)[0]:
                process.send_signal(6)  # faulthandler then says where it is
                raise EOFError(f"no answer within {PATIENCE:g} seconds")
            good, value = pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            status = process.wait(10)
            self.end()
            said = self._said.read_text(errors="replace")[-3000:]
            raise Ended(f"{name}: {error or 'the process ended'}, status {status}\n{said}") from error
        if not good:
            raise Ended(f"{name}: {value}")
        return value

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, __file__], cwd=self.folder, stdin=-1, stdout=-1, stderr=said, start_new_session=True
            )
        return self._process

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        try:
            name, args = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        module, function = name.split(".")
        assert module in MODULES
        try:
            answer = True, getattr(importlib.import_module(module), function)(*args)
        except BaseException:
            answer = False, traceback.format_exc()
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1]))
    _serve()

"""Starts the corrald that was built beside these tests."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Callable

BUILD = Path(os.environ.get("CORRAL_BUILD", Path(__file__).parents[4] / "build" / "dev"))
CORRALD = BUILD / "apps" / "corrald"


def wait_until(condition: Callable[[], object], what: str, timeout: float = 30.0) -> None:
    """Asks until it is so."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}"
        threading.Event().wait(0.01)


def holds_for(seconds: float, condition: Callable[[], object]) -> bool:
    """True if it is so whenever asked, for as long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            return False
        threading.Event().wait(0.02)
    return True


class RealDaemon:
    """A daemon of its own directories below `root`, whose path must be short."""

    def __init__(self, root: str, **options: str) -> None:
        os.chmod(root, 0o755)
        self.root = root
        self.endpoint = f"ipc://{root}/run/corral.sock"
        self.log = Path(root) / "log"
        self._settings = {
            "data_dir": f"{root}/data",
            "run_dir": f"{root}/run",
            "state_dir": f"{root}/state",
            **options,
        }
        self.start()

    def start(self) -> None:
        command = [str(CORRALD)]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until(lambda: self.process.poll() is not None or self.listens(), "a socket")
            assert self.process.poll() is None, "corrald ended"
        except AssertionError as fault:
            self.kill()
            raise AssertionError(f"{fault}; its log:\n{self.log.read_text()}") from None

    def listens(self) -> bool:
        """False for a socket that a killed daemon left behind."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self.root}/run/corral.sock") == 0

    def stop(self) -> None:
        """Ends it as an operator would."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

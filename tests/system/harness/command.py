"""The corral command as people call it, and a corrald for it."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

BUILD = Path(os.environ.get("CORRAL_BUILD", Path(__file__).resolve().parents[3] / "build/dev"))
CORRAL = BUILD / "apps/corral"
LIMIT = 30  # Seconds that no call of the command needs.


class Service:
    """A corrald in directories of its own, and the corral command that speaks to it."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="corral-", dir="/tmp")
        os.chmod(self.dir, 0o755)  # Sandboxes run as other users.
        self.socket = f"{self.dir}/run/corral.sock"
        self.log = open(f"{self.dir}/log", "w+b")
        self.serve()

    def serve(self):
        names = ("data", "state", "run")
        settings = [x for name in names for x in ("--set", f"{name}_dir={self.dir}/{name}")]
        self.process = subprocess.Popen(
            [BUILD / "apps/corrald", *settings],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        end = time.monotonic() + 30
        while self.run("ls").returncode != 0:
            assert self.process.poll() is None, self.log_text()
            assert time.monotonic() < end, self.log_text()
            time.sleep(0.05)

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def command(self, *words):
        return [CORRAL, "--endpoint", self.socket, *words]

    def run(self, *words, stdin=b"", **options):
        return subprocess.run(
            self.command(*words), input=stdin, capture_output=True, timeout=LIMIT, **options
        )

    def json(self, *words, **options):
        done = self.run("--json", *words, **options)
        assert done.stderr == b""
        return json.loads(done.stdout)

    def start(self, *words, **options):
        return subprocess.Popen(
            self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.log.close()
            shutil.rmtree(self.dir, ignore_errors=True)


def wait_for_line(pipe):
    line = pipe.readline()
    assert line, "the command ended before it said anything"
    return line

"""A corrald in directories of its own."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import corral

from . import traces

BUILD = os.environ.get("CORRAL_BUILD") or os.path.join(
    os.path.dirname(__file__), "../../../build/dev"
)
SECRET = "t0ps3cret-of-the-daemon"
SANITIZED = "san" in os.path.basename(BUILD)


class Daemon:
    """Runs until `stop`; starting again keeps its directories.

    Args:
        options: what `--set` is given, such as {"pool.replicas": 3}.
        data_dir: another's, to share it.
        config: the text of its configuration file.
    """

    live = []  # Those whose directories exist, for the log of a test that fails.

    def __init__(self, options=None, data_dir=None, config=None):
        self.base = tempfile.mkdtemp(prefix="corral-", dir="/tmp")
        os.chmod(self.base, 0o711)  # Owners' uids pass through it.
        self.data_dir = data_dir or f"{self.base}/data"
        self.state_dir = f"{self.base}/state"
        self.run_dir = f"{self.base}/run"
        self.socket = f"{self.run_dir}/corral.sock"
        self.endpoint = f"ipc://{self.socket}"
        self.log_path = f"{self.base}/log"
        self.options = options or {}
        self.config_path = f"{self.base}/corral.yaml" if config else None
        if config:
            with open(self.config_path, "w", encoding="utf-8") as file:
                file.write(config)
        self.build = BUILD
        self.process = None
        self.seen = set()  # Processes of its sandboxes, by pid and start time.
        Daemon.live.append(self)

    def arguments(self, **more):
        given = {
            "data_dir": self.data_dir,
            "state_dir": self.state_dir,
            "run_dir": self.run_dir,
            **self.options,
            **more,
        }
        settings = (["--set", f"{name}={value}"] for name, value in given.items())
        file = ["--config", self.config_path] if self.config_path else []
        return [f"{self.build}/apps/corrald", *file, *(x for pair in settings for x in pair)]

    def start(self):
        env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("CORRAL_")},
            "FAKE_API_TOKEN": SECRET,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }
        offset = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.arguments(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env
            )
        deadline = time.monotonic() + 60
        while " serves pool" not in self.log()[offset:]:
            ended = self.process.poll()
            assert ended is None, f"corrald ended with {ended}:\n{self.log()[offset:]}"
            assert time.monotonic() < deadline, f"corrald does not serve:\n{self.log()[offset:]}"
            time.sleep(0.01)
        return self

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def enforces(self, limit):
        """Whether a limit, such as "pids", holds on this machine."""
        return f"limits.{limit} isn't enforced" not in self.log()

    def client(self, **options):
        return corral.Client(self.endpoint, **{"timeout": 20, **options})

    @property
    def pid(self):
        return self.process.pid

    def resident_bytes(self):
        return self._status("VmRSS") * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def _status(self, name):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))

    def record(self, id):
        """What the daemon has noted about a sandbox."""
        with open(f"{self.state_dir}/sandboxes/{id}.json", encoding="utf-8") as file:
            noted = json.load(file)
        self.seen |= {(noted[x]["pid"], noted[x]["start_time"]) for x in ("guest", "outer")}
        return noted

    def note_processes(self):
        """Remembers the processes of the sandboxes that there are, for `traces`."""
        for id in self.records():
            try:
                self.record(id)
            except (FileNotFoundError, ValueError):
                pass  # It has just ended, or a test has damaged it.

    def guest_pid(self, id):
        """The pid of a sandbox's first process, as seen from outside. FileNotFoundError if there is
        none yet."""
        pid = self.record(id)["guest"]["pid"]
        if pid <= 1:  # To a signal this would be whole groups of processes.
            raise FileNotFoundError(f"sandbox {id} has no process yet")
        return pid

    def records(self):
        return [x[: -len(".json")] for x in os.listdir(f"{self.state_dir}/sandboxes")]

    def user_data(self, thread, user="default"):
        return f"{self.data_dir}/users/{user}/threads/{thread}/user-data"

    def upgrade(self):
        """Another build, for the next start: the same programs elsewhere, of which none is the same file."""
        build = f"{self.base}/next"
        for name in ("apps/corrald", "guest/corral-guest", "providers/corral-launch", "providers/corral-probe"):
            os.makedirs(os.path.dirname(f"{build}/{name}"), exist_ok=True)
            shutil.copy2(f"{BUILD}/{name}", f"{build}/{name}")
            with open(f"{build}/{name}", "ab") as file:
                file.write(b"\nthe next version")
        self.build = build

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        """Ends it as a crash would."""
        self.note_processes()
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=60):
        """Ends it as asked; returns its exit status and what is left of it and its sandboxes."""
        self.note_processes()
        self.signal(signal.SIGTERM)
        status = self.process.wait(timeout)
        return status, traces.all_of(self)

    def dispose(self):
        """Ends it in any case and removes its directories."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if os.path.isdir(f"{self.state_dir}/sandboxes"):
            self.note_processes()
        for pid, start_time in self.seen:  # Sandboxes outlive their daemon.
            if traces.start_time(pid) == start_time:
                os.kill(pid, signal.SIGKILL)
        Daemon.live.remove(self)
        shutil.rmtree(self.base, ignore_errors=True)

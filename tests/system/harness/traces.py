"""What a daemon and its sandboxes leave on the machine."""

import glob
import os


def cgroup_name(daemon, pool="default"):
    """What the cgroup that holds those of its sandboxes is called: it has a digest of where the daemon
    keeps its records."""
    value = 0xCBF29CE484222325
    for byte in f"{daemon.state_dir}\0{pool}\0".encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return "corral-" + f"{value:016x}"[:8]


def cgroups(daemon, id="*"):
    """The cgroups of all of a daemon's sandboxes, or of one."""
    pattern = f"/sys/fs/cgroup/**/{cgroup_name(daemon)}/{id}/"
    return [f"cgroup {x}" for x in glob.glob(pattern, recursive=True)]


def parents_of_cgroups(daemon):
    found = glob.glob(f"/sys/fs/cgroup/**/{cgroup_name(daemon)}/", recursive=True)
    return [f"cgroup {x}" for x in found]


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _stat(pid):
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def state(pid):
    """Such as "T" for a stopped one; None if there is none."""
    fields = _stat(pid)
    return fields[0].decode() if fields else None


def start_time(pid):
    """With the pid it names a process; None if there is none or only its exit status is left."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] not in (b"Z", b"X") else None


def alive(pid):
    return start_time(pid) is not None


def processes(daemon):
    """The processes of a daemon's sandboxes: those it has noted, those in its cgroups, and those that
    have a directory of its in sight."""
    base, cgroup = daemon.base.encode(), f"/{cgroup_name(daemon)}/".encode()
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if pid in (os.getpid(), daemon.pid) or not alive(pid):
            continue
        command = _read(f"/proc/{pid}/cmdline")
        if (
            (pid, start_time(pid)) in daemon.seen
            or cgroup in _read(f"/proc/{pid}/cgroup")
            or base in command + _read(f"/proc/{pid}/mountinfo")
        ):
            found.append(f"process {pid}: {command.replace(bytes(1), b' ').decode(errors='replace')}")
    return found


def mounts(daemon):
    lines = _read("/proc/self/mountinfo").decode().splitlines()
    return [f"mount {x}" for x in lines if daemon.base in x]


def files(daemon):
    patterns = (
        daemon.socket,
        f"{daemon.run_dir}/events.sock",
        f"{daemon.run_dir}/links/*",
        f"{daemon.state_dir}/sandboxes/*",
        f"{daemon.data_dir}/anonymous/*",
        f"{daemon.data_dir}/trash/*",
    )
    return [f"file {x}" for pattern in patterns for x in glob.glob(pattern)]


def all_of(daemon):
    """Everything that must be gone once the daemon has ended."""
    return processes(daemon) + mounts(daemon) + parents_of_cgroups(daemon) + files(daemon)

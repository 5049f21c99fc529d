"""Many threads in one run: acquired, used and released without an error, and nothing left of them.

CORRAL_TEST_THREADS says how many; 1000 is what the first release is accepted with.
"""

import os
import queue
import threading
import time
from collections import Counter

import pytest
from harness.daemon import SANITIZED

THREADS = int(os.environ.get("CORRAL_TEST_THREADS", "100"))
WORKERS = 16
BUDGET = 64 * 1024  # bytes of the daemon's memory for each idle sandbox


def in_parallel(daemon, names, work):
    """Calls work(client, name) for each, from 16 threads with clients of their own; the errors."""
    todo, faults = queue.SimpleQueue(), []
    for x in names:
        todo.put(x)

    def run():
        with daemon.client(timeout=60) as client:
            while True:
                try:
                    name = todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    work(client, name)
                except Exception as fault:  # pylint: disable=broad-except
                    faults.append((name, fault))

    workers = [threading.Thread(target=run) for _ in range(WORKERS)]
    for x in workers:
        x.start()
    for x in workers:
        x.join()
    return faults


@pytest.mark.limit(60 + THREADS)
def test_as_many_threads_as_replicas(new_daemon):
    daemon = new_daemon({"pool.replicas": THREADS, "pool.max_sandboxes": THREADS, "pool.overflow": "reject"})
    names = [f"thread-{i}" for i in range(THREADS)]
    origins = Counter()

    def use(client, name):
        with client.acquire(name) as x:
            origins[x.origin] += 1
            assert x.exec(f"N={name}; echo $N").stdout == f"{name}\n".encode()
            x.write_file("f", name)

    def use_again(client, name):
        with client.acquire(name) as x:
            origins[x.origin] += 1
            assert x.exec("echo $N; cat f").stdout == f"{name}\n{name}".encode()

    assert in_parallel(daemon, ["warm-up"], lambda client, name: client.acquire(name).destroy(force=True)) == []
    before, begin = daemon.resident_bytes(), time.monotonic()
    assert in_parallel(daemon, names, use) == []
    created = time.monotonic() - begin
    assert in_parallel(daemon, names, use_again) == []
    assert origins == {"created": THREADS, "warm": THREADS}
    with daemon.client() as client:
        assert len(client.list(state="parked")) == THREADS
    each = (daemon.resident_bytes() - before) / THREADS
    begin = time.monotonic()
    status, left = daemon.stop(timeout=60 + THREADS)
    ended = time.monotonic() - begin
    print(f"{THREADS} sandboxes: {created / THREADS * 1000:.1f} ms to make and use each, {each / 1024:.1f} KiB of"
          f" the daemon's memory each, {ended:.1f} s to end all")
    assert (status, left) == (0, [])
    if not SANITIZED:
        assert each <= BUDGET

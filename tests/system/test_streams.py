"""Streams under pressure: what a reader takes is exact, what it doesn't take costs nobody else."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from harness import Raw, eventually
from harness.daemon import SANITIZED

from corral import errors

MIB = 1 << 20
WINDOW = 256 * 1024

# Prints small pieces, a write each and faster than a slow reader takes them, without needing a core;
# notes how many.
TRICKLE = """python3 -u -c '
import os, time, itertools
for i in itertools.count(1):
    os.write(1, b"x" * 4096)
    if i % 50 == 0:
        open("printed", "w").write(str(i))
    time.sleep(0.002)'"""


def percentile(samples, share):
    return sorted(samples)[int(len(samples) * share)]


def printed(box):
    try:
        return int(box.read_file("printed") or 0)
    except errors.FileNotFound:
        return 0


def exec_times(box, count):
    times = []
    for _ in range(count):
        begin = time.monotonic()
        assert box.exec(":").exit_code == 0
        times.append(time.monotonic() - begin)
    return times


def best_p99(box):
    """Of three goes: what the machine does beside it is in one or two, what the streams do is in all."""
    return min(percentile(exec_times(box, 700), 0.99) for _ in range(3))


def test_ten_thousand_small_chunks_arrive_complete_and_in_order(sandbox):
    run = sandbox.exec_stream("python3 -u -c 'import os\nfor i in range(10000): os.write(1, b\"%05d\\n\" % i)'")
    text = bytearray()
    for chunk in run:
        assert (chunk.offset, chunk.gap) == (len(text), 0)
        text += chunk.data
    assert bytes(text) == b"".join(b"%05d\n" % i for i in range(10000))
    assert run.result().stdout_bytes == 60000


@pytest.mark.limit(120)
def test_two_streams_at_once_keep_apart_and_account_for_every_byte(sandbox, other):
    size, ends = 8_000_000, {}

    def follow(box, letter):
        run = box.exec_stream(f"head -c {size} /dev/zero | tr '\\0' {letter}")
        at = 0  # Fast as they print, a reader may miss some: it is told how much.
        for chunk in run:
            assert chunk.offset == at + chunk.gap
            assert chunk.data == letter.encode() * len(chunk.data)
            at = chunk.offset + len(chunk.data)
        # What was dropped last has no chunk after it; the result tells how much there was.
        ends[letter] = (0 < at <= size, run.result().stdout_bytes)

    readers = [threading.Thread(target=follow, args=x) for x in ((sandbox, "a"), (other, "b"))]
    for x in readers:
        x.start()
    for x in readers:
        x.join()
    assert ends == {"a": (True, size), "b": (True, size)}


def test_a_reader_that_acknowledges_late_is_told_what_it_missed(daemon, sandbox):
    size = 4_000_000
    with Raw(daemon.endpoint) as raw:
        raw.exec("s", f"head -c {size} /dev/zero; read go; echo end", sandbox=sandbox.id, stream=True,
                 stdin_open=True, want=[])
        got = []

        def take(timeout):
            message = raw.receive(timeout)
            if message and message[0].get("event") == "chunk":
                got.append((message[0], message[1]))
            return message

        while take(0.5):
            pass
        unread = sum(len(x) for _, x in got)
        assert WINDOW - 32 * 1024 <= unread <= WINDOW  # What the window holds, and no more.
        raw.post({"op": "ack", "re": "s", "seq": got[-1][0]["seq"]})
        raw.post({"op": "input", "id": "i", "request": "s", "eof": True}, b"go\n")
        while (message := take(10)) and not (message[0].get("re") == "s" and "ok" in message[0]):
            pass
    gaps = sum(x.get("gap", 0) for x, _ in got)
    total = sum(len(x) for _, x in got)
    assert gaps > 0 and got[-1][1].endswith(b"end\n")
    assert gaps + total == size + 4 == message[0]["stdout_bytes"]


@pytest.mark.limit(180)
def test_slow_and_dead_readers_cost_nobody_else(daemon, client, thread):
    calm = client.acquire(thread)
    boxes = [client.acquire(f"{thread}-{i}") for i in range(4)]
    for box in (calm, *boxes):
        box.exec("true")
    alone = best_p99(calm)
    before = daemon.resident_bytes()
    silent = [Raw(daemon.endpoint, rcvhwm=1) for _ in range(2)]  # Connected, and never read from.
    dying = subprocess.Popen(
        [sys.executable, "-c",
         "import sys, time; sys.path.insert(0, sys.argv[1]); import corral\n"
         "c = corral.Client(sys.argv[2])\n"
         "for t in sys.argv[4:]: next(iter(c.sandbox(t).exec_stream(sys.argv[3])))\n"
         "print('reads', flush=True); time.sleep(600)",
         os.path.join(os.path.dirname(__file__), "../../clients/python"), daemon.endpoint, TRICKLE,
         f"{thread}-2", f"{thread}-3"],
        stdout=subprocess.PIPE,
    )
    try:
        for raw, box in zip(silent, boxes):
            raw.exec("s", TRICKLE, sandbox=box.id, stream=True, want=[])
        assert dying.stdout.readline() == b"reads\n"
        dying.send_signal(signal.SIGSTOP)  # Holds its connection and takes nothing.
        for box in boxes:
            eventually(lambda: client.get(box.id)["usage"]["running"], what="the stream")
            eventually(lambda: printed(box) * 4096 > 2 * WINDOW, timeout=30, what="more output than a window holds")
        beside = best_p99(calm)
        grown = daemon.resident_bytes() - before
    finally:
        dying.kill()
        dying.wait()
        for raw in silent:
            raw.close()
    for box in boxes:
        eventually(box.cancel, what="the end of what runs")
        assert box.exec("echo on").stdout == b"on\n"
    print(f"p99 of a neighbour {alone * 1000:.2f} ms alone, {beside * 1000:.2f} ms beside four streams that nobody reads; "
          f"the daemon grew by {grown / MIB:.1f} MiB")
    if not SANITIZED:
        assert grown < 8 * MIB
        # Twice; the four commands use the cores too, so what a scheduler's turn takes is allowed.
        assert beside <= 2 * alone + 0.005

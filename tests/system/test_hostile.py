"""What a broken or hostile client sends costs itself at most; nobody else notices."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import zmq
from harness import Raw, eventually
from harness.daemon import SANITIZED
from harness.raw import VERSION

from corral import errors

MIB = 1 << 20


@pytest.fixture(scope="module")
def bystander(daemon):
    """Another client's exec, which must go on whatever happens in this file."""
    with daemon.client() as client:
        box = client.acquire("bystander")
        lines = box.exec_stream("i=0; while sleep 0.05; do echo $((i++)); done")
        seen, stop = [], threading.Event()

        def read():
            for chunk in lines:
                assert chunk.gap == 0
                seen.append(chunk.data)
                if stop.is_set():
                    break

        reader = threading.Thread(target=read)
        reader.start()
        yield seen
        stop.set()
        reader.join()
        lines.cancel()
        text = b"".join(seen).split()
        assert text == [str(i).encode() for i in range(len(text))]
        client.destroy(box.id, force=True)


@pytest.fixture(autouse=True)
def unharmed(daemon, bystander):
    """Checks after each test that the bystander is served as before."""
    yield
    count = len(bystander)
    eventually(lambda: len(bystander) > count + 1, timeout=3, what="the bystander's next line")
    assert daemon.process.poll() is None


def header(**fields):
    return json.dumps(fields).encode()


SILENT = {
    "nothing": [],
    "one empty frame": [b""],
    "an unknown version": [b"corral/2", header(op="ping", id="1")],
    "no version": [header(op="ping", id="1")],
    "a version alone": [VERSION],
    "too many frames": [VERSION, header(op="ping", id="1"), b"", b"", b"", b"x" * 99, b"", b"", b"", b""],
    "no JSON": [VERSION, b"ping"],
    "half JSON": [VERSION, b'{"op": "ping", "id": "1"'],
    "no object": [VERSION, b"[1, 2]"],
    "a number": [VERSION, b"1"],
    "not UTF-8": [VERSION, b'{"op": "ping", "id": "\xff\xfe"}'],
    "deep nesting": [VERSION, b'{"id": "1", "x": ' + b"[" * 30000 + b"]" * 30000 + b"}"],
    "an oversized header": [VERSION, header(op="ping", id="1", pad="x" * 70000)],
    "a header of 10 MiB": [VERSION, b" " * (10 * MIB)],
    "no id": [VERSION, header(op="ping")],
    "an id of the wrong kind": [VERSION, header(op="ping", id=7)],
    "an empty id": [VERSION, header(op="ping", id="")],
    "an endless id": [VERSION, header(op="ping", id="x" * 129)],
    "data for nothing": [VERSION, header(op="data", re="none", seq=0, eof=True), b"x"],
    "an ack of nothing": [VERSION, header(op="ack", re="none", seq=2**62)],
    "a NaN": [VERSION, b'{"op": "ping", "id": "1", "x": NaN}'],
    "a doubled key": [VERSION, b'{"op": "ping", "op": "destroy", "id": ""}'],
}


@pytest.mark.parametrize("frames", SILENT.values(), ids=SILENT)
def test_what_cannot_be_answered_is_counted_and_dropped(raw, client, frames):
    before = client.stats()["dropped"]
    if frames:
        raw.send(*frames)
    reply = raw.call({"op": "ping", "id": "after"})[0]
    assert reply["ok"]
    assert client.stats()["dropped"] - before in (0, 1)


REFUSED = {
    "an unknown op": dict(op="nosuch"),
    "a typo": dict(op="exce"),
    "no op": dict(),
    "an op of the wrong kind": dict(op=["exec"]),
    "an unknown field": dict(op="ping", colour="red"),
    "a field of another op": dict(op="acquire", thread="t", path="x"),
    "no target": dict(op="exec", parts=[["command", 4]]),
    "two targets": dict(op="exec", thread="a", sandbox="b" * 16, parts=[["command", 4]]),
    "no command": dict(op="exec", thread="t"),
    "no path": dict(op="read_file", thread="t"),
    "a path with NUL": dict(op="read_file", thread="t", path="a\0b"),
    "an endless path": dict(op="read_file", thread="t", path="x" * 4097),
    "a negative time": dict(op="exec", thread="t", timeout_ms=-1, parts=[["command", 4]]),
    "a time beyond all bounds": dict(op="exec", thread="t", timeout_ms=10**12, parts=[["command", 4]]),
    "a fraction": dict(op="exec", thread="t", timeout_ms=1.5, parts=[["command", 4]]),
    "a huge number": dict(op="exec", thread="t", timeout_ms=10**30, parts=[["command", 4]]),
    "a wrong type": dict(op="exec", thread="t", stream="yes", parts=[["command", 4]]),
    "a wrong environment": dict(op="exec", thread="t", env={"A=B": "x"}, parts=[["command", 4]]),
    "an environment of numbers": dict(op="exec", thread="t", env={"A": 1}, parts=[["command", 4]]),
    "more parts than payload": dict(op="exec", thread="t", parts=[["command", 5]]),
    "less parts than payload": dict(op="exec", thread="t", parts=[["command", 3]]),
    "a negative part": dict(op="exec", thread="t", parts=[["command", -4]]),
    "parts that overflow": dict(op="exec", thread="t", parts=[["command", 2**63], ["stdin", 2**63]]),
    "an unknown part": dict(op="exec", thread="t", parts=[["command", 2], ["more", 2]]),
    "a part twice": dict(op="exec", thread="t", parts=[["command", 2], ["command", 2]]),
    "parts that are none": dict(op="exec", thread="t", parts="command"),
    "parts of nothing": dict(op="exec", thread="t", parts=[[]]),
    "an unknown pool": dict(op="acquire", thread="t", pool="nosuch"),
    "a path for a thread": dict(op="acquire", thread="../../etc"),
    "a path for a user": dict(op="acquire", thread="t", user="/"),
    "a short prefix": dict(op="get", sandbox="abc"),
    "a wild sandbox": dict(op="destroy", sandbox="../../../../x"),
    "release of nothing": dict(op="release"),
    "cancel of everything": dict(op="cancel"),
    "cancel of two": dict(op="cancel", sandbox="a" * 16, request="x"),
    "a heartbeat of years": dict(op="hello", heartbeat_ms=10**12),
    "a negative heartbeat": dict(op="hello", heartbeat_ms=-5),
    "a negative size": dict(op="write_file", thread="t", path="x", size=-1),
    "an upload beyond bounds": dict(op="write_file", thread="t", path="x", size=2**62),
    "a guest's op": dict(op="started"),
    "the guest's secret": dict(op="exec", thread="t", secret="x", parts=[["command", 4]]),
}


@pytest.mark.parametrize("fields", REFUSED.values(), ids=REFUSED)
def test_what_is_malformed_gets_an_error_that_says_why(raw, fields):
    error = raw.error({"id": "bad", **fields}, b"true" if "parts" in fields else None)
    assert error["code"] in ("invalid_request", "file_too_large", "sandbox_not_found"), error
    assert error["message"] and error["retryable"] is False
    assert raw.call({"op": "ping", "id": "after"})[0]["ok"]


def test_an_unknown_word_is_answered_with_the_nearest_known(raw):
    assert '"exec"' in raw.error({"op": "exce", "id": "1"})["message"]
    assert '"timeout_ms"' in raw.error({"op": "exec", "id": "1", "thread": "t", "timout_ms": 1})["message"]


def test_refused_requests_make_no_sandbox(raw, client):
    before = {x["sandbox"] for x in client.list()}
    for fields in REFUSED.values():
        raw.error({"id": "bad", **fields}, b"true" if "parts" in fields else None)
    assert {x["sandbox"] for x in client.list()} == before


def test_an_id_in_flight_is_refused_and_the_first_goes_on(raw, thread):
    raw.exec("same", "sleep 0.5; echo first", thread=thread)
    raw.exec("same", "echo second", thread=thread)
    replies = [raw.receive(), raw.receive()]
    assert replies[0][0]["error"]["code"] == "invalid_request"
    assert replies[1][0]["ok"] and replies[1][1].startswith(b"first\n")


def test_17_mib_cost_the_sender_its_connection_at_most(daemon, raw, sandbox):
    with Raw(daemon.endpoint) as fat:
        fat.exec("fat", "x" * (17 * MIB), sandbox=sandbox.id)
        fat.post({"op": "ping", "id": "p"})
        fat.receive(1)  # A reply over a new connection or none: either is fine.
    with Raw(daemon.endpoint) as fat:
        fat.exec("fits", "true #" + "x" * (15 * MIB), sandbox=sandbox.id)
        assert fat.reply("fits")[0]["exit_code"] == 0
    assert raw.call({"op": "ping", "id": "after"})[0]["ok"]


@pytest.mark.parametrize(
    "pieces",
    [[(0, b"x" * 300_000, False)], [(1, b"x", False)], [(0, b"x", False), (0, b"x", False)],
     [(0, b"x", True)], [(0, b"", False), (1, b"", True)], [(i, b"x" * 200_000, False) for i in range(12)]],
    ids=["a piece too large", "a wrong start", "a piece twice", "an early end", "nothing", "more than granted"],
)
def test_an_upload_that_breaks_the_rules_is_refused(raw, sandbox, pieces):
    raw.post({"op": "write_file", "id": "w", "sandbox": sandbox.id, "path": "up", "size": 2 * MIB})
    assert raw.receive()[0]["event"] == "credit"
    for seq, data, eof in pieces:
        raw.post({"op": "data", "re": "w", "seq": seq, "eof": eof}, data)
    assert raw.reply("w")[0]["error"]["code"] == "invalid_request"
    assert sandbox.exec("ls -A").stdout == b""


def test_a_client_that_dies_during_an_upload_leaves_nothing(daemon, client, sandbox):
    dying = Raw(daemon.endpoint)
    dying.post({"op": "write_file", "id": "w", "sandbox": sandbox.id, "path": "up", "size": 50 * MIB,
                "timeout_ms": 1500})
    assert dying.receive()[0]["event"] == "credit"
    dying.post({"op": "data", "re": "w", "seq": 0, "eof": False}, b"x" * 100_000)
    dying.close()
    assert sandbox.exec("echo ok").stdout == b"ok\n"
    eventually(lambda: sandbox.exec("ls -A").stdout == b"", timeout=8, what="the end of the upload")
    eventually(lambda: client.get(sandbox.id)["usage"]["active"] == 0, what="the request's end")


@pytest.mark.limit(120)
@pytest.mark.skipif(SANITIZED, reason="a sanitizer's memory is not the daemon's")
def test_a_client_that_never_reads_is_forgotten_in_bounded_memory(daemon, client, sandbox):
    sandbox.exec("head -c 1000000 /dev/zero | tr '\\0' x > text")
    sandbox.read_file("text")
    before = daemon.resident_bytes()
    deaf, most = Raw(daemon.endpoint, rcvhwm=1), 0
    for i in range(2000):
        deaf.post({"op": "read_file", "id": str(i), "sandbox": sandbox.id, "path": "text"})
        if i % 20 == 19:
            eventually(lambda: client.get(sandbox.id)["usage"]["active"] == 0, what="the replies made")
            most = max(most, daemon.resident_bytes() - before)
            if "client forgotten" in daemon.log():
                break
    assert "client forgotten" in daemon.log()
    assert most < 640 * MIB
    eventually(lambda: daemon.resident_bytes() - before < 64 * MIB, what="the memory given back")
    deaf.close()
    assert sandbox.exec("echo ok").stdout == b"ok\n"


def test_a_client_killed_while_its_replies_are_sent_stops_nobody(daemon, client, sandbox):
    code = (
        "import json, sys, time, zmq\n"
        "s = zmq.Context().socket(zmq.DEALER); s.rcvhwm = 1; s.connect(sys.argv[1])\n"
        "for i in range(64):\n"
        "    h = {'op': 'download_file', 'id': str(i), 'sandbox': sys.argv[2], 'path': 'text'}\n"
        "    s.send_multipart([b'corral/1', json.dumps(h).encode()])\n"
        "print('sent', flush=True); time.sleep(60)\n"
    )
    sandbox.exec("head -c 4000000 /dev/zero > text")
    peer = subprocess.Popen([sys.executable, "-c", code, daemon.endpoint, sandbox.id], stdout=subprocess.PIPE)
    assert peer.stdout.readline() == b"sent\n"
    time.sleep(0.1)
    os.kill(peer.pid, signal.SIGKILL)
    peer.wait()
    begin = time.monotonic()
    assert sandbox.exec("echo alive").stdout == b"alive\n"
    assert time.monotonic() - begin < 2


def test_a_stream_that_nobody_acknowledges_is_bounded(daemon, client, sandbox):
    sandbox.exec("true")
    before = daemon.resident_bytes()
    with Raw(daemon.endpoint) as raw:
        raw.exec("s", "head -c 50000000 /dev/zero", sandbox=sandbox.id, stream=True, want=[])
        assert raw.reply("s", timeout=30)[0]["stdout_bytes"] == 50_000_000
    if not SANITIZED:
        assert daemon.resident_bytes() - before < 16 * MIB


def test_more_requests_than_a_queue_holds_are_refused(daemon, client, sandbox):
    with Raw(daemon.endpoint) as raw:
        raw.exec("first", "sleep 1", sandbox=sandbox.id)
        for i in range(80):
            raw.exec(str(i), "true", sandbox=sandbox.id)
        codes = [raw.receive()[0] for _ in range(81)]
    full = [x for x in codes if not x["ok"]]
    assert {x["error"]["code"] for x in full} == {"queue_full"} and full[0]["error"]["retryable"]
    assert 10 <= len(full) <= 17
    assert client.get(sandbox.id)["queue"] == 0


def test_two_sockets_of_one_identity_do_not_silence_each_other_for_ever(daemon):
    with Raw(daemon.endpoint, identity=b"same") as first:
        assert first.call({"op": "ping", "id": "1"})[0]["ok"]
        second = Raw(daemon.endpoint, identity=b"same")
        second.post({"op": "ping", "id": "2"})
        second.receive(0.3)
        assert first.call({"op": "ping", "id": "3"})[0]["ok"]
        second.close()


def test_a_flood_of_connections_and_pings_leaves_no_descriptor(daemon, client):
    before = daemon.descriptors()
    for _ in range(60):
        with Raw(daemon.endpoint) as raw:
            assert raw.call({"op": "ping", "id": "1"})[0]["ok"]
    eventually(lambda: daemon.descriptors() <= before + 3, what="the descriptors closed")


def test_bytes_that_are_no_zmq_are_no_matter(daemon, raw):
    import socket

    for text in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, os.urandom(5000), b""):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(daemon.socket)
            try:
                peer.sendall(text)
            except BrokenPipeError:
                pass
    assert raw.call({"op": "ping", "id": "after"})[0]["ok"]


def test_the_socket_is_for_those_it_was_made_for(daemon):
    mode = os.stat(daemon.socket).st_mode & 0o777
    assert mode == (0o660 if os.geteuid() == 0 else 0o600)
    assert os.stat(daemon.state_dir).st_mode & 0o777 == 0o700
    assert os.stat(daemon.run_dir).st_mode & 0o777 == (0o751 if os.geteuid() == 0 else 0o700)


def test_random_headers_never_end_the_daemon(daemon, raw):
    import random

    rng = random.Random(20_240)
    words = ["op", "id", "exec", "ping", "thread", "t", "parts", "command", "sandbox", "", 0, -1, 2**63, None, True,
             [], {}, ["command", 1], [["command", 0]], "x" * 300, "\u0000", "\ud7ff"]
    for _ in range(1500):
        value = {str(rng.choice(words)): rng.choice(words) for _ in range(rng.randrange(6))}
        raw.post({**value, "id": "r"} if rng.random() < 0.5 else value)
    with Raw(daemon.endpoint, zmq.REQ) as other:
        assert other.call({"op": "ping", "id": "1"})[0]["ok"]


def test_a_name_with_control_bytes_breaks_no_log_line(daemon, raw):
    name = "evil\n2026-01-01T00:00:00.000 info forged\x1b[31m"
    raw.call({"op": "hello", "id": "h", "client": name, "instance": "i", "heartbeat_ms": 50})
    raw.call({"op": "acquire", "id": "a", "thread": "logs"})
    eventually(lambda: "client=evil" in daemon.log(), what="the silent client's line in the log")
    assert "\n2026-01-01T00:00:00.000 info forged" not in daemon.log()
    assert "\x1b[31m" not in daemon.log()


def test_the_library_itself_refuses_what_would_cost_its_connection(client, sandbox):
    with pytest.raises(errors.InvalidRequest):
        sandbox.exec("x" * (17 * MIB))
    with pytest.raises(errors.InvalidRequest):
        sandbox.exec("true", env={"A": "x" * 70_000})
    assert sandbox.exec("echo ok").stdout == b"ok\n"


def test_a_name_that_looks_like_name_and_instance_is_nobody_elses(daemon, thread):
    with Raw(daemon.endpoint) as one, Raw(daemon.endpoint) as two:
        one.call({"op": "hello", "id": "h", "client": "a", "instance": "b\nc", "heartbeat_ms": 60000})
        two.call({"op": "hello", "id": "h", "client": "a\nb", "instance": "c", "heartbeat_ms": 60000})
        id = one.call({"op": "acquire", "id": "a", "thread": thread})[0]["sandbox"]
        assert two.call({"op": "release", "id": "r", "all": True})[0]["released"] == 0
        assert one.call({"op": "get", "id": "g", "sandbox": id})[0]["leases"] == 1
        assert one.call({"op": "release", "id": "r", "all": True})[0]["released"] == 1

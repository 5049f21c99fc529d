"""The primitives against a scripted peer: what is sent, and what comes of the answers."""

import hashlib
import io
import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.scripted_daemon import echo_exec, exec_reply, ignore, pieces, rows_reply

import corral
from corral import _wire

MIB = 1024 * 1024


@pytest.fixture
def sandbox(client):
    return client.sandbox("t")


def test_an_exec_sends_what_it_was_given(peer, client):
    peer.on("exec", echo_exec)
    client.sandbox("t", user="u", pool="p").exec(
        "true",
        timeout=1.5,
        queue_timeout=2,
        env={"A": "ä"},
        cwd="/tmp",
        stdin=b"\x00\xff",
        key="k",
        max_output_chars=10,
        want=["output"],
        request_id="mine",
    )
    header = dict(peer.of("exec")[0].header)
    assert header.pop("parts") == [["command", 4], ["stdin", 2]]
    assert header == {
        "op": "exec",
        "id": "mine",
        "thread": "t",
        "user": "u",
        "pool": "p",
        "timeout_ms": 1500,
        "queue_ms": 2000,
        "env": {"A": "ä"},
        "cwd": "/tmp",
        "key": "k",
        "max_output_chars": 10,
        "want": ["output"],
    }
    assert peer.of("exec")[0].parts["stdin"] == b"\x00\xff"


def test_what_is_not_given_is_left_to_the_daemon(peer, sandbox):
    peer.on("exec", echo_exec)
    sandbox.exec("true")
    header = peer.of("exec")[0].header
    assert set(header) == {"op", "id", "thread", "user", "parts"}


def test_an_exec_returns_all_that_the_reply_says(peer, sandbox):
    parts = {"output": b"out\xff", "stdout": b"o\x00", "stderr": b"\xff"}
    peer.on(
        "exec",
        lambda r: r.reply_parts(
            parts,
            exit_code=3,
            timed_out=False,
            cancelled=False,
            oom={"kills": 1, "limit": 2, "peak": 3},
            duration_ms=1500,
            queued_ms=20,
            cwd="/x",
            truncated=True,
            stdout_bytes=2,
            stderr_bytes=1,
            origin="warm",
            session=4,
            session_reset="restored",
        ),
    )
    result = sandbox.exec("x")
    assert result == corral.ExecResult(
        exit_code=3,
        output="out\ufffd",
        stdout=b"o\x00",
        stderr=b"\xff",
        timed_out=False,
        cancelled=False,
        oom={"kills": 1, "limit": 2, "peak": 3},
        duration=1.5,
        queued=0.02,
        cwd="/x",
        truncated=True,
        stdout_bytes=2,
        stderr_bytes=1,
        origin="warm",
        session=4,
        session_reset="restored",
    )
    assert not result.ok


def test_a_timeout_is_a_result_and_not_ok(peer, sandbox):
    peer.on("exec", lambda r: exec_reply(r, exit_code=None, timed_out=True))
    result = sandbox.exec("sleep 9", timeout=0.01)
    assert result.timed_out and result.exit_code is None and not result.ok


def test_an_error_reply_is_raised_as_its_class(peer, sandbox):
    peer.on("exec", lambda r: r.fail("sandbox_lost", "it died", details={"started": True}))
    with pytest.raises(corral.SandboxLost) as caught:
        sandbox.exec("true")
    assert caught.value.details == {"started": True}
    assert not caught.value.retryable


def test_a_request_over_a_limit_never_reaches_the_daemon(peer, sandbox):
    with pytest.raises(corral.InvalidRequest, match="at most 16777216"):
        sandbox.exec("x" * (16 * MIB), stdin="y")
    with pytest.raises(corral.InvalidRequest, match="at most 65536"):
        sandbox.exec("true", env={"A": "x" * 70_000})
    assert not peer.of("exec")


@pytest.fixture
def ctrl_c():
    """What ^C does to the main thread, even where the tests were started without it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_cancels_the_command_and_is_raised_again(peer, client, ctrl_c):
    peer.on("exec", lambda r: ctrl_c())
    with pytest.raises(KeyboardInterrupt):
        client.sandbox("t").exec("sleep 1000", request_id="mine")
    assert peer.wait_for("cancel").header["request"] == "mine"
    peer.on("exec", echo_exec)
    assert client.sandbox("t").exec("fine", request_id="mine").output == "fine"


def test_a_running_exec_is_cancelled_by_its_request_id(peer, client):
    peer.on("cancel", lambda r: (r.reply(cancelled=True), exec_reply(held[0], cancelled=True)))
    held = []
    peer.on("exec", held.append)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(client.sandbox("t").exec, "sleep 1000", request_id="mine")
        peer.wait_for("exec")
        assert client.cancel("mine")
        assert running.result(10).cancelled


def test_a_lease_is_used_by_its_sandbox_and_released_once(peer, client):
    peer.on("acquire", lambda r: r.reply(sandbox="00ff", lease="l1", origin="warm", session=2))
    peer.on("exec", echo_exec)
    peer.on("release", lambda r: r.reply(remaining=0, state="parked"))
    with client.acquire("t", user="u", pool="p", wait=3) as sandbox:
        assert (sandbox.id, sandbox.origin, sandbox.lease.lease) == ("00ff", "warm", "l1")
        sandbox.exec("x")
        sandbox.release()
    sandbox.release()
    acquire = peer.of("acquire")[0].header
    assert acquire.items() >= {"thread": "t", "user": "u", "pool": "p", "wait_ms": 3000}.items()
    assert peer.of("exec")[0].header["sandbox"] == "00ff"
    assert "thread" not in peer.of("exec")[0].header
    assert [x.header["lease"] for x in peer.of("release")] == ["l1"]


def test_an_anonymous_acquire_names_no_thread(peer, client):
    peer.on("acquire", lambda r: r.reply(sandbox="00ff", lease="l1", origin="created"))
    client.acquire()
    assert "thread" not in peer.of("acquire")[0].header


def test_the_error_of_the_body_is_not_hidden_by_a_release_that_fails(peer, client):
    peer.on("acquire", lambda r: r.reply(sandbox="00ff", lease="l1", origin="created"))
    peer.on("release", lambda r: r.fail("sandbox_lost"))
    with pytest.raises(ZeroDivisionError):
        with client.acquire("t"):
            raise ZeroDivisionError
    assert peer.of("release")


def test_a_borrowed_sandbox_knows_its_id_without_asking(peer, client):
    assert client.sandbox("foo").id == "2c26b46b68ffc68f"
    assert client.sandbox("foo", user="alice").id == hashlib.sha256(b"alice:foo").hexdigest()[:16]
    assert [x.op for x in peer.requests] == ["hello"]


def test_file_operations_return_what_the_reply_says(peer, sandbox):
    peer.on("read_file", lambda r: r.reply_parts({"content": b"\xc3\xa4\r\n\xff"}))
    peer.on("write_file", lambda r: r.reply(bytes=len(r.parts["content"])))
    peer.on("update_file", lambda r: r.reply(bytes=len(r.parts["content"])))
    peer.on("str_replace", lambda r: r.reply(replacements=2))
    peer.on("reset_session", lambda r: r.reply(session=3))
    text = sandbox.read_file("f", start_line=1, end_line=2)
    assert text == "ä\r\n\udcff"
    assert sandbox.write_file("f", text, append=True) == 5
    assert peer.of("write_file")[0].parts["content"] == b"\xc3\xa4\r\n\xff"
    assert sandbox.write_file("f", b"") == 0
    assert sandbox.update_file("f", io.BytesIO(b"abc")) == 3
    assert sandbox.str_replace("f", "old", b"new", replace_all=True) == 2
    assert peer.of("str_replace")[0].parts == {"old": b"old", "new": b"new"}
    assert sandbox.reset_session() == 3


def test_listings_become_objects(peer, sandbox):
    rows = [{"path": "/a/", "type": "directory"}, {"path": "/a/ä", "type": "file", "size": 3}]
    peer.on("list_dir", lambda r: rows_reply(r, rows, truncated=True))
    peer.on("glob", lambda r: rows_reply(r, [{"path": "/a"}], truncated=True))
    line = {"path": "/a", "line_number": 7, "line": "int main"}
    peer.on("grep", lambda r: rows_reply(r, [line], truncated=False, skipped_files=2))
    listing = sandbox.list_dir()
    assert listing == [corral.Entry("/a", "directory"), corral.Entry("/a/ä", "file", 3)]
    assert listing.truncated
    assert sandbox.glob(".", "**/*") == corral.GlobResult(["/a"], True)
    found = [corral.Match("/a", 7, "int main")]
    assert sandbox.grep(".", "main") == corral.GrepResult(found, False, skipped_files=2)


def test_every_field_that_the_client_sends_is_one_that_the_table_of_ops_knows(peer, client):
    golden = Path(__file__).parents[3] / "tests" / "golden" / "accepted.jsonl"
    known = {}
    for line in golden.read_text().splitlines():
        header = json.loads(line)["header"]
        known.setdefault(header["op"], set()).update(header)
    for op in known:
        peer.on(op, lambda r: r.fail("internal"))
    call_everything(client, knows_result="result" in known)
    sent = {x.op for x in peer.requests}
    assert set(known) - sent == {"ping", "input", "data", "ack"}  # The other tests send these.
    for request in peer.requests:
        targeted = "thread" in known[request.op] or request.op == "result"
        target = {"sandbox", "thread", "user", "pool"} if targeted else set()
        assert set(request.header) <= known[request.op] | target, request.op


def call_everything(client, knows_result):
    x = client.sandbox("t", user="u", pool="p")
    common = {"timeout": 1.0}
    command = {"queue_timeout": 1, "env": {"A": "b"}, "cwd": "/", "key": "k", "want": ["output"]}
    calls = [
        lambda: client.acquire("t", "u", "p", 1),
        lambda: client.get("2c26b46b"),
        lambda: client.list(pool="p", state="parked", user="u"),
        lambda: client.destroy("2c26b46b", True, True),
        lambda: client.release_all(),
        lambda: client.stats(),
        lambda: client.reload(),
        lambda: client.cancel("1"),
        lambda: x.cancel(),
        lambda: x.exec("x", stdin="y", max_output_chars=1, **common, **command),
        lambda: x.exec_stream("x", stdin_open=True, **common, **command).result(),
        lambda: x.reset_session(),
        lambda: x.read_file("f", start_line=1, end_line=2, **common),
        lambda: x.download_file("f", offset=1, length=2, **common),
        lambda: x.write_file("f", "c", append=True, **common),
        lambda: x.write_file("f", bytes(17 * MIB)),
        lambda: x.update_file("f", "c", **common),
        lambda: x.str_replace("f", "a", "b", replace_all=True, **common),
        lambda: x.list_dir("d", max_depth=1, all=True, **common),
        lambda: x.glob("d", "*", include_dirs=True, max_results=1, all=True, **common),
        lambda: x.grep("d", "x", glob="*", literal=True, case_sensitive=True, all=True, **common),
    ]
    kept = [
        lambda: client.result("1", max_output_chars=1, want=["output"]),
        lambda: client.result(key="k", thread="t", user="u", pool="p"),
        lambda: x.result("k", max_output_chars=1, want=["output"]),
    ]
    for call in calls + (kept if knows_result else []):
        with pytest.raises(corral.Internal):
            call()


class Upload:
    """Takes an upload, granting `step` bytes at a time."""

    def __init__(self, step):
        self.step = step
        self.data = bytearray()
        self.outstanding = 0
        self.sequence = []
        self.request = None

    def begin(self, request):
        assert "parts" not in request.header and not request.payload
        self.request = request
        self.grant()

    def grant(self):
        self.outstanding += self.step
        self.request.event("credit", bytes=self.step)

    def take(self, data):
        assert data.header["re"] == self.request.id
        assert len(data.payload) <= min(_wire.DATA_BYTES, self.outstanding)
        self.sequence.append(data.header["seq"])
        self.data += data.payload
        self.outstanding -= len(data.payload)
        if data.header["eof"]:
            self.request.reply(bytes=len(self.data))
        elif self.outstanding == 0:
            self.grant()


@pytest.mark.parametrize("op", ["write_file", "update_file"])
def test_content_over_a_message_is_sent_as_credit_is_granted(peer, sandbox, op):
    content = bytes(range(256)) * (17 * 4096) + b"end"
    upload = Upload(300_000)
    peer.on(op, upload.begin)
    peer.on("data", upload.take)
    assert getattr(sandbox, op)("f", content) == len(content)
    assert upload.data == content
    assert upload.sequence == list(range(len(upload.sequence)))
    assert peer.of(op)[0].header["size"] == len(content)


def test_a_file_object_is_sent_from_where_it_stands(peer, sandbox):
    source = io.BytesIO(b"skipped" + bytes(16 * MIB) + b"end")
    source.seek(7)
    upload = Upload(MIB)
    peer.on("write_file", upload.begin)
    peer.on("data", upload.take)
    assert sandbox.write_file("f", source) == 16 * MIB + 3
    assert upload.data == bytes(16 * MIB) + b"end"


def test_content_of_exactly_a_message_is_one(peer, sandbox):
    peer.on("write_file", lambda r: r.reply(bytes=len(r.parts["content"])))
    assert sandbox.write_file("f", bytes(16 * MIB)) == 16 * MIB
    assert not peer.of("data")


def test_an_upload_that_is_refused_on_the_way_stops(peer, sandbox):
    peer.on("write_file", lambda r: r.event("credit", bytes=MIB))
    peer.on("data", lambda r: peer.of("write_file")[0].fail("no_space", "the disk is full"))
    with pytest.raises(corral.NoSpace):
        sandbox.write_file("f", bytes(20 * MIB))
    assert len(peer.of("data")) <= 4


def test_a_source_that_ends_early_is_said_to_the_daemon_too(peer, sandbox):
    class Short(io.BytesIO):
        def seek(self, offset, whence=0):
            return super().seek(offset, whence) + (5 if whence == 2 else 0)

    peer.on("write_file", lambda r: r.event("credit", bytes=64 * MIB))
    with pytest.raises(corral.InvalidRequest, match="ended after 16777216 of 16777221"):
        sandbox.write_file("f", Short(bytes(16 * MIB)))
    with peer.changed:
        assert peer.changed.wait_for(lambda: any(x.header["eof"] for x in peer.of("data")), 10)
    assert sum(len(x.payload) for x in peer.of("data")) < 16 * MIB + 5


def send_in_chunks(request, content, **final):
    for seq, (at, piece) in enumerate(pieces(content, 256 * 1024)):
        request.event("chunk", piece, stream="content", seq=seq, offset=at)
    request.reply(**{"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **final})


def test_a_large_reply_is_put_together_from_its_chunks(peer, sandbox):
    content = bytes(range(256)) * 8192
    peer.on("download_file", lambda r: send_in_chunks(r, content))
    assert sandbox.download_file("f") == content
    peer.on("read_file", lambda r: send_in_chunks(r, b"text\n" * 100_000))
    assert sandbox.read_file("f") == "text\n" * 100_000


def test_each_chunk_of_a_large_reply_is_acknowledged_so_that_the_next_may_come(peer, sandbox):
    content = bytes(range(256)) * 8192
    rest = iter(enumerate(pieces(content, 256 * 1024)))

    def send_next(_):
        request = peer.of("download_file")[0]
        seq, (at, piece) = next(rest, (None, (0, b"")))
        if seq is None:
            request.reply(size=len(content))
        else:
            request.event("chunk", piece, stream="content", seq=seq, offset=at)

    peer.on("download_file", send_next)
    peer.on("ack", send_next)
    assert sandbox.download_file("f") == content
    assert [x.header["seq"] for x in peer.of("ack")] == list(range(8))


def test_a_download_goes_to_a_file_object_or_a_path(peer, sandbox, tmp_path):
    content = bytes(range(256)) * 4096
    peer.on("download_file", lambda r: send_in_chunks(r, content))
    out = io.BytesIO()
    assert sandbox.download_file("f", out) == len(content)
    assert out.getvalue() == content
    assert sandbox.download_file("f", tmp_path / "f") == len(content)
    assert (tmp_path / "f").read_bytes() == content
    small = b"small"
    digest = hashlib.sha256(small).hexdigest()
    peer.on("download_file", lambda r: r.reply_parts({"content": small}, size=5, sha256=digest))
    assert sandbox.download_file("f", str(tmp_path / "f")) == 5
    assert (tmp_path / "f").read_bytes() == small


def test_a_download_that_fails_leaves_the_old_file_and_no_other(peer, sandbox, tmp_path):
    (tmp_path / "f").write_text("old")

    def fail_half_way(request):
        request.event("chunk", b"half", stream="content", seq=0, offset=0)
        request.fail("sandbox_lost")

    peer.on("download_file", fail_half_way)
    with pytest.raises(corral.SandboxLost):
        sandbox.download_file("f", tmp_path / "f")
    peer.on("download_file", lambda r: send_in_chunks(r, b"x" * MIB, sha256="0" * 64))
    with pytest.raises(corral.Internal, match="checksum"):
        sandbox.download_file("f", tmp_path / "f")
    assert [x.name for x in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_text() == "old"


def test_a_hole_in_a_large_reply_is_an_error_and_never_content(peer, sandbox):
    def with_a_hole(request):
        request.event("chunk", b"ab", stream="content", seq=0, offset=0)
        request.event("chunk", b"ef", stream="content", seq=1, offset=4)
        request.reply()

    peer.on("download_file", with_a_hole)
    with pytest.raises(corral.Internal, match="at 4 came where 2 was due"):
        sandbox.download_file("f")


def test_a_range_is_not_held_against_the_checksum_of_the_file(peer, sandbox):
    peer.on("download_file", lambda r: r.reply_parts({"content": b"b"}, size=3, sha256="0" * 64))
    assert sandbox.download_file("f", offset=1, length=1) == b"b"


def stream_of(*chunks, **final):
    def answer(request):
        request.event("queued")
        request.event("started")
        for seq, (stream, data, offset, gap) in enumerate(chunks):
            more = {"gap": gap} if gap else {}
            request.event("chunk", data, stream=stream, seq=seq, offset=offset, **more)
        exec_reply(request, **final)

    return answer


def test_a_stream_gives_chunks_as_they_come_and_then_the_result(peer, sandbox):
    chunks = [("stdout", b"a\xff", 0, 0), ("stderr", b"e", 0, 0), ("stdout", b"z", 102, 100)]
    peer.on("exec", stream_of(*chunks, exit_code=3))
    stream = sandbox.exec_stream("x")
    assert list(stream) == [corral.Chunk(*x) for x in chunks]
    assert stream.result().exit_code == 3
    assert stream.result().exit_code == 3
    assert list(stream) == []
    assert peer.of("exec")[0].header["stream"] is True
    assert "stdin_open" not in peer.of("exec")[0].header


def test_chunks_are_acknowledged_as_they_are_consumed(peer, sandbox):
    held = []
    peer.on("exec", lambda r: (stream_of_two(r), held.append(r)))
    chunks = iter(sandbox.exec_stream("x"))
    next(chunks)
    assert peer.wait_for("ack").header.items() >= {"op": "ack", "seq": 0}.items()
    next(chunks)
    assert peer.wait_for("ack", 2).header["seq"] == 1
    assert peer.of("ack")[1].header["re"] == held[0].id


def stream_of_two(request):
    request.event("chunk", b"a", stream="stdout", seq=0, offset=0)
    request.event("chunk", b"b", stream="stdout", seq=1, offset=1)


def test_the_result_of_a_stream_that_nobody_read_is_there_all_the_same(peer, sandbox):
    peer.on("exec", stream_of(("stdout", b"x" * 1000, 0, 0)))
    assert sandbox.exec_stream("x").result().ok


def test_a_stream_that_fails_raises_from_the_iteration_and_from_the_result(peer, sandbox):
    peer.on("exec", lambda r: (stream_of_two(r), r.fail("sandbox_lost", "it died")))
    stream = sandbox.exec_stream("x")
    with pytest.raises(corral.SandboxLost):
        list(stream)
    with pytest.raises(corral.SandboxLost):
        stream.result()


def test_a_running_stream_is_cancelled_and_says_so(peer, sandbox):
    peer.on("exec", ignore)
    peer.on("cancel", lambda r: (r.reply(cancelled=True), cancelled_reply(peer)))
    stream = sandbox.exec_stream("sleep 1000")
    assert stream.cancel()
    assert stream.result().cancelled
    assert not stream.cancel()
    assert peer.of("cancel")[0].header["request"] == stream.request_id


def cancelled_reply(peer):
    exec_reply(peer.of("exec")[0], exit_code=None, cancelled=True)


def test_leaving_a_stream_early_cancels_it(peer, sandbox):
    peer.on("exec", stream_of_two)
    with sandbox.exec_stream("x") as stream:
        for chunk in stream:
            assert chunk.data == b"a"
            break
    assert peer.wait_for("cancel").header["request"] == stream.request_id
    with pytest.raises(corral.ClientClosed, match="left before"):
        stream.result()


def test_input_is_sent_in_pieces_and_closed(peer, sandbox):
    peer.on("exec", ignore)
    peer.on("input", lambda r: r.reply(bytes=len(r.parts.get("stdin", b""))))
    stream = sandbox.exec_stream("cat", stdin_open=True)
    assert peer.wait_for("exec").header["stdin_open"] is True
    assert stream.send_input("ä") == 2
    assert stream.send_input(bytes(2 * MIB + 1), eof=True) == 2 * MIB + 1
    stream.close_input()
    sent = [(len(x.parts.get("stdin", b"")), x.header.get("eof")) for x in peer.of("input")]
    assert sent == [(2, None), (MIB, None), (MIB, None), (1, True), (0, True)]
    assert {x.header["request"] for x in peer.of("input")} == {stream.request_id}


def test_input_to_a_command_that_has_ended_is_an_error(peer, sandbox):
    peer.on("exec", ignore)
    peer.on("input", lambda r: r.fail("invalid_request", "no such exec"))
    with pytest.raises(corral.InvalidRequest):
        sandbox.exec_stream("true", stdin_open=True).send_input("x")


def test_threads_stream_from_one_client_without_mixing(peer, client):
    def answer(request):
        name = request.parts["command"]
        for i in range(50):
            request.event("chunk", name, stream="stdout", seq=i, offset=i * len(name))
        exec_reply(request)

    peer.on("exec", answer)
    barrier = threading.Barrier(8)

    def read(i):
        barrier.wait()
        return b"".join(x.data for x in client.sandbox("t").exec_stream(f"<{i}>"))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [f"<{i}>".encode() * 50 for i in range(8)]

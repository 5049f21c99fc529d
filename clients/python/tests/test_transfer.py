"""File transfers: both local ends, what waits in between, and bounded memory."""

import io
import os
import tracemalloc
from hashlib import sha256

import pytest
from support.scripted_daemon import pieces

import corral
from corral import _wire
from corral._spool import Spool, Spooled
from corral._wire import Message

MIB = 1024 * 1024


@pytest.fixture
def sandbox(client):
    return client.sandbox("t")


def sends(content, step=_wire.DATA_BYTES, **reply):
    """Answers a download with content in chunks."""
    def answer(request):
        for seq, (at, piece) in enumerate(pieces(content, step)):
            request.event("chunk", piece, stream="content", seq=seq, offset=at)
        stated = {"size": len(content), "sha256": sha256(content).hexdigest(), **reply}
        request.reply(**stated)

    return answer


class Receiver:
    """Takes uploads, granting 1 MiB after each MiB."""

    def __init__(self, peer):
        self.data = bytearray()
        peer.on("write_file", self.begin)
        peer.on("data", self.take)

    def begin(self, request):
        self.request = request
        if "size" in request.header:
            request.event("credit", bytes=MIB)
        else:
            self.data += request.parts["content"]
            request.reply(bytes=len(self.data))

    def take(self, data):
        self.data += data.payload
        if data.header["eof"]:
            self.request.reply(bytes=len(self.data))
        elif len(self.data) % MIB == 0:
            self.request.event("credit", bytes=MIB)


def test_a_local_file_is_uploaded_in_pieces_and_says_how_far_it_is(peer, sandbox, tmp_path):
    content = os.urandom(3 * MIB + 5)
    (tmp_path / "f").write_bytes(content)
    receiver, seen = Receiver(peer), []
    assert sandbox.upload(tmp_path / "f", "f", progress=lambda *x: seen.append(x)) == len(content)
    assert receiver.data == content
    assert seen[0] == (_wire.DATA_BYTES, len(content)) and seen[-1] == (len(content),) * 2
    assert [x for x, _ in seen] == sorted({x for x, _ in seen})
    assert max(len(x.payload) for x in peer.of("data")) <= _wire.DATA_BYTES


def test_a_small_file_is_uploaded_in_one_message_and_an_empty_one_too(peer, sandbox, tmp_path):
    receiver = Receiver(peer)
    (tmp_path / "f").write_bytes(b"small")
    assert sandbox.upload(str(tmp_path / "f"), "f") == 5
    assert sandbox.upload(io.BytesIO(b"x"), "f") == 6
    (tmp_path / "f").write_bytes(b"")
    assert sandbox.upload(tmp_path / "f", "f") == 6
    assert receiver.data == b"smallx" and not peer.of("data")


def test_an_upload_that_cannot_be_read_sends_nothing(peer, sandbox, tmp_path):
    with pytest.raises(FileNotFoundError):
        sandbox.upload(tmp_path / "none", "f")
    read, write = os.pipe()
    os.close(write)
    with os.fdopen(read, "rb") as pipe, pytest.raises(corral.InvalidRequest, match="its size"):
        sandbox.upload(pipe, "f")
    assert not peer.of("write_file")


def test_a_callback_that_raises_ends_the_upload_and_tells_the_daemon(peer, sandbox):
    def stop(done, total):
        raise ZeroDivisionError

    Receiver(peer)
    with pytest.raises(ZeroDivisionError):
        sandbox.upload(io.BytesIO(bytes(2 * MIB)), "f", progress=stop)
    assert peer.wait_for("data").header["eof"] is True


def test_a_download_replaces_a_local_file_and_keeps_its_mode(peer, sandbox, tmp_path):
    content = os.urandom(2 * MIB + 1)
    peer.on("download_file", sends(content))
    (tmp_path / "f").write_bytes(b"before")
    (tmp_path / "f").chmod(0o640)
    seen = []
    assert sandbox.download("f", tmp_path / "f", progress=lambda *x: seen.append(x)) == len(content)
    assert (tmp_path / "f").read_bytes() == content
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640
    assert seen[0] == (_wire.DATA_BYTES, None) and seen[-1] == (len(content),) * 2


def test_a_download_goes_to_a_file_object_where_it_stands(peer, sandbox):
    peer.on("download_file", sends(b"content", step=3))
    out = io.BytesIO(b"kept")
    out.seek(0, 2)
    assert sandbox.download("f", out) == 7
    assert out.getvalue() == b"keptcontent"


def broken_sends():
    """Answers that a download must not believe, with what it says."""
    return {
        "another checksum": sends(bytes(MIB), sha256="0" * 64),
        "1048576 of 1048577 bytes": sends(bytes(MIB), size=MIB + 1),
        "came where": lambda r: r.event("chunk", b"x", stream="content", seq=0, offset=9),
        "it died": lambda r: (
            r.event("chunk", b"x", stream="content", seq=0, offset=0),
            r.fail("sandbox_lost", "it died"),
        ),
    }


@pytest.mark.parametrize("what", broken_sends())
def test_a_download_that_fails_leaves_the_local_file_as_it_was(peer, sandbox, tmp_path, what):
    peer.on("download_file", broken_sends()[what])
    (tmp_path / "f").write_bytes(b"before")
    with pytest.raises(corral.CorralError, match=what):
        sandbox.download("f", tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["f"]


def test_a_local_directory_that_is_not_there_is_told_at_once(peer, sandbox, tmp_path):
    with pytest.raises(FileNotFoundError):
        sandbox.download("f", tmp_path / "none" / "f")
    assert not peer.of("download_file")


def test_a_slow_reader_costs_a_download_no_memory(peer, client):
    """All of it has arrived before the first piece is written."""
    size = 64 * MIB
    peer.on("download_file", sends(bytes(size)))

    class Slow(io.RawIOBase):
        begun = False

        def writable(self):
            return True

        def write(self, piece):
            if not self.begun:
                self.begun = True
                client.ping()  # Its answer comes behind all chunks.
                held.append(tracemalloc.get_traced_memory()[0] - before)
            return len(piece)

    held = []
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        assert client.sandbox("t").download("f", Slow()) == size
        assert held[0] < 20 * MIB
    finally:
        tracemalloc.stop()


def test_payloads_over_the_limit_wait_in_a_file_and_come_back_in_order():
    spool = Spool(limit=10)
    sent = [Message({"seq": i}, bytes([i]) * 4) for i in range(6)]
    kept = [spool.put(x) for x in sent]
    assert [isinstance(x, Spooled) for x in kept] == [False, False, True, True, True, True]
    assert [spool.take(x) for x in kept] == sent
    assert spool.put(sent[0]) is sent[0]


def test_the_file_of_a_spool_is_used_again_once_it_was_read():
    spool = Spool(limit=0)
    for i in range(3):
        first, second = spool.put(Message({}, b"a" * 9)), spool.put(Message({}, b"b"))
        assert (first.offset, second.offset) == (0, 9)
        assert spool.take(first).payload == b"a" * 9
        assert spool.take(second).payload == b"b"

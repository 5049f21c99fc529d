"""A client whose daemon goes away and comes back, over real sockets. What is decided, and when, is
in test_link.py."""

import io
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest
from support.keyed_guest import KeyedGuest
from support.scripted_daemon import ScriptedDaemon, exec_reply, ignore, pieces

import corral

MIB = 1024 * 1024


class Daemons:
    """One daemon after the other at one endpoint."""

    def __init__(self, run_dir):
        self.path = f"{run_dir}/s"
        self.boots = 0
        self.now = None
        self.start()

    def start(self, boot=None, **handlers):
        self.boots += 1
        self.now = ScriptedDaemon(self.path, boot or f"boot-{self.boots}", handlers)
        return self.now

    def stop(self):
        self.now.stop()

    def serve(self, guest):
        for op, handler in guest.handlers().items():
            self.now.on(op, handler)

    def restart(self, boot=None, **handlers):
        """As killed and started again; under the same boot it is as if the connection broke."""
        self.stop()
        return self.start(boot, **handlers)


@pytest.fixture
def daemons(run_dir):
    x = Daemons(run_dir)
    yield x
    x.stop()


@pytest.fixture
def client(daemons):
    with corral.Client(daemons.now.endpoint, name="worker", timeout=20) as x:
        yield x


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as x:
        yield x


def test_the_client_comes_back_under_the_same_name_and_instance(daemons, client):
    first = daemons.now.wait_for("hello").header
    second = daemons.restart().wait_for("hello").header
    assert (first["client"], first["instance"]) == (second["client"], second["instance"])
    assert client.ping()["boot"] == "boot-2" and client.server.boot == "boot-2"


def test_a_finished_keyed_exec_gets_its_result_from_the_next_daemon(daemons, client, pool):
    waiting = pool.submit(client.sandbox("t").exec, "make", key="k")
    daemons.now.wait_for("exec")
    next_one = daemons.restart(result=lambda r: exec_reply(r, "made", state="finished"))
    assert waiting.result(20).output == "made"
    assert not next_one.of("exec")
    assert next_one.of("result")[0].header["sandbox"] == client.sandbox("t").id


def test_a_running_keyed_exec_is_joined_and_one_that_never_came_is_sent(daemons, client, pool):
    guest = KeyedGuest()
    daemons.serve(guest)
    joined = pool.submit(client.sandbox("t").exec, "running", key="k1")
    daemons.now.wait_for("exec")
    daemons.now.on("exec", ignore)
    fresh = pool.submit(client.sandbox("t").exec, "lost on the way", key="k2")
    daemons.now.wait_for("exec", 2)
    daemon = daemons.restart(**guest.handlers())
    daemon.wait_for("exec", 2)
    daemon.run(lambda: (guest.finish("k1"), guest.finish("k2")))
    assert (joined.result(20).output, fresh.result(20).output) == ("running", "lost on the way")
    assert sorted(guest.runs) == ["lost on the way", "running"]


def test_execs_without_a_key_and_writes_are_not_known_to_have_run(daemons, client, pool):
    sandbox = client.sandbox("t")
    calls = [
        pool.submit(sandbox.exec, "make"),
        pool.submit(sandbox.write_file, "f", "x"),
        pool.submit(sandbox.upload, io.BytesIO(bytes(2 * MIB)), "f"),
        pool.submit(sandbox.exec_stream("make").result),
    ]
    daemons.now.wait_for("exec", 2)
    daemons.now.wait_for("write_file", 2)
    next_one = daemons.restart()
    for x in calls:
        with pytest.raises(corral.DaemonRestarted, match="the daemon restarted") as caught:
            x.result(20)
        assert caught.value.details["started"] == "unknown" and not caught.value.retryable
    client.ping()
    assert {x.op for x in next_one.requests} <= {"hello", "ping", "data"}


def test_reads_are_answered_by_the_next_daemon(daemons, client, pool):
    waiting = pool.submit(client.sandbox("t").read_file, "f")
    daemons.now.wait_for("read_file")
    daemons.restart(read_file=lambda r: r.reply_parts({"content": b"text"}))
    assert waiting.result(20) == "text"


class Pipe(io.RawIOBase):
    """A file object that can't be set back."""

    def writable(self):
        return True

    def write(self, piece):
        return len(piece)


@pytest.mark.parametrize("boot", ["boot-1", "boot-2"])
def test_a_download_begins_anew(daemons, client, pool, tmp_path, boot):
    content, seen = random.Random(1).randbytes(3 * MIB), []

    def begin(request):
        request.event("chunk", content[:MIB], stream="content", seq=0, offset=0)

    def send(request):
        for seq, (at, piece) in enumerate(pieces(content, MIB)):
            request.event("chunk", piece, stream="content", seq=seq, offset=at)
        request.reply(size=len(content), sha256=sha256(content).hexdigest())

    daemons.now.on("download_file", begin)
    sandbox = client.sandbox("t")
    progress = lambda done, total: seen.append(done)  # noqa: E731
    waiting = pool.submit(sandbox.download, "f", tmp_path / "f", progress=progress)
    unable = pool.submit(sandbox.download, "f", Pipe())
    for i in (1, 2):
        daemons.now.wait_for("ack", i)
    daemons.restart(boot, download_file=send)
    assert waiting.result(20) == len(content)
    assert (tmp_path / "f").read_bytes() == content
    assert seen == [MIB, MIB, 2 * MIB, 3 * MIB, 3 * MIB]
    with pytest.raises(corral.DaemonRestarted, match="can't be set back"):
        unable.result(20)


def test_a_broken_connection_alone_loses_no_exec(daemons, client, pool):
    guest = KeyedGuest()
    daemons.serve(guest)
    waiting = [pool.submit(client.sandbox("t").exec, str(i), request_id=f"r{i}") for i in range(4)]
    daemons.now.wait_for("exec", 4)
    daemons.stop()
    handlers = guest.handlers()
    guest.finish("r1")  # Its reply has no connection to go to, so it is retained.
    daemon = daemons.start("boot-1", **handlers)
    assert waiting[1].result(20).output == "1"
    daemon.wait_for("result", 4)
    for i in (0, 2, 3):
        daemon.run(
            lambda i=i: daemon.send_all({"re": f"r{i}", "ok": True, "exit_code": i, "parts": []})
        )
        assert waiting[i].result(20).exit_code == i
    assert len(guest.runs) == 4 and not daemon.of("exec")


def test_a_silent_daemon_is_greeted_on_a_new_connection(run_dir):
    guest = KeyedGuest()
    daemon = ScriptedDaemon(f"{run_dir}/s", handlers={"ping": ignore, **guest.handlers()})
    with corral.Client(daemon.endpoint, heartbeat=0.05, timeout=20) as client:
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.sandbox("t").exec, "make", key="k")
            daemon.wait_for("hello", 2)
            daemon.on("ping", daemon._ping)
            daemon.wait_for("result")
            daemon.run(lambda: (guest.finish(), guest.result(daemon.of("result")[-1])))
            assert waiting.result(20).output == "make"
    first, second = daemon.of("hello")[:2]
    assert first.peer != second.peer and guest.runs == ["make"]
    daemon.stop()


def test_while_the_daemon_is_away_new_calls_wait_and_then_name_it(daemons):
    with corral.Client(daemons.now.endpoint, timeout=0.3) as client:
        daemons.stop()
        for call in (client.stats, lambda: client.sandbox("t").exec("x", key="k")):
            with pytest.raises(corral.DaemonUnreachable) as caught:
                call()
            assert f"the daemon at {daemons.now.endpoint} does not answer" in str(caught.value)


def test_what_became_of_an_exec_can_be_asked(daemons, client):
    def answer(request):
        if request.header.get("key") == "done":
            return exec_reply(request, "made", exit_code=3, state="finished")
        request.reply(state="running" if "request" in request.header else "not_found")

    daemons.now.on("result", answer)
    assert client.result("mine") == corral.KeptResult("running")
    assert client.result(key="k", thread="t", user="u") == corral.KeptResult("not_found")
    state, result = client.sandbox("t").result("done", want=["output"], max_output_chars=9)
    assert (state, result.output, result.exit_code) == ("finished", "made", 3)
    headers = [x.header for x in daemons.now.of("result")]
    assert [set(x) - {"op", "id"} for x in headers] == [
        {"request"},
        {"key", "thread", "user"},
        {"key", "thread", "user", "want", "max_output_chars"},
    ]


def test_two_hundred_keyed_execs_through_dying_daemons_run_once_each(daemons, client):
    """Daemons die at every point: before an exec came, while it ran, and before its reply left."""
    guest, dice = KeyedGuest(), random.Random(7)
    daemons.serve(guest)
    results = {}

    def work(i):
        results[i] = client.sandbox("t").exec(f"command {i}", key=f"key-{i}").output

    workers = [threading.Thread(target=work, args=(i,)) for i in range(200)]
    for x in workers:
        x.start()
    for _ in range(8):
        daemon = daemons.now
        daemon.wait_for("exec", 5, timeout=20)
        count = dice.randrange(20)  # At least 48 are left after all rounds.
        done = threading.Event()

        def finish(count=count, done=done):
            for _ in range(min(count, len(guest.running))):
                guest.finish(dice.choice(guest.running))
            done.set()

        daemon.run(finish)
        done.wait(10)
        daemons.stop()
        daemons.start(**guest.handlers())
    daemon = daemons.now
    daemon.on("exec", lambda r: (guest.exec(r), guest.running and guest.finish()))
    daemon.run(lambda: [guest.finish() for _ in list(guest.running)])
    for x in workers:
        x.join(20)
    assert results == {i: f"command {i}" for i in range(200)}
    assert sorted(guest.runs) == sorted(f"command {i}" for i in range(200))

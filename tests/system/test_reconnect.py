"""A client through the ends of its daemon and of its connection: nothing runs twice, no result is
invented, and nobody waits for ever."""

import hashlib
import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import Proxy, eventually, running
from harness.processes import kill

import corral
from corral import errors

EXECS, THREADS = 200, 10


@pytest.fixture
def daemon(new_daemon):
    """One for each test: it is killed."""
    return new_daemon()


@pytest.fixture
def client(daemon):
    with daemon.client(timeout=30) as x:
        yield x


@pytest.fixture
def proxy(daemon):
    with Proxy(f"{daemon.run_dir}/proxy.sock", daemon.socket) as x:
        yield x


@pytest.fixture
def pool():
    with ThreadPoolExecutor(64) as x:
        yield x


def restart(daemon):
    daemon.kill()
    daemon.start()


def lines_of(box, path="runs"):
    return box.exec(f"cat {path} 2>/dev/null").stdout.decode().split()


# kill -9 of the daemon.


def test_a_keyed_exec_that_runs_through_the_end_of_the_daemon_ends_once(daemon, client, pool):
    box = client.sandbox("t")
    box.exec("X=kept; mkfifo go")
    waiting = pool.submit(box.exec, "echo ran >> runs; read x < go; echo $X $x; exit 3", key="k")
    running(client, box.id)
    restart(daemon)
    eventually(lambda: client.get(box.id), what="the sandbox adopted")
    assert not waiting.done()
    feed(daemon, "t")
    result = waiting.result(30)
    assert (result.stdout, result.exit_code) == (b"kept fed\n", 3)
    assert lines_of(box) == ["ran"]


def feed(daemon, thread):
    """Writes to a fifo of a sandbox from outside, which its reader waits for."""
    with open(f"{daemon.user_data(thread)}/workspace/go", "w") as fifo:
        fifo.write("fed\n")


def test_a_keyed_exec_that_ended_while_no_daemon_was_there_is_not_run_again(daemon, client, pool):
    box = client.sandbox("t")
    box.exec("mkfifo go")
    waiting = pool.submit(box.exec, "echo ran >> runs; read x < go; echo $x; touch done", key="k")
    running(client, box.id)
    daemon.kill()
    feed(daemon, "t")
    done = f"{daemon.user_data('t')}/workspace/done"
    eventually(lambda: os.path.exists(done), what="the end of the exec")
    daemon.start()
    assert waiting.result(30).stdout == b"fed\n"
    assert lines_of(box) == ["ran"]


def test_an_exec_without_a_key_is_not_known_to_have_run(daemon, client, pool):
    box = client.sandbox("t")
    box.exec("X=kept")
    waiting = pool.submit(box.exec, "echo ran >> runs; sleep 600")
    running(client, box.id)
    stream = client.sandbox("u").exec_stream("echo started; sleep 600")
    assert next(iter(stream)).data == b"started\n"
    restart(daemon)
    for wait in (lambda: waiting.result(30), stream.result):
        with pytest.raises(errors.DaemonRestarted) as caught:
            wait()
        assert caught.value.code == "daemon_restarted"
        assert caught.value.details["started"] == "unknown"
        assert not caught.value.retryable
    for x in (box, client.sandbox("u")):  # It still runs; whoever knows that can end it.
        eventually(x.cancel, what=f"the cancel of what runs in {x.id}")
        assert x.exec("echo on").stdout == b"on\n"
    assert lines_of(box) == ["ran"]


def test_a_session_is_as_it_was_after_the_daemon_died(daemon, client):
    box = client.acquire("t")
    box.exec("X=kept; cd /tmp; f() { echo function; }")
    restart(daemon)
    assert box.exec("echo $X $PWD; f").stdout == b"kept /tmp\nfunction\n"
    assert client.acquire("t").origin in ("discovered", "warm", "active")


def test_a_keyed_exec_whose_sandbox_died_with_the_daemon_is_lost(daemon, client, pool):
    box = client.sandbox("t")
    waiting = pool.submit(box.exec, "sleep 600", key="k")
    running(client, box.id)
    pid = daemon.guest_pid(box.id)
    daemon.kill()
    kill(pid)
    daemon.start()
    with pytest.raises(errors.SandboxLost) as lost:
        waiting.result(30)
    assert lost.value.details["started"] in (True, "unknown") and not lost.value.retryable
    assert box.exec("ls -A").ok


def test_reads_and_lists_go_on_with_the_next_daemon(daemon, client, pool):
    box = client.sandbox("t")
    box.write_file("f", "text")
    daemon.kill()
    calls = [
        pool.submit(box.read_file, "f"),
        pool.submit(lambda: box.glob(".", "f").paths),
        pool.submit(client.get, box.id),
        pool.submit(client.list),
    ]
    daemon.start()
    text, paths, row, rows = (x.result(30) for x in calls)
    assert text == "text" and paths[0].endswith("/f")
    assert row["sandbox"] == rows[0]["sandbox"] == box.id


def test_a_daemon_that_stays_away_is_named(daemon):
    with daemon.client(timeout=0.5) as client:
        daemon.kill()
        with pytest.raises((errors.DaemonUnreachable, errors.DaemonRestarted)):
            client.sandbox("t").exec("true")  # It may have been under way already.
        begin = time.monotonic()
        with pytest.raises(errors.DaemonUnreachable, match=f"{daemon.endpoint} does not answer"):
            client.sandbox("t").exec("true")
        assert time.monotonic() - begin < 10
    daemon.start()


def test_a_stopped_daemon_that_goes_on_has_lost_nothing(daemon, proxy, pool):
    """Three pings are missed, and the same daemon answers on the new connection."""
    with make_client(proxy, heartbeat=0.2) as client:
        box = client.acquire("t")
        waiting = pool.submit(box.exec, "echo ran >> runs; sleep 1; echo done")
        running(client, box.id)
        daemon.signal(signal.SIGSTOP)
        try:
            eventually(lambda: proxy.accepted > 1, what="another connection")
        finally:
            daemon.signal(signal.SIGCONT)
        assert waiting.result(30).stdout == b"done\n"
        assert lines_of(box) == ["ran"]


def all_of(client, pool):
    """EXECS keyed execs over THREADS sandboxes; their results by number."""

    def run(i):
        box = client.sandbox(f"t{i % THREADS}")
        return box.exec(f"echo {i} >> runs; sleep 0.0{i % 7}; echo result-{i}", key=f"key-{i}")

    return {i: pool.submit(run, i) for i in range(EXECS)}


def done(futures):
    return sum(x.done() for x in futures.values())


def ends_once(client, futures):
    """All succeed, and each has run exactly once, in its own sandbox."""
    for i, x in futures.items():
        assert x.result(60).stdout == f"result-{i}\n".encode()
    counts = Counter()
    for t in range(THREADS):
        lines = lines_of(client.sandbox(f"t{t}"))
        assert {int(x) % THREADS for x in lines} == {t}
        counts.update(lines)
    assert counts == Counter({str(i): 1 for i in range(EXECS)})


@pytest.mark.limit(180)
def test_two_hundred_keyed_execs_through_kills_of_the_daemon_run_once_each(daemon, client, pool):
    dice = random.Random(3)
    for t in range(THREADS):
        client.sandbox(f"t{t}").exec("true")
    futures = all_of(client, pool)
    for part in (1, 2, 3):
        goal = EXECS * part // 5 + dice.randrange(10)
        eventually(lambda: done(futures) >= goal, 60, f"{goal} results")
        restart(daemon)
    ends_once(client, futures)


# The connection breaks, the daemon stays.


@pytest.mark.limit(120)
def test_two_hundred_keyed_execs_through_broken_connections_run_once_each(daemon, proxy, pool):
    with daemon.client() as direct:
        for t in range(THREADS):
            direct.sandbox(f"t{t}").exec("true")
    with make_client(proxy) as client:
        futures = all_of(client, pool)
        for part in range(1, 6):
            goal = EXECS * part // 7
            eventually(lambda: done(futures) >= goal, 60, f"{goal} results")
            proxy.cut()
        ends_once(client, futures)
    assert proxy.accepted >= 6


def make_client(proxy, **options):
    return corral.Client(proxy.endpoint, **{"timeout": 30, **options})


def test_a_broken_connection_loses_no_exec(daemon, client, proxy, pool):
    """Not even one without a key: it runs on and is answered on the next connection."""
    with make_client(proxy) as mine:
        slow = mine.sandbox("slow")
        slow.exec("mkfifo go")
        running_on = pool.submit(slow.exec, "echo ran >> runs; read x < go; echo $x")
        running(client, slow.id)
        proxy.cut()
        eventually(lambda: proxy.accepted == 2, what="another connection")
        feed(daemon, "slow")
        assert running_on.result(30).stdout == b"fed\n"
        assert lines_of(slow) == ["ran"]
        assert mine.server.boot == client.server.boot


def test_a_lease_outlives_a_broken_connection(client, proxy):
    with make_client(proxy, heartbeat=0.5) as mine, mine.acquire("t") as box:
        for i in range(5):
            proxy.cut()
            assert box.exec("echo on", key=f"k{i}").stdout == b"on\n"  # Perhaps lost on the way.
        assert client.get(box.id)["state"] == "leased"
    assert client.get(box.id)["state"] == "parked"


def test_a_download_through_broken_connections_is_whole(client, proxy, tmp_path):
    box = client.sandbox("t")
    box.exec("head -c 60M /dev/urandom > f")
    digest = box.exec("sha256sum < f").stdout.decode().split()[0]
    cuts = {8 << 20, 30 << 20}

    def progress(done, total):
        for at in sorted(cuts):
            if done >= at:
                cuts.discard(at)
                proxy.cut()

    with make_client(proxy) as mine:
        assert mine.sandbox("t").download("f", tmp_path / "f", progress=progress) == 60 << 20
    assert hashlib.sha256((tmp_path / "f").read_bytes()).hexdigest() == digest
    assert not cuts and os.listdir(tmp_path) == ["f"]


# What can be asked.


def test_what_became_of_an_exec_can_be_asked_by_any_client(daemon, client, pool):
    box = client.acquire("t")
    box.exec("mkfifo go")
    assert box.result("k").state == "not_found"
    waiting = pool.submit(box.exec, "read x < go; echo $x; exit 5", key="k", request_id="mine")
    running(client, box.id)
    with daemon.client() as other:
        assert other.result(key="k", thread="t").state == "running"
        assert client.result("mine").state == "running"
        assert other.result("mine").state == "not_found"
        feed(daemon, "t")
        waiting.result(30)
        state, result = other.result(key="k", sandbox=box.id)
        assert (state, result.stdout, result.exit_code) == ("finished", b"fed\n", 5)
    with pytest.raises(errors.InvalidRequest):
        client.result()


def test_a_key_stands_for_one_command(client):
    box = client.acquire("t")
    first = box.exec("echo once >> runs; echo out", key="k")
    again = box.exec("echo once >> runs; echo out", key="k")
    assert first.stdout == again.stdout == b"out\n"
    with pytest.raises(errors.InvalidRequest):
        box.exec("echo other", key="k")
    assert lines_of(box) == ["once"]


def test_many_waiters_of_one_key_get_one_run(client, pool):
    box = client.sandbox("t")
    box.exec("true")
    command = "echo ran >> runs; sleep 0.2; echo out"
    waiting = [pool.submit(box.exec, command, key="k") for _ in range(20)]
    assert {x.result(30).stdout for x in waiting} == {b"out\n"}
    assert lines_of(box) == ["ran"]

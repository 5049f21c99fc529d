"""The client against a scripted peer: connecting, threads, forks, and a daemon that fails."""

import gc
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.scripted_daemon import ScriptedDaemon, echo_exec, exec_reply, ignore, rows_reply

import corral


def in_thread(work):
    """Runs `work` in a thread; what it returns or raises."""
    return ThreadPoolExecutor(1).submit(work)


def test_connecting_says_who_it_is_and_keeps_what_the_daemon_says(peer):
    with corral.Client(peer.endpoint, name="worker-1", heartbeat=2.5) as client:
        hello = peer.wait_for("hello").header
        assert hello["client"] == "worker-1"
        assert hello["heartbeat_ms"] == 2500
        assert len(hello["instance"]) == 32
        assert client.server.server == "scripted"
        assert client.server.boot == "boot-1"
        assert client.server.pools == ("default",)
        assert client.server.limits["header"] == 65536


def test_every_client_is_an_instance_and_a_name_of_its_own(peer):
    with corral.Client(peer.endpoint), corral.Client(peer.endpoint):
        first, second = (x.header for x in peer.of("hello"))
        assert first["instance"] != second["instance"]
        assert first["client"] != second["client"]


def test_a_path_is_an_endpoint_too(peer):
    with corral.Client(peer.endpoint[len("ipc://") :]) as client:
        assert client.ping() == {"boot": "boot-1", "now": 0}


def test_the_endpoint_defaults_to_the_environment_and_then_to_the_users_socket(monkeypatch):
    monkeypatch.setenv("CORRAL_ENDPOINT", "tcp://10.0.0.1:7000")
    assert corral.default_endpoint() == "tcp://10.0.0.1:7000"
    monkeypatch.delenv("CORRAL_ENDPOINT")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    monkeypatch.setattr(os, "geteuid", lambda: 7)
    assert corral.default_endpoint() == "ipc:///run/user/7/corral/corral.sock"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert corral.default_endpoint() == "ipc:///tmp/corral-7/corral.sock"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert corral.default_endpoint() == "ipc:///run/corral/corral.sock"


def test_no_daemon_is_an_error_that_says_what_to_check(run_dir):
    with pytest.raises(corral.DaemonUnreachable) as caught:
        corral.Client(f"ipc://{run_dir}/none", timeout=0.05)
    assert f"{run_dir}/none" in str(caught.value)
    assert "there is no such socket" in str(caught.value)
    assert isinstance(caught.value, ConnectionError)


def test_a_daemon_that_says_nothing_is_unreachable(peer):
    peer.on("hello", ignore)
    with pytest.raises(corral.DaemonUnreachable, match="within 0.05 s"):
        corral.Client(peer.endpoint, timeout=0.05)


def test_a_daemon_that_comes_later_is_found(run_dir):
    connecting = in_thread(lambda: corral.Client(f"ipc://{run_dir}/s", timeout=10))
    daemon = ScriptedDaemon(f"{run_dir}/s")
    with connecting.result(10) as client:
        assert client.ping()["boot"] == "boot-1"
    daemon.stop()


def test_a_refused_hello_raises_what_the_daemon_said(peer):
    peer.on("hello", lambda r: r.fail("busy", "the name is taken"))
    with pytest.raises(corral.Busy, match="the name is taken"):
        corral.Client(peer.endpoint, name="taken")


@pytest.mark.parametrize("endpoint", ["nonsense", "ipc://" + "x" * 200, "foo://bar"])
def test_an_endpoint_that_is_none_is_a_value_error(endpoint):
    with pytest.raises(ValueError, match="no usable endpoint"):
        corral.Client(endpoint)


def test_closing_twice_is_fine_and_a_closed_client_says_so(peer):
    client = corral.Client(peer.endpoint)
    client.close()
    client.close()
    with pytest.raises(corral.ClientClosed):
        client.ping()


def test_closing_ends_what_other_threads_wait_for(peer):
    client = corral.Client(peer.endpoint)
    waiting = in_thread(lambda: client.sandbox("t").exec("sleep 1000"))
    peer.wait_for("exec")
    client.close()
    with pytest.raises(corral.ClientClosed):
        waiting.result(10)


def test_a_client_that_nobody_holds_ends_its_thread(peer):
    before = threading.active_count()
    client = corral.Client(peer.endpoint)
    assert threading.active_count() == before + 1
    del client
    gc.collect()
    assert threading.active_count() == before


def test_threads_share_a_client_and_each_gets_its_own_answer(peer, client):
    peer.on("exec", echo_exec)
    sandbox = client.sandbox("t")

    def many(i):
        return [sandbox.exec(f"{i}-{j}").output for j in range(50)]

    with ThreadPoolExecutor(16) as pool:
        for i, outputs in enumerate(pool.map(many, range(16))):
            assert outputs == [f"{i}-{j}" for j in range(50)]
    ids = [x.id for x in peer.of("exec")]
    assert len(set(ids)) == len(ids) == 800


def test_answers_out_of_order_find_their_requests(peer, client):
    held = []
    peer.on("exec", held.append)
    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(client.sandbox("t").exec, str(i)) for i in range(3)]
        peer.wait_for("exec", 3)
        peer.run(lambda: [echo_exec(x) for x in reversed(held)])
        assert [x.result(10).output for x in running] == ["0", "1", "2"]


def test_a_request_id_in_use_is_refused_here(peer, client):
    sandbox = client.sandbox("t")
    running = in_thread(lambda: sandbox.exec("sleep", request_id="mine"))
    first = peer.wait_for("exec")
    for id in ("mine", "hello", "ping"):
        with pytest.raises(corral.InvalidRequest, match="in use"):
            sandbox.exec("true", request_id=id)
    peer.run(lambda: exec_reply(first))
    assert running.result(10).ok


def test_a_request_id_of_ones_own_never_meets_a_made_one(peer, client):
    peer.on("exec", ignore)
    streams = [client.sandbox("t").exec_stream("x", request_id=str(i)) for i in range(1, 50)]
    peer.on("get", lambda r: r.reply(found=False))
    assert client.get("2c26b46b") is None
    assert len({x.request_id for x in streams} | {peer.of("get")[0].id}) == 50


def test_idle_clients_send_heartbeats(peer):
    with corral.Client(peer.endpoint, heartbeat=0.02):
        peer.wait_for("ping", 5)


def test_without_heartbeats_no_ping_is_sent(peer):
    peer.on("exec", echo_exec)
    with corral.Client(peer.endpoint, heartbeat=0) as client:
        assert peer.wait_for("hello").header["heartbeat_ms"] == 0
        client.sandbox("t").exec("true")
        assert not peer.of("ping")


def test_three_unanswered_pings_end_the_open_requests(peer):
    with corral.Client(peer.endpoint, heartbeat=0.05, timeout=0.3) as client:
        peer.on("ping", ignore)
        waiting = in_thread(lambda: client.sandbox("t").exec("true"))
        peer.wait_for("hello", 2)  # It greets whoever is there now.
        assert len(peer.of("ping")) >= 3
        peer.on("result", lambda r: r.reply(state="not_found"))
        expected = "3 pings unanswered.*is not known"
        with pytest.raises(corral.DaemonRestarted, match=expected) as caught:
            waiting.result(10)
        assert not caught.value.retryable


def test_a_request_that_is_answered_late_but_alive_is_waited_for(peer):
    with corral.Client(peer.endpoint, heartbeat=0.15) as client:
        waiting = in_thread(lambda: client.sandbox("t").exec("sleep 1"))
        request = peer.wait_for("exec")
        peer.wait_for("ping", 4)
        peer.run(lambda: exec_reply(request, "done"))
        assert waiting.result(10).output == "done"


def test_another_boot_ends_the_open_requests(peer):
    with corral.Client(peer.endpoint, heartbeat=0.2) as client:
        waiting = in_thread(lambda: client.sandbox("t").exec("true"))
        peer.wait_for("exec")
        peer.boot = "boot-2"
        with pytest.raises(corral.DaemonRestarted, match="the daemon restarted"):
            waiting.result(10)
        peer.on("exec", echo_exec)
        assert client.sandbox("t").exec("again").output == "again"
        assert client.server.boot == "boot-2"


def test_a_daemon_that_stays_away_ends_the_open_requests_after_the_clients_timeout(peer):
    with corral.Client(peer.endpoint, timeout=0.2) as client:
        waiting = in_thread(lambda: client.sandbox("t").exec("true"))
        peer.wait_for("exec")
        peer.stop()
        expected = "closed the connection, and none answered for 0.2 s"
        with pytest.raises(corral.DaemonRestarted, match=expected) as caught:
            waiting.result(10)
        assert caught.value.details["started"] == "unknown"


def test_requests_made_while_the_daemon_is_away_reach_the_next_one_after_a_hello(run_dir):
    first = ScriptedDaemon(f"{run_dir}/s")
    with corral.Client(first.endpoint, timeout=10) as client:
        running = in_thread(lambda: client.sandbox("t").exec("lost"))
        first.wait_for("exec")
        first.stop()
        waiting = in_thread(lambda: client.sandbox("t").exec("kept"))
        second = ScriptedDaemon(f"{run_dir}/s", boot="boot-2", handlers={"exec": echo_exec})
        with pytest.raises(corral.DaemonRestarted):
            running.result(10)
        assert waiting.result(10).output == "kept"
        assert [x.op for x in second.requests][:2] == ["hello", "exec"]
        assert [x.parts["command"] for x in second.of("exec")] == [b"kept"]
        second.stop()


def test_requests_made_while_the_daemon_stays_away_say_that_it_is_unreachable(peer):
    with corral.Client(peer.endpoint, timeout=0.2) as client:
        peer.stop()
        with pytest.raises((corral.DaemonUnreachable, corral.DaemonRestarted)):
            client.sandbox("t").exec("true")
        with pytest.raises(corral.DaemonUnreachable):
            client.sandbox("t").exec("true")


def test_a_control_request_without_an_answer_is_not_waited_for_for_ever(peer):
    with corral.Client(peer.endpoint, timeout=0.1) as client:
        with pytest.raises(corral.DaemonUnreachable, match="does not answer: nothing within 0.1 s"):
            client.stats()


def test_nonsense_from_the_daemon_harms_no_request(peer, client):
    peer.on("exec", lambda r: [r.daemon.send_raw([r.peer, *x]) for x in nonsense(r.id)])
    assert client.sandbox("t").exec("x").output == "fine"


def nonsense(id):
    good = b'{"re":"%s","ok":true,"exit_code":0,"parts":[["output",4]]}' % id.encode()
    return [
        [b"corral/9", b"{}"],
        [b"corral/1", b"[]"],
        [b"corral/1", b"\xff"],
        [b"corral/1", b"{}"],
        [b"corral/1", b'{"re":["x"]}'],
        [b"corral/1", b'{"re":"unknown","ok":true}'],
        [b"corral/1", good, b"fine"],
    ]


def in_child(work):
    """Runs `work` in a forked child; 0 if it returned True."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        threading.Event().wait(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise AssertionError("the child hung")


def test_a_forked_child_gets_a_connection_of_its_own(peer):
    peer.on("exec", echo_exec)
    with corral.Client(peer.endpoint, name="worker") as client:
        sandbox = client.sandbox("t")
        assert sandbox.exec("parent").output == "parent"
        assert in_child(lambda: sandbox.exec("child").output == "child") == 0
        assert sandbox.exec("parent again").output == "parent again"
        parent, child = (x.header for x in peer.of("hello"))
        assert parent["instance"] != child["instance"]
        assert child["client"].startswith("worker-")
        peers = {x.parts["command"]: x.peer for x in peer.of("exec")}
        assert peers[b"child"] != peers[b"parent"] == peers[b"parent again"]


def test_a_forked_child_never_releases_the_lease_of_its_parent(peer):
    peer.on("acquire", lambda r: r.reply(sandbox="2c26b46b68ffc68f", lease="l1", origin="created"))
    peer.on("release", lambda r: r.reply(remaining=0))
    with corral.Client(peer.endpoint) as client, client.acquire("foo") as sandbox:

        def leave():
            sandbox.release()
            return True

        assert in_child(leave) == 0
        assert not peer.of("release")
    assert [x.header["lease"] for x in peer.of("release")] == ["l1"]


def test_forking_while_other_threads_are_busy_neither_hangs_nor_mixes_answers(peer):
    peer.on("exec", echo_exec)
    with corral.Client(peer.endpoint) as client:
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                assert client.sandbox("t").exec("busy").output == "busy"
            return True

        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(busy) for _ in range(4)]
            codes = [in_child(lambda: client.ping()["boot"] == "boot-1") for _ in range(5)]
            stop.set()
            assert [x.result(10) for x in running] == [True] * 4
        assert codes == [0] * 5


def test_the_daemons_own_requests(peer, client):
    peer.on("list", lambda r: rows_reply(r, [{"sandbox": "a"}, {"sandbox": "b"}]))
    peer.on("stats", lambda r: r.reply(execs=3))
    peer.on("get", lambda r: r.reply(found=True, state="parked"))
    peer.on("destroy", lambda r: r.reply(destroyed=True))
    peer.on("release", lambda r: r.reply(released=2, remaining=0))
    peer.on("cancel", lambda r: r.reply(cancelled=True))
    assert client.list(user="u", state="leased") == [{"sandbox": "a"}, {"sandbox": "b"}]
    assert client.stats() == {"execs": 3}
    assert client.get("2c26b46b") == {"found": True, "state": "parked"}
    assert client.destroy("2c26b46b", force=True, purge=True)
    assert client.release_all() == 2
    assert client.cancel("7")
    assert peer.of("list")[0].header.items() >= {"user": "u", "state": "leased"}.items()
    assert peer.of("destroy")[0].header.items() >= {"force": True, "purge": True}.items()
    assert peer.of("release")[0].header["all"] is True
    assert peer.of("cancel")[0].header["request"] == "7"

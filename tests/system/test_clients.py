"""Who a client is: its hello, its reconnections, and what is kept for it meanwhile."""

import os
import signal
import threading
import time

import pytest
import zmq
from harness import Raw, eventually, never_for, running, traces

from corral import errors

OPTIONS = {"client_queue_bytes": "1MiB"}


def hello(raw, name, instance, heartbeat_ms, id="hello"):
    return raw.call({"op": "hello", "id": id, "client": name, "instance": instance, "heartbeat_ms": heartbeat_ms})[0]


def test_hello_tells_what_a_client_needs_to_know(client):
    info = client.server
    assert info.server.startswith("corral/") and info.pools == ("default",)
    assert info.limits["header"] == 65536 and info.limits["payload"] == 16 << 20
    assert info.limits["transfer"] == 100 << 20 and info.limits["queue"] == 64
    assert info.limits["timeout"] == 86_400_000 and info.limits["heartbeat_ms"] == 3_600_000
    assert client.ping()["boot"] == info.boot


def test_a_client_that_reconnects_keeps_its_leases(daemon, client, thread):
    with Raw(daemon.endpoint) as first:
        assert hello(first, "again", "same", 200)["ok"]
        id = first.call({"op": "acquire", "id": "a", "thread": thread})[0]["sandbox"]
    with Raw(daemon.endpoint) as second:
        assert hello(second, "again", "same", 200)["ok"]
        for i in range(20):
            assert second.call({"op": "ping", "id": f"p{i}"})[0]["ok"]
            assert client.get(id)["state"] == "leased"
            time.sleep(0.1)
        lease = second.call({"op": "release", "id": "r", "sandbox": id})[0]
        assert (lease["remaining"], lease["state"]) == (0, "parked")


def test_a_reply_follows_its_client_to_a_new_connection(daemon, client, thread):
    with Raw(daemon.endpoint) as first, Raw(daemon.endpoint) as second:
        assert hello(first, "moves", "same", 1000)["ok"]
        first.exec("x", "sleep 1; echo done", thread=thread)
        running(client, client.sandbox(thread).id)
        first.close()
        assert hello(second, "moves", "same", 1000)["ok"]
        reply, payload = second.reply("x", timeout=5)
        assert reply["exit_code"] == 0 and payload.startswith(b"done\n")


def test_a_client_that_takes_another_name_leaves_its_leases_to_their_end(daemon, client, thread):
    with Raw(daemon.endpoint) as raw:
        hello(raw, "before", "1", 200)
        id = raw.call({"op": "acquire", "id": "a", "thread": thread})[0]["sandbox"]
        hello(raw, "after", "1", 200, id="h2")
        eventually(lambda: client.get(id)["state"] == "parked", what="the end of the first name's lease")


def test_a_client_that_stops_its_heartbeats_keeps_no_lease(daemon, client, thread):
    with Raw(daemon.endpoint) as raw:
        hello(raw, "quits", "1", 200)
        id = raw.call({"op": "acquire", "id": "a", "thread": thread})[0]["sandbox"]
        hello(raw, "quits", "1", 0, id="h2")
        eventually(lambda: client.get(id)["state"] == "parked", what="the end of its lease")


def test_a_name_is_free_again_when_its_client_is_gone(daemon):
    with Raw(daemon.endpoint) as first, Raw(daemon.endpoint) as second:
        assert hello(first, "wanted", "1", 200)["ok"]
        assert hello(second, "wanted", "2", 200)["error"]["code"] == "busy"
        first.close()
        eventually(lambda: hello(second, "wanted", "2", 200)["ok"], what="the name free")


def test_requests_of_one_client_are_not_anothers(daemon, client, thread):
    """Ids are a client's own: another can neither cancel nor feed what it did not send."""
    with Raw(daemon.endpoint) as mine, Raw(daemon.endpoint) as theirs:
        mine.exec("x", "sleep 1; echo done", thread=thread)
        running(client, client.sandbox(thread).id)
        assert theirs.call({"op": "cancel", "id": "c", "request": "x"})[0]["cancelled"] is False
        assert theirs.error({"op": "input", "id": "i", "request": "x", "eof": True})["code"] == "invalid_request"
        theirs.exec("x", "echo theirs", thread=thread)
        assert mine.reply("x")[1].startswith(b"done\n")
        assert theirs.reply("x")[1].startswith(b"theirs\n")


def test_a_forgotten_client_is_served_again_after_a_hello(daemon, client, sandbox):
    sandbox.exec("head -c 900000 /dev/zero | tr '\\0' x > text")
    deaf = Raw(daemon.endpoint, rcvhwm=1)
    count = 0
    while "client forgotten" not in daemon.log():
        assert count < 300
        deaf.post({"op": "read_file", "id": str(count), "sandbox": sandbox.id, "path": "text"})
        count += 1
        eventually(lambda: client.get(sandbox.id)["usage"]["active"] == 0, what="the replies made")
        time.sleep(0.01)
    while deaf.receive(0.3):
        pass
    deaf.post({"op": "ping", "id": "ignored"})
    assert deaf.receive(0.3) is None
    assert hello(deaf, "deaf", "1", 0)["ok"]
    assert deaf.call({"op": "ping", "id": "again"})[0]["ok"]
    deaf.close()


def test_one_clients_payloads_are_bounded(daemon, client, sandbox):
    with Raw(daemon.endpoint) as raw:
        raw.exec("runs", "sleep 1", sandbox=sandbox.id)
        for i in range(6):
            raw.exec(str(i), "true #" + "x" * (14 << 20), sandbox=sandbox.id)
        assert sandbox.exec("echo served").stdout == b"served\n"
        replies = {x["re"]: x for x, _ in (raw.receive() for _ in range(7))}
    refused = [x["error"]["code"] for x in replies.values() if not x["ok"]]
    assert refused == ["queue_full"] * 2
    assert replies["runs"]["exit_code"] == 0


def test_a_session_in_use_is_not_reset(client, sandbox):
    run = threading.Thread(target=lambda: sandbox.exec("sleep 1"))
    run.start()
    running(client, sandbox.id)
    begin = time.monotonic()
    assert sandbox.reset_session() == 2  # It waits for its turn, as every use of the session does.
    assert time.monotonic() - begin > 0.5
    run.join()


def test_an_upload_to_a_sandbox_that_dies_is_told(daemon, client, sandbox):
    with Raw(daemon.endpoint) as raw:
        raw.post({"op": "write_file", "id": "w", "sandbox": sandbox.id, "path": "up", "size": 5 << 20})
        assert raw.receive()[0]["event"] == "credit"
        raw.post({"op": "data", "re": "w", "seq": 0, "eof": False}, b"x" * 1000)
        client.destroy(sandbox.id, force=True)
        error = raw.reply("w")[0]["error"]
        assert error["code"] == "sandbox_lost"
        raw.post({"op": "data", "re": "w", "seq": 1, "eof": False}, b"x" * 1000)
        assert raw.call({"op": "ping", "id": "p"})[0]["ok"]


def test_a_download_from_a_sandbox_that_dies_is_told(daemon, client, sandbox):
    sandbox.exec("truncate -s 90M big")
    with Raw(daemon.endpoint, rcvhwm=1) as raw:
        raw.post({"op": "download_file", "id": "d", "sandbox": sandbox.id, "path": "big"})
        assert raw.receive()[0]["event"] == "chunk"
        time.sleep(0.1)
        client.destroy(sandbox.id, force=True)
        assert raw.reply("d")[0]["error"]["code"] == "sandbox_lost"


def test_a_req_socket_works_request_by_request(daemon, thread):
    with Raw(daemon.endpoint, zmq.REQ) as raw:
        assert hello(raw, "req", "1", 60000)["ok"]
        id = raw.call({"op": "acquire", "id": "a", "thread": thread})[0]["sandbox"]
        raw.exec("x", "echo hi", sandbox=id)
        assert raw.receive()[1].startswith(b"hi\n")
        assert raw.call({"op": "release", "id": "r", "all": True})[0]["released"] == 1
        assert raw.call({"op": "destroy", "id": "d", "sandbox": id})[0]["destroyed"]


def test_a_stopped_daemon_costs_a_client_its_patience_only(new_daemon):
    daemon = new_daemon()
    with daemon.client(timeout=1) as client:
        box = client.acquire("a")
        daemon.signal(signal.SIGSTOP)
        try:
            eventually(lambda: traces.state(daemon.pid) == "T", what="the daemon stopped")
            with pytest.raises(errors.DaemonUnreachable):
                client.get(box.id)
        finally:
            daemon.signal(signal.SIGCONT)
        assert box.exec("echo ok").stdout == b"ok\n"


def test_the_client_library_survives_a_fork(daemon, sandbox, thread):
    with daemon.client() as mine:
        assert mine.ping()
        pids = []
        for i in range(3):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    if mine.sandbox(thread).exec(f"echo {i}").stdout == f"{i}\n".encode():
                        status = 0
                finally:
                    os._exit(status)
            pids.append(pid)
        assert [os.waitpid(x, 0)[1] for x in pids] == [0, 0, 0]
        assert mine.sandbox(thread).exec("echo parent").stdout == b"parent\n"


def test_heartbeats_of_the_library_keep_its_leases(daemon, client, thread):
    with daemon.client(heartbeat=0.2) as mine:
        box = mine.acquire(thread)
        never_for(1.5, lambda: client.get(box.id)["state"] != "leased", "the end of the lease")


@pytest.mark.limit(120)
def test_a_worker_of_many_agents_gets_large_results_all_at_once(new_daemon):
    """32 threads share one client; each result has megabytes, and all end at about the same time."""
    daemon, results = new_daemon(), []
    with daemon.client(heartbeat=1) as client:

        def agent(number):
            box = client.acquire(f"agent-{number}")
            box.exec("truncate -s 12M large")
            for _ in range(3):
                result = box.exec("head -c 1100000 /dev/zero | tr '\\0' x | tee /dev/stderr", max_output_chars=0)
                assert result.stdout_bytes == result.stderr_bytes == 1_100_000
                assert len(box.download_file("large")) == 12 << 20
            results.append(number)

        agents = [threading.Thread(target=agent, args=(x,)) for x in range(32)]
        for x in agents:
            x.start()
        for x in agents:
            x.join()
    assert sorted(results) == list(range(32))
    assert "client forgotten" not in daemon.log()

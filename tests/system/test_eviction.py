"""What happens when more sandboxes are wanted than `replicas`: the least recently used warm one goes,
and nothing in use ever does."""

import threading
import time

import pytest
from harness import call, running

from corral import errors


def threads_of(client):
    return {x["thread"] for x in client.list()}


def park(client, *threads):
    for x in threads:
        client.acquire(x).release()


def test_the_least_recently_used_warm_one_is_evicted(new_daemon):
    daemon = new_daemon({"pool.replicas": 3})
    with daemon.client() as client:
        park(client, "a", "b", "c")
        park(client, "a")  # Now b is the oldest.
        client.acquire("d")
        assert threads_of(client) == {"a", "c", "d"}
        client.acquire("e")
        assert threads_of(client) == {"a", "d", "e"}
        assert client.stats()["pools"][0]["events"]["evicted"] == 2
        with pytest.raises(errors.SandboxLost):
            call(client, "exec", {"sandbox": client.sandbox("b").id}, [("command", b"true")])
        assert client.sandbox("a").exec("true").origin != "created"


def test_an_exec_alone_makes_a_sandbox_recent_and_a_look_at_it_does_not(new_daemon):
    daemon = new_daemon({"pool.replicas": 3})
    with daemon.client() as client:
        park(client, "a", "b", "c")
        client.sandbox("a").exec("true")
        client.get(client.sandbox("b").id)
        client.list()
        park(client, "d")
        assert threads_of(client) == {"a", "c", "d"}
        client.sandbox("c").write_file("f", "x")
        park(client, "e")
        assert threads_of(client) == {"c", "d", "e"}


def test_the_evicted_thread_finds_its_files_and_a_fresh_shell(new_daemon):
    daemon = new_daemon({"pool.replicas": 1})
    with daemon.client() as client:
        with client.acquire("a") as x:
            x.exec("X=1; echo kept > f; echo gone > /tmp/f")
        park(client, "b")
        with client.acquire("a") as x:
            assert x.origin == "created"
            assert x.exec("echo ${X-unset}; cat f; ls /tmp").stdout == b"unset\nkept\n"


def test_a_burst_is_served_and_nothing_in_use_is_evicted(new_daemon):
    daemon = new_daemon({"pool.replicas": 2, "pool.max_sandboxes": 3})
    with daemon.client() as client:
        boxes = [client.acquire(x) for x in "abc"]
        assert [x.origin for x in boxes] == ["created"] * 3
        assert client.stats()["pools"][0]["events"]["burst"] == 1
        with pytest.raises(errors.CapacityExceeded) as full:
            client.acquire("d")
        assert full.value.retryable
        assert (full.value.details["active"], full.value.details["warm"]) == (3, 0)
        assert all(x.exec("echo ok").stdout == b"ok\n" for x in boxes)
        boxes[0].release()
        assert client.acquire("d").origin == "created"
        assert threads_of(client) == {"b", "c", "d"}


def test_a_pool_that_rejects_does_so_at_its_replicas(new_daemon):
    daemon = new_daemon({"pool.replicas": 2, "pool.overflow": "reject"})
    with daemon.client() as client:
        boxes = [client.acquire(x) for x in "ab"]
        for _ in range(5):
            with pytest.raises(errors.CapacityExceeded):
                client.acquire("c")
            with pytest.raises(errors.CapacityExceeded):
                client.sandbox("c").exec("true")
        boxes[1].release()
        assert client.acquire("c").origin == "created"
        assert threads_of(client) == {"a", "c"}


def test_a_borrowed_sandbox_that_runs_or_waits_is_not_evicted(new_daemon):
    daemon = new_daemon({"pool.replicas": 2})
    with daemon.client() as client:
        box = []
        run = threading.Thread(target=lambda: box.append(client.sandbox("a").exec("sleep 1.5; echo done")))
        run.start()
        running(client, client.sandbox("a").id)
        for x in "bcdef":
            park(client, x)
            assert "a" in threads_of(client)
        run.join()
        assert box[0].stdout == b"done\n"


def test_acquires_race_with_evictions_and_every_one_works(new_daemon):
    daemon = new_daemon({"pool.replicas": 2, "pool.max_sandboxes": 8})
    faults = []

    def work(thread):
        with daemon.client() as client:
            for i in range(12):
                try:
                    with client.acquire(thread) as x:
                        if x.exec(f"echo ok {i}", timeout=10).stdout != f"ok {i}\n".encode():
                            faults.append((thread, i))
                    if client.sandbox(f"{thread}-b").exec("echo b").stdout != b"b\n":
                        faults.append((thread, i, "b"))
                except errors.CorralError as fault:
                    faults.append((thread, i, fault))

    workers = [threading.Thread(target=work, args=(x,)) for x in ("a", "b", "c")]
    for x in workers:
        x.start()
    for x in workers:
        x.join()
    assert faults == []


def test_capacity_does_not_leak_through_failed_starts(new_daemon):
    daemon = new_daemon({"pool.replicas": 2, "pool.overflow": "reject"})
    with daemon.client() as client:
        for i in range(6):
            box = client.acquire(f"f{i}")
            client.destroy(box.id, force=True)
        begin = time.monotonic()
        assert [client.acquire(x).origin for x in "ab"] == ["created"] * 2
        assert time.monotonic() - begin < 5

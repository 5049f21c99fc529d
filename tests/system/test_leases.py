"""Who holds a sandbox, how it was found, and what becomes of it when the last one lets go."""

import os
import threading

import pytest
from harness import Raw, call, eventually, never_for, running

from corral import errors


def state(client, id):
    row = client.get(id)
    return row and row["state"]


def test_a_sandbox_is_created_then_active_then_warm(client, thread):
    first = client.acquire(thread)
    second = client.acquire(thread)
    assert (first.origin, second.origin, first.id == second.id) == ("created", "active", True)
    assert first.lease.lease != second.lease.lease
    first.release()
    assert (state(client, first.id), client.get(first.id)["leases"]) == ("leased", 1)
    second.exec("X=1; sleep 100 &")
    second.release()
    assert state(client, first.id) == "parked"
    third = client.acquire(thread)
    assert third.origin == "warm"
    assert third.exec("echo $X; jobs -r | wc -l").stdout == b"1\n1\n"
    third.destroy()


def test_a_release_takes_nothing_from_a_sibling(daemon, client, thread):
    with daemon.client() as one, daemon.client() as two:
        mine, theirs = one.acquire(thread), two.acquire(thread)
        mine.release()
        assert (state(client, mine.id), client.get(mine.id)["leases"]) == ("leased", 1)
        assert theirs.exec("echo still").stdout == b"still\n"
        with pytest.raises(errors.InvalidRequest):
            call(one, "release", {"sandbox": mine.id, "lease": theirs.lease.lease})
        assert client.get(mine.id)["leases"] == 1
        theirs.release()
        assert state(client, mine.id) == "parked"


def test_many_acquires_at_once_share_one_sandbox(daemon, thread):
    got = []

    def acquire():
        with daemon.client() as mine:
            x = mine.acquire(thread)
            got.append((x.id, x.origin, x.exec("echo $$").stdout))
            x.release()

    threads = [threading.Thread(target=acquire) for _ in range(12)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    assert len(got) == 12
    assert len({(id, pid) for id, _, pid in got}) == 1
    assert any(origin == "created" for _, origin, _ in got)


def test_missed_heartbeats_end_the_leases_and_keep_the_session(daemon, client, thread):
    with Raw(daemon.endpoint) as raw:
        assert raw.call({"op": "hello", "id": "h", "client": "silent", "instance": "1", "heartbeat_ms": 200})[0]["ok"]
        id = raw.call({"op": "acquire", "id": "a", "thread": thread})[0]["sandbox"]
        raw.exec("x", "X=kept", sandbox=id)
        assert raw.reply("x")[0]["ok"]
        for i in range(10):  # Any message is a heartbeat.
            assert raw.call({"op": "ping", "id": f"p{i}"})[0]["ok"]
            assert state(client, id) == "leased"
            raw.receive(0.1)
        eventually(lambda: state(client, id) == "parked", what="the lease ended")
    with client.acquire(thread) as again:
        assert (again.origin, again.exec("echo $X").stdout) == ("warm", b"kept\n")


def test_an_open_request_is_a_heartbeat(daemon, client, thread):
    with Raw(daemon.endpoint) as raw:
        raw.call({"op": "hello", "id": "h", "client": "busy", "instance": "1", "heartbeat_ms": 100})
        id = raw.call({"op": "acquire", "id": "a", "thread": thread})[0]["sandbox"]
        raw.exec("x", "sleep 2", sandbox=id)
        never_for(1.8, lambda: state(client, id) != "leased", "the end of the lease")
        assert raw.reply("x")[0]["exit_code"] == 0
        eventually(lambda: state(client, id) == "parked", what="the lease ended")


def test_an_exec_of_a_client_that_went_away_finishes(daemon, client, thread):
    gone = daemon.client(heartbeat=0.2)
    box = gone.acquire(thread)
    stream = box.exec_stream("sleep 1.5; echo done > done")
    running(client, box.id)
    gone.close()
    eventually(lambda: state(client, box.id) in ("parked", "borrowed"), what="the lease ended")
    eventually(lambda: not client.get(box.id)["usage"]["running"], what="the exec's end")
    assert client.sandbox(thread).read_file("done") == "done\n"
    with pytest.raises(errors.ClientClosed):
        stream.result()


def test_without_heartbeats_nothing_is_leased(daemon, client, thread):
    with daemon.client(heartbeat=0) as plain:
        x = plain.acquire(thread)
        assert (x.origin, x.lease.lease) == ("created", None)
        assert state(client, x.id) == "parked"
        x.release()


def test_a_borrowed_sandbox_is_parked_again(client, thread):
    borrowed = client.sandbox(thread)
    assert borrowed.exec("X=1").origin == "created"
    assert state(client, borrowed.id) == "parked"
    seen = threading.Thread(target=lambda: borrowed.exec("sleep 1"))
    seen.start()
    eventually(lambda: state(client, borrowed.id) == "borrowed", what="the borrowing")
    seen.join()
    assert borrowed.exec("echo $X").stdout == b"1\n"
    borrowed.write_file("f", "x")
    assert state(client, borrowed.id) == "parked"
    client.destroy(borrowed.id)


def test_an_anonymous_sandbox_is_destroyed_with_its_files(daemon, client):
    x, y = client.acquire(), client.acquire()
    assert x.id != y.id and x.origin == y.origin == "created"
    assert client.get(x.id)["thread"] is None
    x.write_file("f", "x")
    y.release()
    x.release()
    for box in (x, y):
        eventually(lambda: client.get(box.id) is None, what="its end")
        with pytest.raises(errors.SandboxLost):
            call(client, "exec", {"sandbox": box.id}, [("command", b"true")])
    assert os.listdir(f"{daemon.data_dir}/anonymous") == []


def test_release_all_drops_the_clients_leases_and_no_others(daemon, client, thread):
    with daemon.client() as mine:
        boxes = [mine.acquire(f"{thread}-{i}") for i in range(3)]
        theirs = client.acquire(f"{thread}-0")
        assert mine.release_all() == 3
        assert [state(client, x.id) for x in boxes] == ["leased", "parked", "parked"]
        theirs.release()
        assert mine.release_all() == 0


def test_the_same_thread_of_two_users_is_two_sandboxes(client, thread):
    with client.acquire(thread) as plain, client.acquire(thread, user="ann") as ann:
        assert plain.id != ann.id
        ann.write_file("f", "ann's")
        assert plain.exec("ls").stdout == b""
        assert {x["user"] for x in client.list() if x["thread"] == thread} == {"default", "ann"}
        assert [x["sandbox"] for x in client.list(user="ann") if x["thread"] == thread] == [ann.id]
        assert client.acquire(thread, user="ann").id == ann.id


def test_a_prefix_names_a_sandbox_if_it_is_the_only_one(client, sandbox):
    assert client.get(sandbox.id[:8])["sandbox"] == sandbox.id
    assert call(client, "exec", {"sandbox": sandbox.id[:9]}, [("command", b"true")]).header["ok"]
    with pytest.raises(errors.InvalidRequest):
        client.get(sandbox.id[:7])
    assert client.get("f" * 16) is None
    with pytest.raises(errors.SandboxNotFound):
        client.destroy("f" * 16)


def test_destroy_of_a_sandbox_in_use_needs_force(daemon, client, thread):
    with daemon.client() as theirs:
        held = theirs.acquire(thread)
        with pytest.raises(errors.Busy):
            client.destroy(held.id)
        assert client.destroy(held.id, force=True)
        with pytest.raises(errors.SandboxLost):
            held.exec("true")
        assert client.acquire(thread).origin == "created"


def test_a_thread_can_be_acquired_again_at_once_after_its_end(client, thread):
    for i in range(20):
        x = client.acquire(thread)
        assert (x.origin, x.exec(f"echo ${{X-unset}} {i}; X=1").stdout) == ("created", f"unset {i}\n".encode())
        client.destroy(x.id, force=True)


def test_a_second_live_client_of_a_name_is_refused(daemon):
    with daemon.client(name="the-one"):
        with pytest.raises(errors.Busy):
            daemon.client(name="the-one")
    # Its heartbeats stop with it; a client that announced none can't keep a name.
    with daemon.client(name="quiet", heartbeat=0), daemon.client(name="quiet", heartbeat=0) as second:
        assert second.ping()["boot"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a b", "ü", "x" * 65, "a\0b", "a:b", "-\n", "*"])
def test_names_that_could_be_paths_are_refused(daemon, client, name):
    for fields in ({"thread": name}, {"thread": "t", "user": name}):
        with pytest.raises(errors.InvalidRequest):
            call(client, "acquire", fields)
        with pytest.raises(errors.InvalidRequest):
            call(client, "exec", fields, [("command", b"true")])
    assert all(os.listdir(f"{daemon.data_dir}/users/{x}") == ["threads"] for x in os.listdir(f"{daemon.data_dir}/users"))


@pytest.mark.parametrize("name", ["-", "-rf", "_", "0", "CON", "x" * 64])
def test_odd_names_within_the_rules_work(client, name):
    with client.acquire(name, user=name) as x:
        assert x.exec("echo ok").stdout == b"ok\n"
        client.destroy(x.id, force=True, purge=True)

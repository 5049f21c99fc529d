"""Sandboxes outlive their daemon: the next one finds them as they were, whatever ran in them."""

import json
import os
import signal
import threading
import time

import pytest
from harness import Raw, eventually, running, traces
from harness.processes import kill

from corral import errors

ADOPTED = ("discovered", "warm")  # For whoever waits until its guest has dialled, and afterwards.


def exec_raw(raw, id, command, **more):
    """Sends an exec and waits until it runs."""
    raw.exec(id, command, stream=True, **more)
    while raw.receive()[0]["event"] != "started":
        pass


def settled(raw, key, **target):
    """The result of a key once its exec has ended."""
    replies = []

    def ended():
        replies.append(raw.call({"op": "result", "id": f"r{time.monotonic()}", "key": key, **target}))
        return replies[-1][0].get("state") != "running"

    eventually(ended, timeout=20, what=f"the end of {key}")
    return replies[-1]


def test_a_crash_costs_no_session_anything(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client:
        boxes = {x: client.acquire(x) for x in "abc"}
        nobodys = client.acquire()
        for name, box in boxes.items():
            box.exec(f"mkdir -p d; cd d; X={name}; f() {{ echo f-$X; }}; sleep 1000 & echo kept > file")
        pids = {x: daemon.guest_pid(box.id) for x, box in boxes.items()}
        gone = daemon.guest_pid(nobodys.id)
        boot = client.ping()["boot"]
        daemon.kill()
    daemon.start()
    with daemon.client() as client:
        assert client.ping()["boot"] != boot
        for name in boxes:
            with client.acquire(name) as box:
                assert box.origin in ADOPTED
                ran = box.exec("pwd; echo $X; f; cat file; jobs | grep -c Running; echo $$")
                assert ran.stdout.split() == [
                    b"/mnt/user-data/workspace/d", name.encode(), f"f-{name}".encode(), b"kept", b"1", b"2"]
                assert daemon.guest_pid(box.id) == pids[name]
        assert nobodys.id not in daemon.records()
    assert not traces.alive(gone)
    assert not os.path.exists(f"{daemon.data_dir}/anonymous/{nobodys.id}")
    assert daemon.stop() == (0, [])


def test_a_running_command_goes_on_and_its_result_waits_for_whoever_has_its_key(new_daemon):
    daemon = new_daemon()
    with Raw(daemon.endpoint) as raw:
        exec_raw(raw, "1", "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended; (exit 7)", thread="a", key="k")
        daemon.kill()
    daemon.start()
    with Raw(daemon.endpoint) as raw, Raw(daemon.endpoint) as other:
        assert raw.call({"op": "result", "id": "1", "key": "k", "thread": "a"})[0]["state"] == "running"
        other.exec("next", "echo next", thread="a")  # Waits for its turn, as always.
        raw.exec("again", "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended; (exit 7)", thread="a", key="k")
        raw.call({"op": "write_file", "id": "w", "thread": "a", "path": "go", "parts": [["content", 0]]}, b"")
        header, payload = raw.reply("again")
        assert (header["exit_code"], header["stdout_bytes"]) == (7, 12)
        assert b"begun\nended\n" in payload
        assert other.reply("next")[0]["exit_code"] == 0
        header, payload = settled(raw, "k", thread="a")
        assert (header["state"], header["exit_code"]) == ("finished", 7)
        assert header["age_ms"] > 0
        assert raw.call({"op": "result", "id": "2", "key": "no", "thread": "a"})[0]["state"] == "not_found"


def test_a_command_of_an_earlier_daemon_can_be_cancelled(new_daemon):
    daemon = new_daemon()
    with Raw(daemon.endpoint) as raw:
        exec_raw(raw, "1", "sleep 1000", thread="a")
        daemon.kill()
    daemon.start()
    with Raw(daemon.endpoint) as raw, daemon.client() as client:
        box = client.sandbox("a")
        raw.exec("2", "echo served", thread="a")
        eventually(lambda: client.get(box.id).get("queue") == 1, what="a waiting exec")
        assert raw.call({"op": "cancel", "id": "3", "sandbox": box.id})[0]["cancelled"] is True
        assert raw.reply("2")[0]["exit_code"] == 0


def test_what_has_no_counterpart_is_removed(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client:
        boxes = {x: client.acquire(x) for x in ("dead", "reused", "unnamed", "lives")}
        pids = {x: daemon.guest_pid(box.id) for x, box in boxes.items()}
        daemon.kill()
    records = f"{daemon.state_dir}/sandboxes"
    kill(pids["dead"])
    with open(f"{records}/{boxes['reused'].id}.json", encoding="utf-8") as file:
        record = json.load(file)
    kill(pids["reused"])
    record["guest"]["pid"] = os.getpid()  # Another process has got its number.
    with open(f"{records}/{boxes['reused'].id}.json", "w", encoding="utf-8") as file:
        json.dump(record, file)
    os.remove(f"{records}/{boxes['unnamed'].id}.json")
    daemon.start()
    assert daemon.records() == [boxes["lives"].id]
    assert os.listdir(f"{daemon.run_dir}/links") == [boxes["lives"].id]
    if daemon.enforces("pids"):  # Without a record only its cgroup leads to it.
        eventually(lambda: not traces.alive(pids["unnamed"]), what="the end of a sandbox without a record")
    else:
        kill(pids["unnamed"])
    with daemon.client() as client:
        assert client.acquire("lives").origin in ADOPTED
        for name in ("dead", "reused", "unnamed"):
            with client.acquire(name) as box:
                assert box.origin == "created"
                box.exec("true")
    assert daemon.stop() == (0, [])


def test_a_guest_that_does_not_dial_again_gives_way_to_a_fresh_one(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client:
        box = client.acquire("a")
        pid = daemon.guest_pid(box.id)
        daemon.kill()
    os.kill(pid, signal.SIGSTOP)
    daemon.start()
    with daemon.client() as client:
        with client.acquire("a") as fresh:
            assert (fresh.origin, fresh.exec("true").exit_code) == ("created", 0)
        assert not traces.alive(pid)


def test_what_a_removed_pool_left_is_ended(new_daemon):
    daemon = new_daemon(config="pools: {old: {}}")
    with daemon.client() as client:
        pid = daemon.guest_pid(client.acquire("a").id)
        daemon.kill()
    with open(daemon.config_path, "w", encoding="utf-8") as file:
        file.write("pools: {renamed: {}, other: {}}")
    daemon.start()
    assert daemon.records() == []
    eventually(lambda: not traces.alive(pid), what="its end")
    with daemon.client() as client:
        assert client.acquire("a", pool="other").exec("true").exit_code == 0
        daemon.kill()
        daemon.start()
    with daemon.client() as client:  # The first pool takes strays, not what is another's.
        assert client.acquire("a", pool="other").origin in ADOPTED


def test_sandboxes_made_with_other_settings_are_made_anew_once_nothing_runs(new_daemon):
    daemon = new_daemon({"pool.reap_interval": "100ms"})
    with Raw(daemon.endpoint) as raw, daemon.client() as client:
        client.acquire("idle").exec("X=1")
        exec_raw(raw, "1", "until [ -e go ]; do sleep 0.02; done", thread="runs")
        daemon.kill()
    daemon.options["pool.limits.tmp_size"] = "32 MiB"
    daemon.start()
    with daemon.client() as client:
        eventually(lambda: len(daemon.records()) == 1, what="the end of the idle one")
        runs = client.sandbox("runs")
        assert client.get(runs.id)["stale"] is True
        runs.write_file("go", "")
        eventually(lambda: daemon.records() == [], timeout=10, what="the end of the other")
        with client.acquire("runs") as box:
            assert box.origin == "created"
            assert client.get(box.id)["stale"] is False


def test_an_upgrade_is_invisible_to_running_shells(new_daemon):
    daemon = new_daemon({"on_shutdown": "keep", "drain_timeout": "200ms"})
    with daemon.client() as client, Raw(daemon.endpoint) as raw:
        box = client.acquire("idle")
        box.exec("X=kept; sleep 1000 &")
        nobodys = client.acquire()
        exec_raw(raw, "1", "until [ -e go ]; do sleep 0.02; done; echo done", thread="runs", key="k")
        raw.exec("2", "true", thread="runs")
        eventually(lambda: client.get(client.sandbox("runs").id)["queue"] == 1, what="a waiting exec")
        status, left = daemon.stop()
        assert status == 0
        assert (waits := raw.reply("2")[0]["error"])["code"] == "shutting_down"
        assert waits["retryable"] is True
        assert (runs := raw.reply("1")[0]["error"])["code"] == "shutting_down"
        assert (runs["retryable"], runs["details"]["started"]) == (False, True)
    assert any("corral-guest" in x for x in left)
    assert nobodys.id not in daemon.records()
    daemon.upgrade()
    daemon.start()
    with daemon.client() as client, Raw(daemon.endpoint) as raw:
        with client.acquire("idle") as box:
            assert box.origin in ADOPTED
            assert box.exec("echo $X; jobs | grep -c Running").stdout == b"kept\n1\n"
            assert client.get(box.id)["stale"] is False
        client.sandbox("runs").write_file("go", "")
        header, payload = settled(raw, "k", thread="runs")
        assert (header["state"], header["exit_code"]) == ("finished", 0)
        assert b"done" in payload
    daemon.options["on_shutdown"] = "destroy"
    assert daemon.stop()[0] == 0
    daemon.start()
    assert daemon.stop() == (0, [])


@pytest.mark.limit(120)
def test_under_load_every_sandbox_is_adopted(new_daemon):
    daemon = new_daemon()
    count = 12
    for round in range(3):
        with daemon.client() as client:
            stop = threading.Event()

            def work(name):
                while not stop.is_set():
                    try:
                        client.sandbox(name).exec("N=$((N+1))")
                    except errors.CorralError:
                        return

            workers = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(count)]
            for x in workers:
                x.start()
            eventually(lambda: len(client.list(state="parked")) == count, what="all sandboxes")
            if round == 0:
                pids = {x: daemon.guest_pid(x) for x in daemon.records()}
            daemon.kill()
            stop.set()
            for x in workers:
                x.join()
        begin = time.monotonic()
        daemon.start()
        with daemon.client() as client:
            for i in range(count):
                with client.acquire(f"t{i}") as box:
                    assert box.origin in ADOPTED
                    assert int(box.exec("echo $N").stdout) > 0
        print(f"restart and first exec in {count} adopted sandboxes: {time.monotonic() - begin:.2f} s")
        assert {x: daemon.guest_pid(x) for x in daemon.records()} == pids
    assert daemon.stop() == (0, [])

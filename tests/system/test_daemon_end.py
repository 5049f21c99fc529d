"""How the daemon ends, in order and by a crash, and what the next one makes of it."""

import os
import signal
import subprocess
import threading
import time

from harness import Raw, eventually, running, traces
from harness.processes import inside, kill

from corral import errors


def test_sigterm_lets_what_runs_finish_and_refuses_the_rest(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client, Raw(daemon.endpoint) as raw:
        box = client.acquire("a")
        raw.exec("runs", "sleep 1; echo done", sandbox=box.id)
        running(client, box.id)
        raw.exec("waits", "echo never", sandbox=box.id)
        eventually(lambda: client.get(box.id)["queue"] == 1, what="a waiting exec")
        daemon.signal(signal.SIGTERM)
        assert raw.reply("waits")[0]["error"]["code"] == "shutting_down"
        raw.exec("late", "true", sandbox=box.id)
        assert raw.reply("late")[0]["error"]["code"] == "shutting_down"
        assert raw.error({"op": "acquire", "id": "b", "thread": "b"})["code"] == "shutting_down"
        assert raw.call({"op": "ping", "id": "p"})[0]["ok"]
        assert raw.reply("runs")[0]["exit_code"] == 0
        assert daemon.process.wait(10) == 0
    assert traces.all_of(daemon) == []


def test_a_second_sigterm_ends_it_at_once(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client, Raw(daemon.endpoint) as raw:
        box = client.acquire("a")
        raw.exec("runs", "sleep 60", sandbox=box.id)
        running(client, box.id)
        daemon.signal(signal.SIGTERM)
        raw.exec("late", "true", sandbox=box.id)
        assert raw.reply("late")[0]["error"]["code"] == "shutting_down"
        begin = time.monotonic()
        daemon.signal(signal.SIGTERM)
        assert raw.reply("runs")[0]["error"]["code"] == "sandbox_lost"
        assert daemon.process.wait(10) == 0
        assert time.monotonic() - begin < 3
    assert traces.all_of(daemon) == []


def test_a_drain_ends_after_its_timeout(new_daemon):
    daemon = new_daemon({"drain_timeout": "1s"})
    with daemon.client() as client, Raw(daemon.endpoint) as raw:
        box = client.acquire("a")
        raw.exec("runs", "sleep 60", sandbox=box.id)
        running(client, box.id)
        begin = time.monotonic()
        status, left = daemon.stop()
        assert (status, left) == (0, [])
        assert 0.8 < time.monotonic() - begin < 5
        assert raw.reply("runs")[0]["error"]["code"] == "sandbox_lost"


def test_shutdown_while_sandboxes_start(new_daemon):
    daemon = new_daemon()
    with Raw(daemon.endpoint) as raw:
        for i in range(12):
            raw.post({"op": "acquire", "id": str(i), "thread": f"t{i}"})
        time.sleep(0.03)
        status, left = daemon.stop()
        assert (status, left) == (0, [])
        replies = [raw.receive()[0] for _ in range(12)]
        assert {x["re"] for x in replies} == {str(i) for i in range(12)}
        assert all(x["ok"] or x["error"]["code"] == "shutting_down" for x in replies)


def test_a_second_daemon_is_refused_by_name(daemon):
    for more, named in (
        ({}, "state_dir"),
        ({"state_dir": f"{daemon.base}/state2", "run_dir": f"{daemon.base}/run2", "socket": daemon.socket}, daemon.socket),
    ):
        ended = subprocess.run(daemon.arguments(**more), capture_output=True, text=True, timeout=30, check=False)
        assert ended.returncode == 1
        assert f"pid {daemon.pid}" in ended.stderr and named in ended.stderr
    with daemon.client() as client:
        assert client.ping()["boot"]


def test_a_crash_in_the_middle_of_work_leaves_no_half_file(new_daemon):
    daemon = new_daemon()
    old, new = "old\n" * 2_000_000, "new!\n" * 2_000_000
    for i in range(4):
        with daemon.client() as client:
            client.sandbox("a").write_file("f", old)
            writer = threading.Thread(target=_write_until_lost, args=(client, new))
            writer.start()
            time.sleep(0.02 * (i + 1))
            daemon.kill()
            writer.join()
        daemon.start()
        with daemon.client() as client:
            box = client.sandbox("a")
            assert box.exec("wc -c < f; head -c 3 f; tail -c 4 f | head -c 3").stdout in (
                b"8000000\noldold", b"10000000\nnewew!")
            # A temporary file can stay behind, one for each crash; none is ever taken for the file.
            assert len(box.exec("ls -A").stdout.splitlines()) <= i + 2


def _write_until_lost(client, text):
    try:
        client.sandbox("a").write_file("f", text)
    except (errors.CorralError, ConnectionError):
        pass


def test_a_client_that_stays_is_told_and_served_after_a_restart(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client:
        box = client.sandbox("a")
        fault = []

        def run():
            try:
                box.exec("sleep 60")
            except errors.DaemonRestarted as x:
                fault.append(x)

        waiting = threading.Thread(target=run)
        waiting.start()
        running(client, box.id)
        daemon.kill()
        daemon.start()
        waiting.join(10)
        assert len(fault) == 1
        with Raw(daemon.endpoint) as raw:  # What runs goes on, whoever asked for it.
            assert raw.call({"op": "cancel", "id": "1", "sandbox": box.id})[0]["cancelled"]
        assert box.exec("echo served").stdout == b"served\n"


def test_a_damaged_record_stops_no_start(new_daemon):
    daemon = new_daemon()
    with daemon.client() as client:
        id = client.acquire("a").id
        pid = daemon.guest_pid(id)
        daemon.kill()
    with open(f"{daemon.state_dir}/sandboxes/{id}.json", "w", encoding="utf-8") as file:
        file.write('{"id": "')
    with open(f"{daemon.state_dir}/sandboxes/{'0' * 16}.json", "w", encoding="utf-8") as file:
        file.write('{"guest": {"pid": 1}}')
    daemon.start()
    assert daemon.records() == []
    if daemon.enforces("pids"):  # Without a record only its cgroup leads to it.
        assert not traces.alive(pid)
    else:
        kill(pid)
    with daemon.client() as client:
        assert client.acquire("a").exec("echo ok").stdout == b"ok\n"


def test_a_sandbox_that_no_daemon_comes_back_for_ends_by_itself(new_daemon):
    daemon = new_daemon({"pool.guest.orphan_timeout": "1s"})
    with daemon.client() as client:
        box = client.acquire("a")
        box.exec("setsid sleep 100 & sleep 100 &")
        pids = inside(daemon.guest_pid(box.id))
        assert len(pids) >= 4
        daemon.kill()
    eventually(lambda: not any(map(traces.alive, pids)), timeout=8, what="the orphans' end")
    daemon.start()
    assert daemon.records() == []

"""Idle sandboxes end by themselves; used ones don't, whoever uses them and however."""

import threading
import time

from harness import eventually, never_for, traces

OPTIONS = {"pool.idle_timeout": "1s", "pool.lease_idle_timeout": "2s", "pool.reap_interval": "100ms"}


def gone(client, id):
    return client.get(id) is None


def test_a_parked_sandbox_is_reaped_after_idle_timeout_and_not_before(client, thread):
    box = client.acquire(thread)
    box.exec("true")
    box.release()
    begin = time.monotonic()
    never_for(0.8, lambda: gone(client, box.id), "its end")  # These looks are no activity.
    eventually(lambda: gone(client, box.id), timeout=3, what="its end")
    assert time.monotonic() - begin < 2.5
    assert client.stats()["pools"][0]["events"]["reaped"] >= 1
    assert client.acquire(thread).origin == "created"


def test_a_leased_sandbox_has_a_limit_of_its_own(client, thread):
    box = client.acquire(thread)
    never_for(1.7, lambda: gone(client, box.id), "its end")
    eventually(lambda: gone(client, box.id), timeout=3, what="its end")


def test_use_keeps_a_sandbox_alive(client, thread):
    box = client.acquire(thread)
    box.release()
    for i in range(12):
        time.sleep(0.2)
        assert client.sandbox(thread).exec(f"echo {i}").origin != "created"
    for i in range(6):
        time.sleep(0.4)
        client.sandbox(thread).write_file("f", str(i))
    assert client.sandbox(thread).exec("true").origin != "created"


def test_running_work_keeps_a_sandbox_alive_and_the_idle_clock_starts_at_its_end(client, thread):
    box, results = client.sandbox(thread), []
    run = threading.Thread(target=lambda: results.append(box.exec("sleep 2.5; echo done")))
    run.start()
    eventually(lambda: client.get(box.id), what="its sandbox")
    run.join()
    assert results[0].stdout == b"done\n"
    never_for(0.7, lambda: gone(client, box.id), "its end")
    eventually(lambda: gone(client, box.id), timeout=3, what="its end")


def test_waiting_work_keeps_a_sandbox_alive(client, thread):
    box, results = client.sandbox(thread), []
    runs = [threading.Thread(target=lambda: results.append(box.exec("sleep 1.3"))) for _ in range(2)]
    for x in runs:
        x.start()
    for x in runs:
        x.join()
    assert [x.exit_code for x in results] == [0, 0]
    assert len({x.session for x in results}) == 1


def test_a_background_job_is_no_activity(client, thread):
    box = client.sandbox(thread)
    box.exec("sleep 100 &")
    eventually(lambda: gone(client, box.id), timeout=4, what="its end")


def test_reaping_leaves_neither_process_nor_record(daemon, client, thread):
    box = client.acquire(thread)
    pid = daemon.guest_pid(box.id)
    box.exec("sleep 100 & setsid sleep 100 &")
    box.release()
    eventually(lambda: gone(client, box.id), timeout=4, what="its end")
    assert box.id not in daemon.records()
    eventually(lambda: not traces.alive(pid), what="the end of its processes")


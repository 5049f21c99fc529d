"""Whatever dies, and whenever: everyone is answered, nobody waits, and the next acquire gets a fresh
sandbox. Nothing is left of what ended."""

import os
import signal
import threading
import time

import pytest
from harness import Raw, eventually, running, traces
from harness.processes import children, inside, kill

from corral import errors

SOON = 1.0  # seconds within which everyone must have been told


def fresh(client, thread, old_session_pid=None):
    """A new sandbox for the thread, which works."""
    with client.acquire(thread) as x:
        assert x.origin == "created"
        assert x.exec("echo ${X-unset}").stdout == b"unset\n"
        return x.id


VICTIMS = {
    "the guest": lambda d, id: [d.record(id)["guest"]["pid"]],
    "bwrap": lambda d, id: [d.record(id)["outer"]["pid"], d.record(id)["guest"]["pid"]],
    "everything": lambda d, id: [d.record(id)["outer"]["pid"], *inside(d.record(id)["guest"]["pid"])],
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_everyone_who_waits_or_runs_is_told_at_once(daemon, client, thread, victim):
    box = client.acquire(thread)
    box.exec("X=1")
    with Raw(daemon.endpoint) as raw:
        raw.exec("running", "sleep 60", sandbox=box.id, stream=True)
        assert raw.receive()[0]["event"] in ("queued", "started")
        running(client, box.id)
        for i in range(20):
            raw.exec(f"waits-{i}", "sleep 60", sandbox=box.id)
        eventually(lambda: client.get(box.id)["queue"] == 20, what="20 waiting execs")
        time.sleep(0.1)  # What runs says after 50 ms that it has started.
        kill(*VICTIMS[victim](daemon, box.id))
        begin = time.monotonic()
        for i in range(20):
            error = raw.reply(f"waits-{i}")[0]["error"]
            assert (error["code"], error["details"]["started"], error["retryable"]) == ("sandbox_lost", False, True)
        # Read out of order: its reply came before those of the waiting ones or after them.
        assert time.monotonic() - begin < SOON
    fresh(client, thread)


@pytest.mark.parametrize("victim", VICTIMS)
def test_what_ran_is_told_so(daemon, client, thread, victim):
    box = client.acquire(thread)
    results = []

    def run(call):
        try:
            results.append(call())
        except errors.CorralError as fault:
            results.append((fault.code, fault.details["started"], fault.retryable, time.monotonic()))

    run_exec = threading.Thread(target=run, args=(lambda: box.exec("echo begun; sleep 60"),))
    run_exec.start()
    running(client, box.id)
    time.sleep(0.2)
    begin = time.monotonic()
    kill(*VICTIMS[victim](daemon, box.id))
    run_exec.join(10)
    code, started, retryable, at = results[0]
    assert (code, started, retryable) == ("sandbox_lost", True, False)
    assert at - begin < SOON
    with pytest.raises(errors.SandboxLost):
        box.exec("true")
    fresh(client, thread)


def test_the_end_of_bwrap_alone_ends_no_session(daemon, client, sandbox):
    """The outer process only waits: the guest isn't tied to it."""
    sandbox.exec("X=1")
    kill(daemon.record(sandbox.id)["outer"]["pid"])
    assert sandbox.exec("echo $X").stdout == b"1\n"


def test_a_killed_bash_costs_one_exec_only(daemon, client, sandbox):
    results = []
    run = threading.Thread(target=lambda: results.append(sandbox.exec("sleep 60")))
    run.start()
    running(client, sandbox.id)
    time.sleep(0.1)
    (bash,) = [x for x in children(daemon.guest_pid(sandbox.id))]
    kill(bash)
    run.join(10)
    assert (results[0].exit_code, results[0].signal) == (None, 9)
    assert sandbox.exec("echo next").stdout == b"next\n"


def test_a_sandbox_that_dies_while_parked_is_not_handed_out(daemon, client, thread):
    box = client.acquire(thread)
    box.release()
    kill(daemon.guest_pid(box.id))
    fresh(client, thread)


def test_a_sandbox_that_dies_over_and_over_starts_over_and_over(daemon, client, thread):
    for _ in range(8):
        with client.acquire(thread) as box:
            assert box.origin == "created"
            assert box.exec("echo ok").stdout == b"ok\n"
            kill(daemon.guest_pid(box.id))
            with pytest.raises(errors.SandboxLost):
                box.exec("sleep 5")


def test_a_lost_sandbox_leaves_nothing(daemon, client, thread):
    box = client.acquire(thread)
    box.exec("sleep 100 & setsid sleep 100 &")
    pids = inside(daemon.guest_pid(box.id))
    assert len(pids) >= 4
    kill(pids[0])
    eventually(lambda: client.get(box.id) is None, what="its end")
    assert box.id not in daemon.records()
    assert traces.cgroups(daemon, box.id) == []
    assert not any(traces.alive(x) for x in pids)
    assert box.id not in os.listdir(f"{daemon.run_dir}/links")


def test_a_stopped_guest_is_caught_by_the_backstop(daemon, client, thread):
    box = client.acquire(thread)
    pid = daemon.guest_pid(box.id)
    kill(pid, number=signal.SIGSTOP)
    begin = time.monotonic()
    with pytest.raises(errors.SandboxLost) as lost:
        box.exec("true", timeout=0.5)
    assert 4 < time.monotonic() - begin < 9  # Its deadline, and five seconds more.
    assert lost.value.details["started"] == "unknown"
    fresh(client, thread)
    eventually(lambda: not traces.alive(pid), what="the stopped guest's end")


def test_a_parked_sandbox_whose_guest_is_stopped_is_replaced_after_a_ping(daemon, client, thread):
    box = client.acquire(thread)
    box.exec("X=1")
    box.release()
    kill(daemon.guest_pid(box.id), number=signal.SIGSTOP)
    begin = time.monotonic()
    fresh(client, thread)
    assert 1.5 < time.monotonic() - begin < 6  # The ping has two seconds.


def test_destroy_with_force_answers_who_runs_and_who_waits(daemon, client, thread):
    box = client.acquire(thread)
    with Raw(daemon.endpoint) as raw:
        for i in range(3):
            raw.exec(str(i), "sleep 60", sandbox=box.id)
        running(client, box.id)
        time.sleep(0.1)
        begin = time.monotonic()
        assert client.destroy(box.id, force=True)
        started = {}
        for _ in range(3):
            reply = raw.receive()[0]
            assert reply["error"]["code"] == "sandbox_lost"
            started[reply["re"]] = reply["error"]["details"]["started"]
        assert time.monotonic() - begin < SOON
    assert started == {"0": True, "1": False, "2": False}
    fresh(client, thread)


def test_an_acquire_during_the_teardown_gets_a_fresh_sandbox(daemon, client, thread):
    for _ in range(5):
        box = client.acquire(thread)
        box.exec("X=1")
        run = threading.Thread(target=lambda: client.destroy(box.id, force=True))
        run.start()
        with daemon.client() as second, second.acquire(thread) as again:
            # Before the destroy, or after it; the one that is ending is never handed out.
            try:
                assert again.exec("echo works").stdout == b"works\n"
            except errors.SandboxLost:
                assert again.origin in ("active", "warm")
        run.join()
        if client.get(box.id):
            client.destroy(box.id, force=True)


def test_the_traces_that_other_tests_look_for_are_found_while_there_are_any(daemon, client, thread):
    """Else a test that finds nothing left proves nothing."""
    with client.acquire(thread) as x:
        x.exec("sleep 100 &")
        daemon.note_processes()
        found = traces.all_of(daemon)
        kinds = [line.split()[0] for line in found]
        assert kinds.count("process") >= 3
        assert any(f"links/{x.id}" in line for line in found)
        assert any(f"sandboxes/{x.id}" in line for line in found)
        assert any(daemon.socket in line for line in found)
        if daemon.enforces("pids"):
            assert traces.cgroups(daemon, x.id) != [] and "cgroup" in kinds

"""Daemons that share a data_dir: an owner has one sandbox on the machine, whoever is asked."""

import os
import threading
import time

import pytest
from harness import eventually, traces

from corral import errors


@pytest.fixture
def pair(new_daemon):
    one = new_daemon()
    two = new_daemon(data_dir=one.data_dir)
    yield one, two
    # The first one's traces are looked for once the second is gone: they share a directory.
    assert two.stop()[0] == 0
    assert traces.files(two) == [] and os.listdir(f"{one.data_dir}/owners") == os.listdir(f"{one.state_dir}/sandboxes")


def acquire(daemon, thread):
    """The id of the thread's sandbox at this daemon; None if the other has it."""
    with daemon.client() as client:
        try:
            return client.acquire(thread).id
        except errors.Moved:
            return None


def test_who_asks_the_wrong_daemon_is_told_where_to_go(pair):
    one, two = pair
    with one.client() as first, two.client() as second:
        box = first.acquire("a")
        box.exec("echo here > f")
        with pytest.raises(errors.Moved) as fault:
            second.acquire("a")
        assert fault.value.details["endpoint"] == one.endpoint
        with pytest.raises(errors.Moved):
            second.sandbox("a").exec("true")
        assert second.acquire("b").exec("echo mine").stdout == b"mine\n"
        box.destroy(force=True)
        with second.acquire("a") as moved:
            assert moved.exec("cat f").stdout == b"here\n"
        with pytest.raises(errors.Moved) as fault:
            first.acquire("a")
        assert fault.value.details["endpoint"] == two.endpoint


def test_a_dead_daemons_sandbox_passes_to_the_other(pair):
    one, two = pair
    with one.client() as client:
        box = client.acquire("a")
        box.exec("echo kept > f; setsid sleep 1000 &")
        pid = one.guest_pid(box.id)
        one.kill()
    with two.client() as client:
        with client.acquire("a") as passed:
            assert passed.origin == "created"
            assert passed.exec("cat f").stdout == b"kept\n"
            assert not traces.alive(pid)
            one.start()
            assert one.records() == []
            assert acquire(one, "a") is None
            assert passed.exec("echo still").stdout == b"still\n"


@pytest.mark.limit(240)
def test_two_daemons_that_race_for_a_thread_make_one_sandbox(pair):
    one, two = pair
    begin = time.monotonic()
    wins = {one: 0, two: 0}
    with one.client() as first, two.client() as second:
        clients = {one: first, two: second}
        for _ in range(200):
            got, start = {}, threading.Barrier(2)

            def race(daemon):
                start.wait()
                try:
                    got[daemon] = clients[daemon].acquire("a")
                except errors.Moved as x:
                    got[daemon] = x

            racers = [threading.Thread(target=race, args=(x,)) for x in pair]
            for x in racers:
                x.start()
            for x in racers:
                x.join()
            winners = [x for x in pair if not isinstance(got[x], errors.Moved)]
            assert len(winners) == 1, got
            winner, loser = winners[0], pair[winners[0] is one]
            wins[winner] += 1
            assert got[loser].details["endpoint"] == winner.endpoint
            assert (len(winner.records()), len(loser.records())) == (1, 0)
            got[winner].destroy(force=True)
            eventually(lambda: winner.records() == [], what="its end")
    print(f"200 races in {time.monotonic() - begin:.1f} s, won {wins[one]} to {wins[two]}")

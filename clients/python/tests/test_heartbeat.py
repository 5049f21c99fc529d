import math

from corral._heartbeat import Heartbeat


def test_a_ping_is_due_an_interval_after_the_quieter_direction():
    x = Heartbeat(10, 0)
    assert x.due() == 10
    x.sent(4)
    assert x.due() == 10  # Nothing was heard since 0.
    x.received(6)
    assert x.due() == 14  # Nothing was said since 4.


def test_three_pings_without_an_answer_and_an_interval_after_the_last_are_the_end():
    x = Heartbeat(10, 0)
    for now in (10, 20, 30):
        assert now == x.due() and not x.is_gone(now)
        x.pinged(now)
    assert not x.is_gone(39.9)
    assert x.is_gone(40)


def test_any_message_is_an_answer():
    x = Heartbeat(10, 0)
    for now in (10, 20, 30):
        x.pinged(now)
    x.received(39)
    assert not x.is_gone(1000)
    assert x.due() == 40


def test_a_process_that_slept_asks_before_it_gives_up():
    x = Heartbeat(10, 0)
    x.pinged(10)
    x.pinged(5000)
    assert not x.is_gone(5001)
    assert x.due() == 5010


def test_another_connection_starts_anew():
    x = Heartbeat(10, 0)
    for now in (10, 20, 30):
        x.pinged(now)
    x.reset(40)
    assert not x.is_gone(40) and x.due() == 50


def test_without_an_interval_no_ping_is_ever_due():
    x = Heartbeat(0, 0)
    assert x.due() == math.inf
    assert not x.is_gone(1e9)

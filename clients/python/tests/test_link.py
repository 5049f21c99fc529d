"""What a link says, and what becomes of its requests: without a socket, a thread or a clock."""

import json

import pytest

import corral
from corral._link import Link
from corral._wire import Message


class Inbox(list):
    put = list.append


class Daemon:
    """The other end of a link, which says at every step what it received."""

    def __init__(self, heartbeat=10.0, timeout=30.0):
        self.now = 0.0
        self.first = Inbox()
        hello = {"client": "c", "instance": "i"}
        self.link = Link("tcp://x:1", hello, heartbeat, timeout, self.first, self.now)
        self.sent = []

    def connect(self, boot="b1"):
        """A new socket, and the answer to its hello; what is sent after that."""
        assert self.link.wants_socket(self.now)
        self.link.opened(self.now)
        (hello,) = self.read()
        assert (hello["op"], hello["client"], hello["instance"]) == ("hello", "c", "i")
        return self.says("hello", ok=True, boot=boot, limits={})

    def says(self, re, payload=b"", **fields):
        self.link.received(Message({"re": re, **fields}, payload), self.now)
        return self.read()

    def read(self):
        return [json.loads(header) for header, _ in self.link.take_outgoing(self.now)]

    def pass_time(self, seconds):
        """Steps from due time to due time, but gives it no socket; what was sent."""
        end, sent = self.now + seconds, []
        while self.now < end:
            due = self.link.due()
            if self.link.wants_socket(self.now):
                due = self.now + 0.01
            self.now = min(max(self.now, due), end)
            self.link.tick(self.now)
            sent += self.read()
        return sent

    def start(self, op, id=None, **fields):
        parts = [("command", b"true")] if op == "exec" else ()
        call = self.link.start(op, fields, parts, Inbox(), id, self.now)
        self.read()
        return call

    def restart(self, boot="b2"):
        self.link.lose("the daemon closed the connection", self.now)
        return self.connect(boot)


@pytest.fixture
def daemon():
    x = Daemon()
    x.connect()
    return x


def fault_of(call):
    (fault,) = call.inbox
    return fault


def without(header, *names):
    return {k: v for k, v in header.items() if k not in names}


# The same name and instance on every connection is checked in Daemon.connect.


def test_nothing_but_the_hello_is_sent_before_its_answer():
    daemon = Daemon()
    daemon.link.opened(0)
    daemon.read()
    call = daemon.start("get", sandbox="s")
    assert not call.sent
    assert [x["op"] for x in daemon.says("hello", ok=True, boot="b1")] == ["get"]
    assert daemon.first[0].boot == "b1"


def test_another_boot_in_a_ping_is_another_daemon(daemon):
    call = daemon.start("exec", thread="t")
    daemon.says("ping", ok=True, boot="b2")
    assert not daemon.link.open and not call.inbox
    daemon.connect("b2")
    assert fault_of(call).code == "daemon_restarted"
    assert fault_of(call).details["started"] == "unknown"
    assert "the daemon restarted" in str(fault_of(call))


def test_three_missed_pings_want_another_connection(daemon):
    call = daemon.start("exec", thread="t")
    sent = daemon.pass_time(39.9)
    assert [x["op"] for x in sent] == ["ping"] * 3 and daemon.link.open
    daemon.pass_time(0.1)
    assert not daemon.link.open and not call.inbox


@pytest.mark.parametrize("op", ["get", "list", "stats", "ping", "read_file", "download_file"])
@pytest.mark.parametrize("boot", ["b1", "b2"])
def test_a_read_is_sent_again_under_another_id(daemon, op, boot):
    call = daemon.start(op, path="f")
    first = call.id
    (again,) = daemon.restart(boot)
    assert (again["op"], again["path"]) == (op, "f") and again["id"] != first
    assert [x.header["event"] for x in call.inbox] == ["resent"]
    daemon.says(first, ok=True, of="the first one")
    assert len(call.inbox) == 1
    daemon.says(again["id"], ok=True, of="the second one")
    assert call.inbox[1].header["of"] == "the second one"


@pytest.mark.parametrize("op", ["write_file", "str_replace", "destroy", "release", "input"])
def test_a_write_is_never_sent_again(daemon, op):
    call = daemon.start(op, path="f")
    assert daemon.restart("b2") == []
    assert fault_of(call).code == "daemon_restarted" and not fault_of(call).retryable


def test_an_acquire_is_sent_again_to_the_next_daemon_only(daemon):
    call = daemon.start("acquire", thread="t")
    assert daemon.restart("b1") == [] and not call.inbox
    assert [x["op"] for x in daemon.restart("b2")] == ["acquire"]


def test_the_same_daemon_still_answers_a_write_on_the_new_connection(daemon):
    call = daemon.start("write_file", path="f")
    assert daemon.restart("b1") == [] and not call.inbox
    daemon.says(call.id, ok=True, bytes=3)
    assert call.inbox[0].header["bytes"] == 3


def test_a_reply_that_was_lost_with_the_connection_is_not_waited_for_for_ever():
    daemon = Daemon(heartbeat=0, timeout=30)
    daemon.connect()
    call = daemon.start("write_file", path="f", timeout_ms=5000, queue_ms=1000)
    daemon.restart("b1")
    daemon.pass_time(35.9)
    assert not call.inbox
    daemon.pass_time(0.1)
    assert fault_of(call).code == "daemon_restarted"


def test_an_upload_is_lost_with_its_connection(daemon):
    call = daemon.start("write_file", path="f", size=100)
    assert daemon.restart("b1") == []
    assert fault_of(call).code == "daemon_restarted"


# Execs, where only the connection broke.


def test_the_same_daemon_is_asked_for_an_exec_by_its_request_id(daemon):
    call = daemon.start("exec", id="mine", thread="t", want=["output"], max_output_chars=5)
    (question,) = daemon.restart("b1")
    assert without(question, "id") == {
        "op": "result",
        "request": "mine",
        "want": ["output"],
        "max_output_chars": 5,
    }
    parts = [["output", 2]]
    daemon.says(question["id"], b"ok", ok=True, state="finished", exit_code=0, parts=parts)
    assert call.inbox[0].parts() == {"output": b"ok"}
    assert call.inbox[0].header["exit_code"] == 0 and "state" not in call.inbox[0].header
    daemon.says("mine", ok=True)  # Too late, and not taken for anything.
    assert len(call.inbox) == 1


def test_a_running_exec_is_answered_on_the_new_connection(daemon):
    call = daemon.start("exec", id="mine", thread="t")
    (question,) = daemon.restart("b1")
    assert daemon.says(question["id"], ok=True, state="running") == []
    for _ in range(100):  # However long it runs.
        daemon.pass_time(10)
        daemon.says("ping", ok=True, boot="b1")
    assert not call.inbox
    daemon.says("mine", ok=True, exit_code=0)
    assert call.inbox[0].header["exit_code"] == 0


def test_its_own_reply_may_come_before_the_answer_to_the_question(daemon):
    call = daemon.start("exec", id="mine", thread="t")
    (question,) = daemon.restart("b1")
    daemon.says("mine", ok=True, exit_code=0)
    assert daemon.says(question["id"], ok=True, state="not_found") == []
    assert len(call.inbox) == 1


def test_an_exec_without_a_key_that_the_same_daemon_does_not_know_is_never_sent_again(daemon):
    call = daemon.start("exec", thread="t")
    (question,) = daemon.restart("b1")
    assert daemon.says(question["id"], ok=True, state="not_found") == []
    assert fault_of(call).code == "daemon_restarted"


def test_a_keyed_exec_that_the_same_daemon_does_not_know_is_asked_for_by_its_key(daemon):
    daemon.start("exec", thread="t", key="k")
    (question,) = daemon.restart("b1")
    (second,) = daemon.says(question["id"], ok=True, state="not_found")
    assert (second["op"], second["key"]) == ("result", "k")


# Keyed execs, where the daemon restarted.


@pytest.fixture
def keyed(daemon):
    """A keyed exec of which the next daemon has been asked, and the question."""
    call = daemon.start("exec", id="mine", thread="t", user="u", key="k", env={"A": "b"})
    (question,) = daemon.restart("b2")
    return call, question


def test_the_next_daemon_is_asked_by_key_in_the_sandbox_that_there_was(keyed):
    _, question = keyed
    id = "50f438d7b441d038"  # Of u's t; asking for the thread would make it a new sandbox.
    assert without(question, "id") == {"op": "result", "sandbox": id, "key": "k"}


def test_a_finished_exec_is_not_sent_again(daemon, keyed):
    call, question = keyed
    assert daemon.says(question["id"], ok=True, state="finished", exit_code=3) == []
    assert call.inbox[0].header["exit_code"] == 3


@pytest.mark.parametrize("state", ["running", "not_found"])
def test_an_exec_that_runs_or_never_came_is_sent_again_with_its_key(daemon, keyed, state):
    call, question = keyed
    (again,) = daemon.says(question["id"], ok=True, state=state)
    assert without(again, "parts") == {
        "op": "exec",
        "id": "mine",
        "sandbox": question["sandbox"],
        "key": "k",
        "env": {"A": "b"},
    }
    daemon.says("mine", ok=True, exit_code=0)
    assert call.inbox[0].header["exit_code"] == 0


def test_an_exec_is_not_run_in_a_sandbox_that_is_younger_than_itself(daemon, keyed):
    """The one that it was sent to may have run it, and died with the daemon."""
    call, question = keyed
    daemon.now = call.since + 5
    assert daemon.says(question["id"], ok=True, state="not_found", age_ms=4999) == []
    fault = fault_of(call)
    assert (fault.code, fault.details["started"]) == ("daemon_restarted", "unknown")


def test_an_exec_that_never_came_is_run_in_a_sandbox_that_was_there(daemon, keyed):
    call, question = keyed
    daemon.now = call.since + 5
    (again,) = daemon.says(question["id"], ok=True, state="not_found", age_ms=5000)
    assert again["op"] == "exec"


def test_an_exec_whose_sandbox_has_ended_says_whether_it_had_started(daemon, keyed):
    call, question = keyed
    error = {"code": "sandbox_lost", "message": "x", "details": {"started": True}}
    assert daemon.says(question["id"], ok=False, error=error) == []
    assert call.inbox[0].header["error"] == error


def test_an_exec_whose_sandbox_nobody_knows_is_not_run_in_another(daemon, keyed):
    call, question = keyed
    error = {"code": "sandbox_not_found", "message": "x", "details": {}}
    assert daemon.says(question["id"], ok=False, error=error) == []
    told = call.inbox[0].header["error"]
    assert (told["code"], told["details"], told["retryable"]) == (
        "sandbox_lost",
        {"started": "unknown"},
        False,
    )


@pytest.mark.parametrize("code", ["invalid_request", "shutting_down", "queue_full", "internal"])
def test_a_daemon_that_cannot_tell_leaves_it_unknown(daemon, keyed, code):
    """Such as one that has no op `result`: its error is not the exec's."""
    call, question = keyed
    assert daemon.says(question["id"], ok=False, error={"code": code}) == []
    assert fault_of(call).code == "daemon_restarted"


def test_a_question_without_an_answer_is_given_up():
    daemon = Daemon(heartbeat=0, timeout=30)
    daemon.connect()
    call = daemon.start("exec", thread="t", key="k")
    daemon.restart("b2")
    daemon.pass_time(29.9)
    assert not call.inbox
    daemon.pass_time(0.1)
    assert fault_of(call).code == "daemon_restarted"


def test_a_daemon_that_dies_again_is_asked_again(daemon, keyed):
    call, question = keyed
    (second,) = daemon.restart("b3")
    assert without(second, "id") == without(question, "id")
    daemon.says(question["id"], ok=True, state="finished")  # Of the connection before.
    assert daemon.says(second["id"], ok=True, state="not_found")[0]["op"] == "exec"
    (third,) = daemon.restart("b4")
    assert without(third, "id") == without(question, "id") and not call.inbox


def test_what_is_settled_goes_before_what_came_later(daemon):
    daemon.start("exec", thread="t", key="k")
    daemon.start("get", sandbox="s")
    daemon.link.lose("the daemon closed the connection", daemon.now)
    daemon.start("exec", thread="t")
    assert [x["op"] for x in daemon.connect("b2")] == ["result", "get", "exec"]


# While the daemon is away.


def test_a_new_call_waits_its_own_time_and_says_who_does_not_answer(daemon):
    daemon.link.lose("the daemon closed the connection", daemon.now)
    daemon.pass_time(20)
    call = daemon.start("exec", thread="t")
    daemon.pass_time(29.9)
    assert not call.inbox
    daemon.pass_time(0.2)
    assert fault_of(call).code == "daemon_unreachable" and fault_of(call).retryable
    assert "the daemon at tcp://x:1 does not answer" in str(fault_of(call))


def test_open_requests_wait_for_the_next_daemon_no_longer_than_the_timeout(daemon):
    calls = [daemon.start("get", sandbox="s"), daemon.start("exec", thread="t", key="k")]
    daemon.link.lose("the daemon closed the connection", daemon.now)
    daemon.pass_time(29.9)
    assert not any(x.inbox for x in calls)
    daemon.pass_time(0.2)
    assert {fault_of(x).code for x in calls} == {"daemon_restarted"}


def test_attempts_to_connect_become_rarer_and_then_stay_as_they_are(daemon):
    daemon.link.lose("the daemon closed the connection", daemon.now)
    pauses = []
    for _ in range(8):
        begin = daemon.now
        while not daemon.link.wants_socket(daemon.now):
            daemon.now += 0.01
        pauses.append(round(daemon.now - begin, 1))
        daemon.link.opened(daemon.now)
        daemon.link.lose("the daemon closed the connection", daemon.now)
    assert pauses[0] == 0 and pauses[-2:] == [1.0, 1.0]
    assert pauses == sorted(pauses)


def test_a_refused_hello_is_told_to_who_waits_and_tried_again(daemon):
    daemon.link.lose("the daemon closed the connection", daemon.now)
    call = daemon.start("get", sandbox="s")
    daemon.link.opened(daemon.now)
    daemon.says("hello", ok=False, error={"code": "busy", "message": "taken"})
    assert fault_of(call).code == "busy" and not daemon.link.open
    daemon.now += 1
    daemon.connect("b1")
    assert isinstance(daemon.first[0], corral.ServerInfo) and len(daemon.first) == 1


def test_an_exec_that_is_abandoned_while_the_daemon_is_away_is_cancelled_later(daemon):
    daemon.start("exec", id="mine", thread="t")
    daemon.link.lose("the daemon closed the connection", daemon.now)
    daemon.start("exec", id="held", thread="t")
    daemon.link.abandon("mine")
    daemon.link.abandon("held")
    (cancel,) = daemon.connect("b1")
    assert (cancel["op"], cancel["request"]) == ("cancel", "mine")


def test_the_end_of_a_link_ends_everything_and_takes_no_more(daemon):
    call = daemon.start("exec", thread="t", key="k")
    daemon.link.lose("the daemon closed the connection", daemon.now)
    daemon.link.end(corral.errors.closed)
    assert fault_of(call).code == "client_closed"
    with pytest.raises(corral.ClientClosed):
        daemon.start("get")


@pytest.mark.parametrize("key", [None, "k"])
def test_an_exec_with_a_key_waits_for_the_next_daemon_where_one_leaves_it_running(daemon, key):
    fields = {"thread": "t", **({"key": key} if key else {})}
    call = daemon.start("exec", id="mine", **fields)
    daemon.link.take_outgoing(daemon.now)
    error = {"code": "shutting_down", "message": "x", "details": {"started": True}, "retryable": False}
    assert daemon.says("mine", ok=False, error=error) == []
    if key is None:
        assert call.inbox[0].header["error"] == error
        return
    assert call.inbox == []
    (question,) = daemon.restart()
    assert (question["op"], question["key"]) == ("result", "k")
    daemon.says(question["id"], ok=True, state="finished", exit_code=3)
    assert call.inbox[0].header["exit_code"] == 3

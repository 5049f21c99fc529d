"""get, acquire, release and reset of the corral command."""

import json
import re
import signal

import pytest

from harness import eventually
from harness.command import LIMIT, wait_for_line


@pytest.fixture
def thread(own_thread):
    return own_thread


def leases(service, thread):
    return service.json("get", "-t", thread)["leases"]


# -- get ------------------------------------------------------------------------------------------


def test_get_shows_a_sandbox_by_thread_and_by_id(service, thread):
    service.run("exec", "-t", thread, "--", "true")
    by_thread = service.json("get", "-t", thread)
    assert (by_thread["thread"], by_thread["state"], by_thread["leases"]) == (thread, "parked", 0)
    assert by_thread["usage"]["execs"] == 1
    assert service.json("get", by_thread["sandbox"][:8])["sandbox"] == by_thread["sandbox"]
    text = service.run("get", "-t", thread).stdout.decode()
    assert re.search(rf"^sandbox +{by_thread['sandbox']}$", text, re.M)
    assert re.search(r"^execs +1$", text, re.M)


@pytest.mark.parametrize("words", [["0123456789abcdef"], ["-t", "nobody"]])
def test_a_sandbox_that_is_not_there_is_a_failure_and_is_not_made(service, words):
    for command in (["get"], ["reset"], ["release", "--lease", "a/1"]):
        done = service.run(*command, *words)
        assert done.returncode == 125
        assert b"sandbox_not_found" in done.stderr
    done = service.run("--json", "get", *words)
    assert json.loads(done.stderr)["error"]["code"] == "sandbox_not_found"


# -- acquire, release -----------------------------------------------------------------------------


def test_acquire_makes_a_sandbox_ready_and_holds_nothing(service, thread):
    first = service.json("acquire", "-t", thread)
    assert (first["origin"], first["session"]) == ("created", 1)
    assert "lease" not in first
    assert service.json("get", "-t", thread)["state"] == "parked"
    text = service.run("acquire", "-t", thread).stdout.decode()
    assert re.search(r"^origin +warm$", text, re.M)


def test_a_lease_outlives_the_command_until_it_is_released(service, thread):
    lease = service.json("acquire", "-t", thread, "--for", "1h")["lease"]
    assert leases(service, thread) == 1
    assert service.json("release", "-t", thread, "--lease", lease)["remaining"] == 0
    assert leases(service, thread) == 0
    done = service.run("release", "-t", thread, "--lease", lease)
    assert done.returncode == 125 and b"holds no such lease" in done.stderr


def test_a_lease_for_a_time_ends_by_itself(service, thread):
    service.json("acquire", "-t", thread, "--for", "1s")
    eventually(lambda: leases(service, thread) == 0, LIMIT)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_hold_keeps_a_lease_until_a_signal(service, thread, by):
    with service.start("--json", "acquire", "-t", thread, "--hold") as run:
        assert json.loads(wait_for_line(run.stdout))["lease"]
        assert leases(service, thread) == 1
        run.send_signal(by)
        assert run.wait(LIMIT) == 0
    assert leases(service, thread) == 0


def test_hold_ends_with_its_sandbox_or_its_lease(service, thread):
    for words in (["destroy", "--force"], ["release", "--lease"]):
        with service.start("--json", "acquire", "-t", thread, "--hold") as run:
            lease = json.loads(wait_for_line(run.stdout))["lease"]
            given = [lease] if words[0] == "release" else []
            assert service.run(*words, *given, "-t", thread).returncode == 0
            assert run.wait(LIMIT) == 125
            assert json.loads(run.stderr.read())["error"]["code"] == "sandbox_lost"


def test_a_sandbox_of_no_thread_goes_with_its_lease(service):
    granted = service.json("acquire", "--for", "1h")
    service.json("release", granted["sandbox"], "--lease", granted["lease"])
    eventually(lambda: service.run("get", granted["sandbox"]).returncode == 125, LIMIT)


# -- reset ----------------------------------------------------------------------------------------


def test_reset_replaces_the_shell_and_keeps_the_files(service, thread):
    service.run("exec", "-t", thread, "--", "echo kept > f; cd /tmp; v=gone")
    assert service.run("reset", "-t", thread).stdout == b"session 2\n"
    done = service.run("exec", "-t", thread, "--", 'echo "$v" $PWD; cat f')
    assert done.stdout == b" /mnt/user-data/workspace\nkept\n"
    assert service.json("reset", "-t", thread)["session"] == 3

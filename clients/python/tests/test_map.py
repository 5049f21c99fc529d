"""Many commands at once, against a scripted peer."""

import threading

import pytest
from support.scripted_daemon import echo_exec, exec_reply, ignore

import corral
from corral._map import Schedule


def test_the_first_command_whose_thread_is_free_is_next():
    x = Schedule(5, ["a", "b"])
    assert [x.next(), x.next(), x.next()] == [0, 1, None]
    x.done(1)
    assert [x.next(), x.next()] == [3, None]
    x.done(0)
    assert x.next() == 2
    x.done(3)
    assert x.next() is None  # b has no more.
    x.done(2)
    assert [x.next(), x.next()] == [4, None]


def test_a_thread_that_is_named_twice_gets_two_of_a_round_one_after_the_other():
    x = Schedule(3, ["a", "a", "b"])
    assert [x.next(), x.next(), x.next()] == [0, 2, None]
    x.done(0)
    assert x.next() == 1 and x.lane(1) == "a"


def command_of(request):
    return request.parts["command"].decode()


def test_results_come_as_commands_finish(peer, client):
    held = {}
    peer.on("exec", lambda r: held.update({command_of(r): r}))
    results = client.map(["0", "1", "2"], threads=["a", "b", "c"])
    first = threading.Thread(target=lambda: seen.append(next(results)))
    seen = []
    first.start()
    peer.wait_for("exec", 3)
    for name in "201":
        peer.run(lambda name=name: exec_reply(held[name], name))
        if first is not None:
            first.join(10)
            first = None
        else:
            seen.append(next(results))
    assert [(x.index, x.command, x.result.output) for x in seen] == [
        (2, "2", "2"),
        (0, "0", "0"),
        (1, "1", "1"),
    ]
    assert list(results) == []
    assert {command_of(x): x.header["thread"] for x in peer.of("exec")} == dict(zip("012", "abc"))


def test_commands_of_one_thread_run_one_after_the_other_in_order(peer, client):
    open_now, most = [], []

    def answer():
        echo_exec(open_now.pop())

    def take(request):
        open_now.append(request)
        most.append(len(open_now))
        peer.run(answer)

    peer.on("exec", take)
    commands = [str(i) for i in range(20)]
    assert [x.index for x in client.map(commands, thread="t", concurrency=8)] == list(range(20))
    assert [command_of(x) for x in peer.of("exec")] == commands
    assert set(most) == {1}


def test_many_threads_are_used_at_once_up_to_the_limit(peer, client):
    held = []

    def hold(request):
        held.append(request)
        if len(held) == 5:
            peer.run(lambda: [echo_exec(held.pop()) for _ in range(5)])

    peer.on("exec", hold)
    threads = [f"t{i}" for i in range(10)]
    results = list(client.map(map(str, range(50)), threads=threads, concurrency=5))
    assert sorted(x.index for x in results) == list(range(50))
    assert all(x.result.output == x.command and x.ok for x in results)
    assert {x.header["thread"] for x in peer.of("exec")} == set(threads)


def test_one_failure_does_not_end_the_others(peer, client):
    def answer(request):
        if command_of(request) == "1":
            return request.fail("sandbox_lost", "it died")
        exec_reply(request, exit_code=3)

    peer.on("exec", answer)
    results = {x.index: x for x in client.map("012", threads=["a", "b"])}
    assert isinstance(results[1].error, corral.SandboxLost)
    assert results[1].result is results[1].error
    assert [results[i].result.exit_code for i in (0, 2)] == [3, 3]
    assert results[0].error is None and not results[0].ok and not results[1].ok


def test_a_command_that_cannot_be_sent_fails_alone(peer, client):
    peer.on("exec", echo_exec)
    results = {x.index: x for x in client.map(["a", "x" * (17 << 20), "b"], thread="t")}
    assert isinstance(results[1].error, corral.InvalidRequest)
    assert results[0].ok and results[2].ok


def test_on_demand_the_first_error_ends_all(peer, client):
    def answer(request):
        if command_of(request) == "1":
            request.fail("sandbox_lost", "it died")

    peer.on("exec", answer)
    results = list(client.map("01234", threads="a b c".split(), concurrency=2, stop_on_error=True))
    assert [(x.index, x.error.code) for x in results] == [(1, "sandbox_lost")]
    assert peer.wait_for("cancel").header["request"] == peer.of("exec")[0].id
    client.ping()
    assert [command_of(x) for x in peer.of("exec")] == ["0", "1"]


@pytest.mark.parametrize("leave", ["close", "drop"])
def test_leaving_the_generator_cancels_what_is_open(peer, client, leave):
    peer.on("exec", lambda r: echo_exec(r) if command_of(r) == "0" else ignore(r))
    results = client.map("0123", threads=list("abcd"), concurrency=3)
    assert next(results).index == 0
    peer.wait_for("exec", 3)
    if leave == "close":
        results.close()
    else:
        del results
    peer.wait_for("cancel", 2)
    ids = {command_of(x): x.id for x in peer.of("exec")}
    assert {x.header["request"] for x in peer.of("cancel")} == {ids["1"], ids["2"]}
    client.ping()
    assert "3" not in ids


def test_a_generator_that_is_never_read_sends_nothing(peer, client):
    client.map("01", thread="t").close()
    client.ping()
    assert not peer.of("exec")


def test_each_command_has_a_key_of_its_own_and_the_given_options(peer, client):
    peer.on("exec", echo_exec)
    list(client.map("ab", thread="t", key="k", user="u", env={"A": "b"}, timeout=2, stdin="in"))
    headers = [x.header for x in peer.of("exec")]
    assert [x["key"] for x in headers] == ["k-0", "k-1"]
    assert {(x["user"], x["timeout_ms"], x["env"]["A"]) for x in headers} == {("u", 2000, "b")}
    assert {x.parts["stdin"] for x in peer.of("exec")} == {b"in"}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"thread": "a", "threads": ["b"]},
        {"threads": []},
        {"threads": "abc"},
        {"thread": "a", "concurrency": 0},
    ],
)
def test_where_to_run_is_asked_for_at_once(client, options):
    with pytest.raises(corral.InvalidRequest, match="thread|concurrency"):
        client.map(["x"], **options)


def test_a_closed_client_ends_every_command(peer):
    client = corral.Client(peer.endpoint)
    results = client.map("01", threads=["a", "b"])
    closing = threading.Thread(target=lambda: (peer.wait_for("exec", 2), client.close()))
    closing.start()
    assert {x.error.code for x in results} == {"client_closed"}
    closing.join()

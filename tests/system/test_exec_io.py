"""What goes into a command and comes out of it: exact, in order, bounded."""

import time

import pytest
from harness import running

from corral import errors


def test_stdin_is_what_was_given_or_empty(sandbox):
    blob = bytes(range(256)) * 4096
    assert sandbox.exec("sha256sum | cut -c1-8; cat", stdin="").stdout == b"e3b0c442\n"
    assert sandbox.exec("cat", stdin="text\n").stdout == b"text\n"
    assert sandbox.exec("wc -c", stdin=blob * 4).stdout == b"%d\n" % (4 * len(blob))
    assert sandbox.exec("cat > copy", stdin=blob).ok
    assert sandbox.download_file("copy") == blob
    assert sandbox.exec("true", stdin=blob).ok
    assert sandbox.exec("echo alive").stdout == b"alive\n"


def test_input_feeds_a_running_command(sandbox):
    with sandbox.exec_stream("read -r -p 'name? ' n; echo hello $n; cat", stdin_open=True) as run:
        run.send_input("bob\n")
        assert run.send_input("rest") == 4
        run.close_input()
        assert run.result().stdout == b"hello bob\nrest"
    with pytest.raises(errors.InvalidRequest):
        run.send_input("late")


def test_input_tells_how_much_a_command_that_does_not_read_took(client, sandbox):
    run = sandbox.exec_stream("sleep 1; wc -c", stdin_open=True)
    running(client, sandbox.id)
    accepted = run.send_input(b"x" * (1 << 20) * 4)
    assert 0 < accepted < 4 << 20
    time.sleep(1.2)
    run.close_input()
    assert run.result().stdout == b"%d\n" % accepted


def test_a_stream_is_complete_and_in_order(sandbox):
    run = sandbox.exec_stream("for i in $(seq 2000); do echo line $i; echo e$i >&2; done")
    seen = {"stdout": bytearray(), "stderr": bytearray()}
    for chunk in run:
        assert (chunk.offset, chunk.gap) == (len(seen[chunk.stream]), 0)
        seen[chunk.stream] += chunk.data
    expected = "".join(f"line {i}\n" for i in range(1, 2001)).encode()
    assert bytes(seen["stdout"]) == expected == run.result().stdout
    assert bytes(seen["stderr"]) == run.result().stderr


def test_chunks_arrive_while_the_command_runs(sandbox):
    begin = time.monotonic()
    run = sandbox.exec_stream("echo first; sleep 1; echo second")
    first = next(iter(run))
    assert (first.data, time.monotonic() - begin < 0.8) == (b"first\n", True)
    assert run.result().stdout == b"first\nsecond\n"


def test_a_reader_that_does_not_keep_up_is_told_what_it_missed(sandbox):
    run = sandbox.exec_stream("head -c 4000000 /dev/zero | tr '\\0' x; echo; read x; echo end", stdin_open=True)
    time.sleep(0.5)
    chunks = [next(iter(run)) for _ in range(8)]  # The window of 256 KiB, full since long.
    run.close_input()
    chunks += run
    got, gaps = sum(len(x.data) for x in chunks), sum(x.gap for x in chunks)
    assert gaps > 0
    assert chunks[-1].offset + len(chunks[-1].data) == got + gaps
    assert run.result().stdout_bytes == 4000000 + 5


def test_binary_output_is_exact(sandbox):
    everything = bytes(range(256)) * 100
    sandbox.write_file("all", everything)
    result = sandbox.exec("cat all; cat all >&2")
    assert (result.stdout, result.stderr) == (everything, everything)
    assert "�" in result.output


@pytest.mark.limit(120)
def test_100_mb_of_output_are_counted_and_bounded(daemon, sandbox):
    sandbox.exec("true")
    before = daemon.resident_bytes()
    result = sandbox.exec("head -c 100000000 /dev/zero | tr '\\0' x; echo end; (exit 6)", timeout=60)
    assert (result.exit_code, result.truncated, result.stdout_bytes) == (6, True, 100000004)
    assert result.stdout.startswith(b"xxxx") and result.stdout.endswith(b"xend\n")
    assert len(result.stdout) < 1100 * 1024
    assert "chars skipped] ..." in result.output and len(result.output) <= 20000
    assert daemon.resident_bytes() - before < 64 << 20


def test_the_agents_text_is_cut_in_the_middle(sandbox):
    text = sandbox.exec("head -c 30000 /dev/zero | tr '\\0' x").output
    assert text.count("10049 chars skipped") == 1
    assert text.startswith("x" * 9975 + "\n...") and text.endswith("...\n" + "x" * 9976)
    assert sandbox.exec("seq 100", max_output_chars=0).output == "".join(f"{i}\n" for i in range(1, 101))


def test_want_says_what_is_sent(sandbox):
    result = sandbox.exec("echo o; echo e >&2", want=["stderr"])
    assert (result.output, result.stdout, result.stderr) == ("", b"", b"e\n")

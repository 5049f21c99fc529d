"""The client and a real daemon."""

import asyncio
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.real_daemon import CORRALD, RealDaemon, holds_for, wait_until

import corral
from corral import aio

pytestmark = pytest.mark.skipif(not CORRALD.exists(), reason=f"{CORRALD} is not built")

MIB = 1024 * 1024
WORKSPACE = "/mnt/user-data/workspace"


@pytest.fixture(scope="module")
def daemon():
    root = tempfile.mkdtemp(prefix="corral-", dir="/tmp")
    x = RealDaemon(root)
    yield x
    x.stop()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def own_daemon(run_dir):
    """One that the test may kill."""
    x = RealDaemon(run_dir)
    yield x
    x.stop()


@pytest.fixture
def client(daemon):
    with corral.Client(daemon.endpoint) as x:
        yield x


@pytest.fixture
def thread():
    return f"t-{uuid.uuid4().hex[:16]}"


@pytest.fixture
def sandbox(client, thread):
    with client.acquire(thread) as x:
        yield x
    client.destroy(x.id, force=True, purge=True)


# Commands.


def test_a_command_gives_its_output_both_streams_and_its_exit_code(sandbox):
    result = sandbox.exec("echo out; echo err >&2; (exit 3)")
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert "out" in result.output
    assert "Std Error:" in result.output
    assert "Exit Code: 3" in result.output
    assert (result.stdout_bytes, result.stderr_bytes) == (4, 4)
    assert result.cwd == WORKSPACE
    assert not result.ok and not result.truncated


def test_every_byte_of_output_and_input_arrives(sandbox):
    data = bytes(range(256)) * 100
    result = sandbox.exec("cat", stdin=data)
    assert result.stdout == data
    assert sandbox.exec("printf 'a\\0b'").stdout == b"a\0b"


def test_the_session_persists_and_env_and_cwd_hold_for_one_command(sandbox):
    assert sandbox.exec("cd /tmp; export A=1; f() { echo f; }").cwd == "/tmp"
    result = sandbox.exec('echo "$A $B $PWD"; f', env={"B": "ä b"}, cwd="/usr")
    assert result.stdout.decode() == "1 ä b /usr\nf\n"
    assert sandbox.exec('echo "$A,$B,$PWD"').stdout == b"1,,/tmp\n"
    before = sandbox.exec("true").session
    assert sandbox.reset_session() != before
    assert sandbox.exec('echo "$A,$PWD"').stdout == f",{WORKSPACE}\n".encode()


def test_a_command_that_ends_the_shell_says_so_and_the_next_one_works(sandbox):
    first = sandbox.exec("true").session
    assert sandbox.exec("exit 7").exit_code == 7
    assert sandbox.exec("echo on").stdout == b"on\n"
    assert sandbox.exec("true").session != first


def test_a_timeout_ends_the_command_and_keeps_the_session(sandbox):
    sandbox.exec("A=kept")
    result = sandbox.exec("echo before; sleep 600", timeout=0.3)
    assert result.timed_out and result.exit_code is None
    assert result.stdout == b"before\n"
    assert 0.2 < result.duration < 10
    assert sandbox.exec("echo $A").stdout == b"kept\n"


def test_a_long_output_is_cut_in_the_middle_for_the_agent(sandbox):
    result = sandbox.exec("head -c 30000 /dev/zero | tr '\\0' x", max_output_chars=20000)
    assert 19_000 < len(result.output) <= 20_000
    assert "[middle truncated:" in result.output
    assert len(result.stdout) == result.stdout_bytes == 30000


def test_only_the_wanted_parts_are_sent(sandbox):
    result = sandbox.exec("echo x", want=["stdout"])
    assert (result.stdout, result.output) == (b"x\n", "")


def test_commands_of_one_sandbox_follow_one_another(sandbox):
    with ThreadPoolExecutor(8) as pool:
        command = "read n < n; echo $((n + 1)) > n"
        sandbox.exec("echo 0 > n")
        assert all(x.ok for x in pool.map(lambda _: sandbox.exec(command), range(40)))
    assert sandbox.read_file("n") == "40\n"


def test_a_wait_for_the_turn_is_bounded(sandbox):
    with sandbox.exec_stream("echo started; sleep 600") as running:
        assert next(iter(running)).data == b"started\n"
        with pytest.raises(corral.Busy):
            sandbox.exec("true", queue_timeout=0.1)
        assert running.cancel()
        assert running.result().cancelled


def test_a_bad_request_names_what_to_change(sandbox, client):
    with pytest.raises(corral.InvalidRequest, match="timeout_ms"):
        sandbox.exec("true", timeout=100 * 3600)
    with pytest.raises(corral.InvalidRequest, match="env"):
        sandbox.exec("true", env={"A-B": "x"})
    with pytest.raises(corral.InvalidRequest, match="thread"):
        client.sandbox("../x").exec("true")


# Streaming, input and cancel.


def test_output_streams_while_the_command_runs_and_input_reaches_it(sandbox):
    stream = sandbox.exec_stream("echo ready; read x; echo got $x; cat", stdin_open=True)
    seen = b""
    for chunk in stream:
        assert chunk.offset == len(seen) and chunk.gap == 0
        if not seen:
            assert stream.send_input("one\ntwo\n") == 8
            stream.close_input()
        seen += chunk.data
    assert seen == b"ready\ngot one\ntwo\n"
    assert stream.result().ok
    assert stream.result().stdout == seen


def test_a_stream_that_nobody_reads_still_has_its_result(sandbox):
    result = sandbox.exec_stream("head -c 5000000 /dev/zero").result()
    assert result.ok and result.stdout_bytes == 5_000_000


def test_a_stream_that_is_left_early_is_cancelled(sandbox):
    with sandbox.exec_stream("while :; do echo x; done") as stream:
        next(iter(stream))
    assert sandbox.exec("echo free", queue_timeout=10).stdout == b"free\n"


def test_a_command_is_cancelled_from_another_thread_and_the_session_kept(client, sandbox):
    sandbox.exec("A=kept")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(sandbox.exec, "sleep 600", request_id="mine")
        wait_until(lambda: client.cancel("mine"), "a command to cancel")
        result = running.result(30)
    assert result.cancelled and result.exit_code is None
    assert sandbox.exec("echo $A").stdout == b"kept\n"
    assert client.cancel("mine") is False


# Files.


def test_files_are_written_read_and_changed(sandbox):
    text = "ä\r\nline 2\nno newline at the end"
    assert sandbox.write_file("d/f", text) == len(text.encode())
    assert sandbox.read_file("d/f") == text
    assert sandbox.read_file(f"{WORKSPACE}/d/f", start_line=2, end_line=2).strip() == "line 2"
    sandbox.write_file("d/f", "!", append=True)
    assert sandbox.str_replace("d/f", "line 2", "line two") == 1
    assert sandbox.read_file("d/f") == "ä\r\nline two\nno newline at the end!"
    assert sandbox.exec("chmod 700 d/f").ok
    sandbox.update_file("d/f", "new")
    assert sandbox.exec("stat -c %a d/f; cat d/f").stdout == b"700\nnew"


def test_files_are_found_by_name_and_by_content(sandbox):
    sandbox.write_file("src/a.c", "int main() {\n  return 0;\n}\n")
    sandbox.write_file("src/deep/b.h", "int b;\n")
    entries = {x.path.rsplit("/", 1)[-1]: x for x in sandbox.list_dir(".", max_depth=3)}
    assert entries["src"].is_dir
    assert entries["a.c"].type == "file" and entries["a.c"].size == 27
    assert "b.h" in entries
    found = sandbox.glob(".", "**/*.c")
    assert [x.rsplit("/", 1)[-1] for x in found.paths] == ["a.c"] and not found.truncated
    matches = sandbox.grep(".", r"return \d", glob="**/*.c").matches
    assert [(x.line_number, x.line.strip()) for x in matches] == [(2, "return 0;")]
    assert sandbox.grep(".", "int", max_results=1).truncated


def test_files_of_many_messages_go_both_ways(sandbox, tmp_path):
    data = os.urandom(MIB) * 40
    digest = hashlib.sha256(data).hexdigest()
    assert sandbox.write_file("big", io.BytesIO(data)) == len(data)
    assert sandbox.exec("sha256sum < big").stdout.decode().split()[0] == digest
    assert sandbox.download_file("big") == data
    assert sandbox.download_file("big", tmp_path / "big") == len(data)
    assert (tmp_path / "big").read_bytes() == data
    assert sandbox.download_file("big", offset=MIB - 1, length=3) == data[MIB - 1 : MIB + 2]


def test_a_hundred_mebibytes_go_both_ways_in_little_memory(daemon, sandbox, thread, tmp_path):
    """In a process of its own, so that its peak is that of the transfers."""
    path = tmp_path / "there"
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(100):
            digest.update(block := os.urandom(MIB))
            file.write(block)
    script = """
import resource, sys, corral
endpoint, thread, there, back = sys.argv[1:]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with corral.Client(endpoint) as client:
    sandbox, before = client.sandbox(thread), peak()
    assert sandbox.upload(there, "f") == sandbox.download("f", back) == 100 << 20
    print(peak() - before)
"""
    words = [daemon.endpoint, thread, str(path), str(tmp_path / "back")]
    run = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 48 * 1024  # KiB
    assert sandbox.exec("sha256sum < f").stdout.decode().split()[0] == digest.hexdigest()
    assert hashlib.sha256((tmp_path / "back").read_bytes()).digest() == digest.digest()


def test_a_transfer_cut_off_by_the_end_of_its_sandbox_leaves_nothing_behind(
    client, thread, tmp_path
):
    sandbox = client.acquire(thread)
    sandbox.exec("truncate -s 90M f")
    end = lambda done, total: done == MIB and client.destroy(sandbox.id, force=True)  # noqa: E731
    with pytest.raises(corral.SandboxLost):
        sandbox.download("f", tmp_path / "f", progress=end)
    assert os.listdir(tmp_path) == []


def test_a_file_over_the_transfer_limit_is_refused_before_its_first_byte(sandbox):
    class Endless(io.RawIOBase):
        def tell(self):
            return 0

        def seek(self, offset, whence=0):
            return 10**12 if whence == 2 else 0

        def read(self, count=-1):
            raise AssertionError("nothing may be sent")

    with pytest.raises(corral.FileTooLarge):
        sandbox.write_file("huge", Endless())


def test_file_errors_have_their_class(sandbox):
    sandbox.write_file("f", "aa")
    sandbox.write_file("binary", b"\0\xff")
    sandbox.exec("mkdir -p d")
    with pytest.raises(FileNotFoundError) as caught:
        sandbox.read_file("none")
    assert isinstance(caught.value, corral.FileNotFound)
    assert "none" in caught.value.filename
    with pytest.raises(corral.IsADirectory):
        sandbox.read_file("d")
    with pytest.raises(corral.NotADirectory):
        sandbox.list_dir("f")
    with pytest.raises(corral.NotText):
        sandbox.read_file("binary")
    with pytest.raises(corral.MatchNotFound):
        sandbox.str_replace("f", "b", "c")
    with pytest.raises(corral.MatchNotUnique):
        sandbox.str_replace("f", "a", "c")
    with pytest.raises(corral.InvalidPattern):
        sandbox.grep(".", "(")
    with pytest.raises(corral.NotRegularFile):
        sandbox.exec("mkfifo p")
        sandbox.read_file("p")
    with pytest.raises(corral.CorralError):
        sandbox.read_file("/etc/shadow")
    with pytest.raises(corral.CorralError):
        sandbox.write_file("../../../outside", "x")


# Leases.


def test_a_released_sandbox_is_parked_and_found_warm_with_its_session(client, thread):
    with client.acquire(thread) as first:
        assert first.origin == "created"
        assert first.lease.lease
        first.exec("A=kept")
        assert first.info()["state"] == "leased"
        with client.acquire(thread) as second:
            assert (second.id, second.origin) == (first.id, "active")
        assert first.info()["state"] == "leased"
    assert client.get(first.id)["state"] == "parked"
    with client.acquire(thread) as again:
        assert again.origin == "warm"
        assert again.exec("echo $A").stdout == b"kept\n"
    assert client.destroy(first.id, purge=True)
    assert client.get(first.id) is None


def test_a_borrowed_sandbox_is_made_on_demand_and_parked_after_each_use(client, thread):
    sandbox = client.sandbox(thread)
    assert sandbox.info() is None
    assert sandbox.exec("A=1; echo made").stdout == b"made\n"
    assert sandbox.info()["state"] == "parked"
    assert sandbox.exec("echo $A").stdout == b"1\n"
    assert sandbox.destroy(purge=True)


def test_heartbeats_keep_a_lease_and_without_a_client_it_ends(daemon, client, thread):
    with corral.Client(daemon.endpoint, heartbeat=0.5) as other:
        id = other.acquire(thread).id
        assert holds_for(3, lambda: client.get(id)["state"] == "leased")
    wait_until(lambda: client.get(id)["state"] == "parked", "the end of the lease")
    client.destroy(id, purge=True)


def test_a_sandbox_in_use_is_destroyed_only_by_force(client, daemon, thread):
    with corral.Client(daemon.endpoint) as other, other.acquire(thread) as theirs:
        running = theirs.exec_stream("echo started; sleep 600")
        assert next(iter(running)).data == b"started\n"
        with pytest.raises(corral.Busy):
            client.destroy(theirs.id)
        assert client.destroy(theirs.id, force=True, purge=True)
        with pytest.raises(corral.SandboxLost) as caught:
            running.result()
        assert caught.value.details["started"] is True
        assert not caught.value.retryable


def test_an_anonymous_sandbox_goes_with_its_release(client):
    with client.acquire() as sandbox:
        sandbox.write_file("f", "x")
        id = sandbox.id
    wait_until(lambda: client.get(id) is None, "its end")


def test_release_all_drops_what_this_client_leased(client, thread):
    ids = [client.acquire(f"{thread}-{i}").id for i in range(3)]
    assert client.release_all() == 3
    assert {client.get(id)["state"] for id in ids} == {"parked"}
    for id in ids:
        client.destroy(id, purge=True)


def test_a_sandbox_that_is_not_there(client):
    assert client.get("0123456789abcdef") is None
    with pytest.raises(corral.SandboxNotFound):
        client.destroy("0123456789abcdef")


def test_one_thread_never_sees_the_files_of_another(client, thread):
    with client.acquire(f"{thread}-a") as a, client.acquire(f"{thread}-b") as b:
        a.write_file("secret", "x")
        with pytest.raises(FileNotFoundError):
            b.read_file("secret")
        assert b.exec("ls -A").stdout == b""
        assert not b.exec("find / -name secret -path '*workspace*' 2>/dev/null | grep .").ok
    for x in (a, b):
        client.destroy(x.id, purge=True)


# Many, and the end.


def test_many_threads_share_one_client(client, thread):
    def work(i):
        with client.acquire(f"{thread}-{i}") as sandbox:
            sandbox.write_file("n", str(i))
            outputs = [sandbox.exec(f"echo $(cat n)-{j}").stdout.decode() for j in range(10)]
        client.destroy(sandbox.id, purge=True)
        return outputs

    with ThreadPoolExecutor(8) as pool:
        for i, outputs in enumerate(pool.map(work, range(16))):
            assert outputs == [f"{i}-{j}\n" for j in range(10)]


def test_a_pool_of_commands_runs_in_many_sandboxes_and_its_results_come_as_they_end(client, thread):
    threads = [f"{thread}-{i}" for i in range(3)]
    commands = ["sleep 600", *(f"echo {i}" for i in range(1, 9))]
    seen = []
    for index, command, result in client.map(commands, threads=threads, concurrency=3):
        assert (result.stdout, command) == (f"{index}\n".encode(), commands[index])
        seen.append(index)
        if len(seen) == 6:  # All but those of the first thread.
            assert client.sandbox(threads[0]).upload(io.BytesIO(b"go\n"), "go") == 3
            unblock = f"{WORKSPACE}/p"
            assert client.sandbox(threads[0]).info()["usage"]["running"], unblock
            break
    assert sorted(seen) == [1, 2, 4, 5, 7, 8]
    for x in threads:  # Leaving the loop has cancelled what ran.
        assert client.sandbox(x).exec("echo free", queue_timeout=20).stdout == b"free\n"
        client.sandbox(x).destroy(force=True, purge=True)


def test_a_pool_of_commands_in_one_sandbox_keeps_their_order(client, thread):
    commands = ["cd /tmp; A=1"] + [f"A=$((A + {i})); echo $PWD $A" for i in range(1, 10)]
    results = list(client.map(commands, thread=thread))
    assert [x.index for x in results] == list(range(10))
    assert results[-1].result.stdout == b"/tmp 46\n"
    client.sandbox(thread).destroy(force=True, purge=True)


# asyncio.


def in_loop(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


def test_many_tasks_work_in_many_sandboxes(daemon, thread):
    async def work(client, i):
        async with await client.acquire(f"{thread}-{i}") as sandbox:
            await sandbox.write_file("n", str(i))
            outputs = [(await sandbox.exec(f"echo $(cat n)-{j}")).stdout for j in range(10)]
        await client.destroy(sandbox.id, purge=True)
        return outputs

    async def main():
        async with aio.AsyncClient(daemon.endpoint) as client:
            return await asyncio.gather(*(work(client, i) for i in range(16)))

    for i, outputs in enumerate(in_loop(main())):
        assert outputs == [f"{i}-{j}\n".encode() for j in range(10)]


def test_a_cancelled_task_frees_its_sandbox_and_keeps_the_session(daemon, thread):
    async def main():
        async with aio.AsyncClient(daemon.endpoint) as client:
            sandbox = client.sandbox(thread)
            await sandbox.exec("A=kept")
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(sandbox.exec("sleep 600"), 0.3)
            result = await sandbox.exec("echo $A", queue_timeout=20)
            await sandbox.destroy(purge=True)
            return result.stdout

    assert in_loop(main()) == b"kept\n"


def test_a_task_streams_copies_and_maps(daemon, thread, tmp_path):
    content = os.urandom(20 * MIB)
    (tmp_path / "there").write_bytes(content)

    async def main():
        async with aio.AsyncClient(daemon.endpoint) as client:
            sandbox = client.sandbox(thread)
            command = "echo ready; read x; echo got $x"
            async with await sandbox.exec_stream(command, stdin_open=True) as stream:
                async for chunk in stream:
                    if chunk.offset == 0:
                        assert await stream.send_input("it\n", eof=True) == 3
                assert chunk.data == b"got it\n"
            assert (await stream.result()).ok
            assert await sandbox.upload(tmp_path / "there", "f") == len(content)
            assert await sandbox.download("f", tmp_path / "back") == len(content)
            threads = [thread, f"{thread}-2"]
            seen = {}
            async for index, _, result in client.map(["cat f | wc -c", "echo b"], threads=threads):
                seen[index] = result.stdout.strip()
            for x in threads:
                await client.sandbox(x).destroy(purge=True)
            return seen

    assert in_loop(main()) == {0: str(len(content)).encode(), 1: b"b"}
    assert (tmp_path / "back").read_bytes() == content


def test_what_there_is_and_how_much(client, sandbox, thread):
    rows = [x for x in client.list() if x["sandbox"] == sandbox.id]
    assert [(x["state"], x["thread"], x["user"]) for x in rows] == [("leased", thread, "default")]
    assert client.list(user="nobody-of-that-name") == []
    assert client.stats()
    assert client.ping()["boot"] == client.server.boot


def test_a_forked_child_works_beside_its_parent(client, sandbox):
    sandbox.write_file("f", "from the parent")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if sandbox.read_file("f") == "from the parent" else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert sandbox.exec("echo on").stdout == b"on\n"


def test_a_killed_daemon_ends_what_is_open_and_the_client_goes_on_with_the_next(own_daemon):
    with corral.Client(own_daemon.endpoint) as client:
        boot = client.server.boot
        stream = client.sandbox("t").exec_stream("echo started; sleep 600")
        assert next(iter(stream)).data == b"started\n"
        own_daemon.kill()
        own_daemon.start()
        with pytest.raises(corral.DaemonRestarted):
            stream.result()
        if client.get(client.sandbox("t").id):  # It may have outlived the daemon, and still work.
            client.sandbox("t").destroy(force=True)
        assert client.sandbox("t").exec("echo on").stdout == b"on\n"
        assert client.server.boot != boot


def test_a_daemon_that_shuts_down_answers_what_is_open(own_daemon):
    with corral.Client(own_daemon.endpoint) as client:
        stream = client.sandbox("t").exec_stream("echo started; read x", stdin_open=True)
        assert next(iter(stream)).data == b"started\n"
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(own_daemon.stop)
            wait_until(lambda: is_draining(client), "the drain")
            stream.close_input()
            assert stream.result().exit_code == 1
            stopping.result(60)


def is_draining(client):
    try:
        client.acquire("another")
    except corral.ShuttingDown:
        return True
    return False

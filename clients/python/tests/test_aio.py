"""The asyncio twin: it has the same surface, suspends where the other blocks, and ends with its
tasks."""

import asyncio
import inspect
import io
import threading
from hashlib import sha256

import pytest
from support.scripted_daemon import (
    ScriptedDaemon,
    echo_exec,
    exec_reply,
    ignore,
    pieces,
    rows_reply,
)

import corral
from corral import aio

MIB = 1024 * 1024
TWINS = {
    corral.Client: aio.AsyncClient,
    corral.Sandbox: aio.AsyncSandbox,
    corral.ExecStream: aio.AsyncExecStream,
}
#: What differs by nature: how a `with` and a `for` are spelled.
SPELLED = {"__enter__": "__aenter__", "__exit__": "__aexit__", "__iter__": "__aiter__"}
AT_ONCE = {"sandbox", "map"}  # Nothing is awaited to call them.


def surface(cls):
    """What a user may name of a class."""
    special = {*SPELLED, *SPELLED.values()} & {x for c in cls.__mro__[:-1] for x in vars(c)}
    return {x for x in dir(cls) if not x.startswith("_")} | special


def members(sync, twin):
    for name in sorted(surface(sync)):
        other = SPELLED.get(name, name)
        yield name, getattr(sync, name), getattr(twin, other)


@pytest.mark.parametrize("sync, twin", TWINS.items())
def test_both_surfaces_have_the_same_names(sync, twin):
    assert {SPELLED.get(x, x) for x in surface(sync)} == surface(twin)


@pytest.mark.parametrize("sync, twin", TWINS.items())
def test_both_surfaces_take_the_same_arguments(sync, twin):
    def parameters(function):
        found = inspect.signature(function).parameters.values()
        return [(x.name, x.kind, x.default, str(x.annotation).replace("Async", "")) for x in found]

    for name, mine, other in members(sync, twin):
        if callable(mine):
            assert parameters(mine) == parameters(other), name
    if sync is corral.Client:
        assert parameters(sync.__init__) == parameters(twin.__init__)


@pytest.mark.parametrize("sync, twin", TWINS.items())
def test_both_surfaces_return_the_same(sync, twin):
    for name, mine, other in members(sync, twin):
        if isinstance(mine, property):
            mine, other = mine.fget, other.fget
        here = str(inspect.signature(mine).return_annotation)
        there = str(inspect.signature(other).return_annotation)
        if name == "map":
            there = there.replace("Generator[MapResult, None]", "Generator[MapResult, None, None]")
        assert here == there.replace("Async", ""), name


@pytest.mark.parametrize("sync, twin", TWINS.items())
def test_all_that_may_wait_is_awaited(sync, twin):
    for name, mine, other in members(sync, twin):
        if not callable(mine) or name in AT_ONCE or name == "__iter__":
            continue
        assert inspect.iscoroutinefunction(other), name
        assert not inspect.iscoroutinefunction(mine), name


@pytest.mark.parametrize("cls", [*TWINS, *TWINS.values()])
def test_all_of_both_surfaces_is_typed_and_documented(cls):
    assert cls.__doc__
    for name in surface(cls) - {*SPELLED, *SPELLED.values()}:
        member = getattr(cls, name)
        assert inspect.getdoc(member), name
        function = member.fget if isinstance(member, property) else member
        signature = inspect.signature(function)
        annotations = [x.annotation for x in signature.parameters.values() if x.name != "self"]
        assert inspect.Signature.empty not in [*annotations, signature.return_annotation], name


# At work.


@pytest.fixture
def connect(peer):
    return lambda **more: aio.AsyncClient(peer.endpoint, **{"timeout": 10, **more})


async def until(condition):
    """Waits for what another thread brings about."""
    for _ in range(5000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not come true")


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def test_the_primitives_return_what_they_return_elsewhere(peer, connect):
    peer.on("acquire", lambda r: r.reply(sandbox="00ff", lease="l1", origin="warm"))
    peer.on("release", lambda r: r.reply(remaining=0))
    peer.on("exec", echo_exec)
    peer.on("read_file", lambda r: r.reply_parts({"content": "ä".encode()}))
    peer.on("write_file", lambda r: r.reply(bytes=len(r.parts["content"])))
    peer.on("list_dir", lambda r: rows_reply(r, [{"path": "/a/", "type": "directory"}]))
    peer.on("list", lambda r: rows_reply(r, [{"sandbox": "a"}]))
    peer.on("get", lambda r: r.reply(found=False))

    async def work():
        async with connect() as client, await client.acquire("t") as sandbox:
            assert client.server.boot == "boot-1"
            assert (await sandbox.exec("x")).output == "x"
            assert await sandbox.read_file("f") == "ä"
            assert await sandbox.write_file("f", "abc") == 3
            assert await sandbox.list_dir() == [corral.Entry("/a", "directory")]
            assert await client.list() == [{"sandbox": "a"}]
            assert await client.get("00ff00ff") is None
        assert [x.header["lease"] for x in peer.of("release")] == ["l1"]

    run(work())


def test_a_daemon_that_is_not_there_is_told(run_dir):
    async def work():
        with pytest.raises(corral.DaemonUnreachable, match="there is no such socket"):
            async with aio.AsyncClient(f"{run_dir}/none", timeout=0.1):
                pass
        client = aio.AsyncClient(f"{run_dir}/none", timeout=0.1)
        with pytest.raises(corral.DaemonUnreachable, match="not connected yet"):
            client.server
        with pytest.raises(corral.DaemonUnreachable, match="there is no such socket"):
            await client.stats()
        await client.close()
        with pytest.raises(corral.ClientClosed):
            await client.ping()

    run(work())


def test_a_refused_hello_raises_what_the_daemon_said(peer, connect):
    peer.on("hello", lambda r: r.fail("busy", "the name is taken"))

    async def work():
        with pytest.raises(corral.Busy, match="the name is taken"):
            async with connect(name="taken"):
                pass

    run(work())


def test_a_thousand_tasks_share_one_client_and_one_thread(peer, connect):
    peer.on("exec", echo_exec)

    async def work():
        async with connect() as client:
            before = threading.active_count()
            most = [0]

            async def one(i):
                result = await client.sandbox(f"t{i % 10}").exec(str(i))
                most[0] = max(most[0], threading.active_count())
                return result.output

            outputs = await asyncio.gather(*map(one, range(1000)))
            assert outputs == [str(i) for i in range(1000)]
            assert most[0] == before

    run(work())


def test_the_loop_goes_on_while_a_command_runs(peer, connect):
    peer.on("exec", ignore)
    peer.on("get", lambda r: r.reply(found=True))

    async def work():
        async with connect() as client:
            running = asyncio.create_task(client.sandbox("t").exec("sleep"))
            await until(lambda: peer.of("exec"))
            assert await client.get("2c26b46b")
            peer.run(lambda: exec_reply(peer.of("exec")[0], "done"))
            assert (await running).output == "done"

    run(work())


def test_a_task_that_is_cancelled_cancels_its_command(peer, connect):
    peer.on("exec", ignore)

    async def work():
        async with connect() as client:
            task = asyncio.create_task(client.sandbox("t").exec("sleep", request_id="mine"))
            await until(lambda: peer.of("exec"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: peer.of("cancel"))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.sandbox("t").exec("x", request_id="other"), 0.05)
            await until(lambda: len(peer.of("cancel")) == 2)
        assert [x.header["request"] for x in peer.of("cancel")] == ["mine", "other"]

    run(work())


def stream_of_two(request):
    request.event("chunk", b"a", stream="stdout", seq=0, offset=0)
    request.event("chunk", b"b", stream="stdout", seq=1, offset=1)


def test_a_command_streams_takes_input_and_ends(peer, connect):
    peer.on("exec", lambda r: (stream_of_two(r), held.append(r)))
    peer.on("input", lambda r: (r.reply(bytes=3), exec_reply(held[0], "ab")))
    held = []

    async def work():
        async with connect() as client:
            stream = await client.sandbox("t").exec_stream("cat", stdin_open=True)
            seen = []
            async for chunk in stream:
                seen.append(chunk.data)
                if len(seen) == 2:
                    assert await stream.send_input("abc", eof=True) == 3
            assert seen == [b"a", b"b"]
            assert (await stream.result()).output == "ab"
        assert [x.header["seq"] for x in peer.of("ack")] == [0, 1]

    run(work())


@pytest.mark.parametrize("how", ["left", "cancelled"])
def test_a_stream_that_is_left_or_whose_task_is_cancelled_cancels_its_command(peer, connect, how):
    peer.on("exec", stream_of_two)

    async def read(client):
        async with await client.sandbox("t").exec_stream("x") as stream:
            async for _ in stream:
                if how == "left":
                    break

    async def work():
        async with connect() as client:
            task = asyncio.create_task(read(client))
            if how == "cancelled":
                await until(lambda: len(peer.of("ack")) == 2)
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await until(lambda: peer.of("cancel"))
            assert len(peer.of("cancel")) == 1

    run(work())


def test_files_are_copied_both_ways_while_the_loop_goes_on(peer, connect, tmp_path):
    content = bytes(range(256)) * (12 * 1024)
    data, turns, seen = bytearray(), [0], []

    def send(request):
        for seq, (at, piece) in enumerate(pieces(content, MIB)):
            request.event("chunk", piece, stream="content", seq=seq, offset=at)
        request.reply(size=len(content), sha256=sha256(content).hexdigest())

    def take(request):
        data.extend(request.payload)
        if request.header["eof"]:
            peer.of("write_file")[0].reply(bytes=len(data))

    peer.on("download_file", send)
    peer.on("write_file", lambda r: r.event("credit", bytes=len(content)))
    peer.on("data", take)

    async def count():
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def work():
        async with connect() as client:
            counting = asyncio.create_task(count())
            sandbox = client.sandbox("t")
            path = tmp_path / "f"
            progress = lambda *x: seen.append(x)  # noqa: E731
            assert await sandbox.download("f", path, progress=progress) == len(content)
            assert await sandbox.upload(path, "f") == len(content)
            assert await sandbox.download_file("f") == path.read_bytes() == content == data
            assert await sandbox.download_file("f", io.BytesIO()) == len(content)
            counting.cancel()

    run(work())
    assert seen[-1] == (len(content),) * 2 and turns[0] > 20


def test_a_download_whose_task_is_cancelled_leaves_nothing_behind(peer, connect, tmp_path):
    peer.on("download_file", lambda r: r.event("chunk", b"x", stream="content", seq=0, offset=0))

    async def work():
        async with connect() as client:
            task = asyncio.create_task(client.sandbox("t").download("f", tmp_path / "f"))
            await until(lambda: peer.of("ack"))
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert list(tmp_path.iterdir()) == []

    run(work())


def test_a_pool_of_commands_yields_as_they_finish_and_is_cancelled_when_left(peer, connect):
    held = {}
    peer.on("exec", lambda r: held.update({r.parts["command"]: r}))

    async def work():
        async with connect() as client:
            results = client.map("0123", threads=list("abcd"), concurrency=3)
            first = asyncio.create_task(results.__anext__())
            await until(lambda: len(held) == 3)
            peer.run(lambda: exec_reply(held[b"1"], "one"))
            index, command, result = await first
            assert (index, command, result.output) == (1, "1", "one")
            await results.aclose()
            await until(lambda: len(peer.of("cancel")) == 2)
        ids = {held[x].id for x in (b"0", b"2")}
        assert {x.header["request"] for x in peer.of("cancel")} == ids

    run(work())


def test_closing_ends_what_other_tasks_wait_for(peer, connect):
    async def work():
        client = connect()
        waiting = asyncio.create_task(client.sandbox("t").exec("sleep"))
        await until(lambda: peer.of("exec"))
        await client.close()
        await client.close()
        with pytest.raises(corral.ClientClosed):
            await waiting

    run(work())


def test_a_keyed_exec_outlives_its_daemon(run_dir):
    async def work():
        first = ScriptedDaemon(f"{run_dir}/s")
        async with aio.AsyncClient(first.endpoint, timeout=20) as client:
            waiting = asyncio.create_task(client.sandbox("t").exec("make", key="k"))
            lost = asyncio.create_task(client.sandbox("t").exec("make"))
            await until(lambda: len(first.of("exec")) == 2)
            first.stop()
            answer = {"result": lambda r: exec_reply(r, "made", state="finished")}
            second = ScriptedDaemon(f"{run_dir}/s", "boot-2", answer)
            assert (await waiting).output == "made"
            with pytest.raises(corral.DaemonRestarted):
                await lost
            assert not second.of("exec")
            second.stop()

    run(work())


def test_heartbeats_go_on_while_the_loop_is_busy(peer, connect):
    async def work():
        async with connect(heartbeat=0.02):
            peer.wait_for("ping", 5)  # Blocks the loop.

    run(work())

"""Several pools in one daemon: each with its own limits, a thread in one of them."""

import pytest
from harness import Raw, eventually

from corral import errors

CONFIG = """
pools:
  plain:
    replicas: 4
  small:
    replicas: 1
    max_sandboxes: 1
    overflow: reject
    limits: {tmp_size: 16MiB}
"""


@pytest.fixture
def daemon(new_daemon):
    return new_daemon(config=CONFIG)


def test_each_pool_serves_its_own_threads_by_its_own_limits(daemon):
    with daemon.client() as client:
        assert client.server.pools == ("plain", "small")
        a, b = client.acquire("a"), client.acquire("b", pool="small")
        assert (client.get(a.id)["pool"], client.get(b.id)["pool"]) == ("plain", "small")
        size = "df -k --output=size /tmp | tail -n 1"
        assert int(a.exec(size).stdout) == 256 * 1024 and int(b.exec(size).stdout) == 16 * 1024
        with pytest.raises(errors.CapacityExceeded) as fault:
            client.acquire("c", pool="small")
        assert "pool small is full" in str(fault.value)
        assert client.acquire("c").exec("true").exit_code == 0
        rows = {x["thread"]: x["pool"] for x in client.list()}
        assert rows == {"a": "plain", "b": "small", "c": "plain"}
        assert [x["thread"] for x in client.list(pool="small")] == ["b"]
        pools = {x["pool"]: x["sandboxes"] for x in client.stats()["pools"]}
        assert pools == {"plain": 2, "small": 1}
        assert client.release_all() == 3


def test_a_thread_lives_in_one_pool(daemon):
    with daemon.client() as client, Raw(daemon.endpoint) as raw:
        b = client.acquire("b", pool="small")
        with pytest.raises(errors.IdentityCollision):
            client.acquire("b", pool="plain")
        assert client.acquire("b").id == b.id  # Where none is named, the one that has it.
        raw.exec("1", "true", thread="b", pool="plain")
        assert raw.reply("1")[0]["error"]["code"] == "identity_collision"
        raw.exec("2", "echo $PWD", thread="b")
        assert raw.reply("2")[0]["ok"]
        with pytest.raises(errors.InvalidRequest) as fault:
            client.acquire("d", pool="large")
        assert "this daemon has: plain, small" in str(fault.value)
        b.destroy(force=True)
        moved = client.acquire("b", pool="plain")
        assert client.get(moved.id)["pool"] == "plain"


def test_sandboxes_of_every_pool_outlive_the_daemon(daemon):
    with daemon.client() as client:
        client.acquire("a").exec("X=a")
        client.acquire("b", pool="small").exec("X=b")
        daemon.kill()
    daemon.start()
    with daemon.client() as client:
        for thread, pool in (("a", "plain"), ("b", "small")):
            box = client.acquire(thread)
            assert client.get(box.id)["pool"] == pool
            assert box.exec("echo $X").stdout.decode() == f"{thread}\n"
        with pytest.raises(errors.IdentityCollision):
            client.acquire("b", pool="plain")
        eventually(lambda: {x["state"] for x in client.list()} == {"leased"}, what="both adopted")

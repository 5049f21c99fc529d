"""A changed configuration takes effect while the daemon runs, as far as it can."""

import signal

import pytest
from harness import eventually

from corral import errors

CONFIG = """
queue: 100
pools:
  default:
    replicas: {replicas}
    overflow: reject
    network: none
"""


@pytest.fixture
def daemon(new_daemon):
    return new_daemon(config=CONFIG.format(replicas=2))


def write(daemon, text):
    with open(daemon.config_path, "w", encoding="utf-8") as file:
        file.write(text)


def test_what_can_change_does_and_the_rest_is_named(daemon):
    with daemon.client() as client:
        client.acquire("a"), client.acquire("b")
        with pytest.raises(errors.CapacityExceeded):
            client.acquire("c")
        write(daemon, CONFIG.format(replicas=3).replace("queue: 100", "queue: 50"))
        changed = client.reload()
        assert changed["restart"] == ["queue"]
        assert "pools.default.replicas" in changed["applied"]
        assert client.acquire("c").exec("true").exit_code == 0
        assert client.reload() == {"applied": [], "restart": ["queue"]}


def test_a_smaller_pool_lets_go_of_what_is_warm(daemon):
    with daemon.client() as client:
        for name in "ab":
            client.acquire(name).release()
        write(daemon, CONFIG.format(replicas=1))
        daemon.signal(signal.SIGHUP)
        eventually(lambda: [x["thread"] for x in client.list()] == ["b"], what="the eviction of a")


def test_a_configuration_that_is_wrong_changes_nothing(daemon):
    with daemon.client() as client:
        write(daemon, CONFIG.format(replicas=3).replace("queue: 100", "queue: many"))
        with pytest.raises(errors.InvalidRequest) as fault:
            client.reload()
        assert "line 2: queue: expected a whole number" in str(fault.value)
        assert daemon.base not in str(fault.value)
        daemon.signal(signal.SIGHUP)
        eventually(lambda: daemon.log().count("nothing has changed") == 2, what="both refusals in the log")
        client.acquire("a"), client.acquire("b")
        with pytest.raises(errors.CapacityExceeded):
            client.acquire("c")


def test_an_upgrade_can_be_prepared_by_a_reload(daemon):
    """on_shutdown is one of the options that can change."""
    with daemon.client() as client:
        box = client.acquire("a")
        box.exec("X=kept")
        write(daemon, CONFIG.format(replicas=2) + "on_shutdown: keep\n")
        assert "on_shutdown" in client.reload()["applied"]
        assert daemon.stop()[0] == 0
    daemon.start()
    with daemon.client() as client:
        assert client.acquire("a").exec("echo $X").stdout == b"kept\n"
        write(daemon, CONFIG.format(replicas=2))
        client.reload()

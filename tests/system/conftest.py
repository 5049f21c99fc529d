import hashlib
import itertools
import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../clients/python"))

from harness import Daemon, Raw  # noqa: E402
from harness.command import Service  # noqa: E402

_names = itertools.count(1)


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): how long the test may take; 60 by default")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed:
        for daemon in Daemon.live:
            if os.path.exists(daemon.log_path):
                report.sections.append(("corrald's log", daemon.log()[-6000:]))


@pytest.fixture(autouse=True)
def time_limit(request):
    """Nothing may hang: a test that takes too long fails, wherever it waits."""
    mark = request.node.get_closest_marker("limit")
    seconds = mark.args[0] if mark else 60

    def expired(*_):
        raise TimeoutError(f"the test took longer than {seconds} s")

    previous = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, previous)


def _ended_clean(daemon):
    if daemon.process is None or daemon.process.poll() is not None:
        return  # The test has ended it itself.
    status, left = daemon.stop()
    assert status == 0
    assert left == []


@pytest.fixture(scope="module")
def daemon(request):
    """A corrald for the tests of one file, with its OPTIONS."""
    x = Daemon(getattr(request.module, "OPTIONS", {}))
    try:
        yield x.start()
        _ended_clean(x)
    finally:
        x.dispose()


@pytest.fixture
def new_daemon():
    """Makes corralds for one test: new_daemon({"pool.replicas": 2})."""
    made = []

    def make(options=None, start=True, **more):
        made.append(Daemon(options, **more))
        return made[-1].start() if start else made[-1]

    try:
        yield make
        for x in made:
            _ended_clean(x)
    finally:
        for x in made:
            x.dispose()


@pytest.fixture
def client(daemon):
    with daemon.client() as x:
        yield x
        x.release_all()


@pytest.fixture
def raw(daemon):
    with Raw(daemon.endpoint) as x:
        yield x


@pytest.fixture
def thread():
    """A thread's name that no other test has."""
    return f"t{next(_names)}"


@pytest.fixture
def sandbox(daemon, client, thread):
    x = client.acquire(thread)
    yield x
    if client.get(x.id):
        client.destroy(x.id, force=True)


@pytest.fixture
def other(daemon, client, thread):
    """Another tenant's sandbox."""
    x = client.acquire(f"{thread}-other")
    yield x
    if client.get(x.id):
        client.destroy(x.id, force=True)


@pytest.fixture(scope="module")
def service():
    """A corrald for the tests of one file, and the corral command that speaks to it."""
    x = Service()
    yield x
    x.close()


@pytest.fixture
def own_thread(request, service):
    """A thread of the test's own, destroyed afterwards."""
    name = hashlib.sha256(request.node.name.encode()).hexdigest()[:16]
    yield name
    service.run("destroy", "--thread", name, "--force", "--purge")

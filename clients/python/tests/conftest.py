import shutil
import tempfile

import pytest
from support.scripted_daemon import ScriptedDaemon

import corral


@pytest.fixture
def run_dir():
    """A short path: a socket's may have 107 bytes."""
    path = tempfile.mkdtemp(prefix="corral-", dir="/tmp")
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def peer(run_dir):
    daemon = ScriptedDaemon(f"{run_dir}/s")
    yield daemon
    daemon.stop()


@pytest.fixture
def client(peer):
    with corral.Client(peer.endpoint, timeout=10) as x:
        yield x

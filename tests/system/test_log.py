"""What the daemon's log tells of its sandboxes."""

import pytest


@pytest.mark.parametrize("level, each_turn", [("info", False), ("debug", True)])
def test_each_turn_of_an_agent_is_logged_for_debugging_only(new_daemon, level, each_turn):
    daemon = new_daemon({"log_level": level})
    with daemon.client() as client:
        client.acquire("a").release()
    assert daemon.stop() == (0, [])
    assert " created " in daemon.log() and " destroyed " in daemon.log()
    assert (" acquired " in daemon.log()) == each_turn
    assert (" released " in daemon.log()) == each_turn

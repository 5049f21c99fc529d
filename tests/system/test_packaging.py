"""The service file, and that the page on operations knows every error."""

import re
import shutil
import subprocess

import pytest

from test_docs import CORRALD, ROOT, option_values, text_of

UNIT = "packaging/corrald.service"


def settings():
    return dict(re.findall(r"^(\w+)=(.*)$", text_of(UNIT), re.M))


def seconds(text):
    return int(re.fullmatch(r"(\d+)s?", text)[1])


def test_the_service_file_fits_the_defaults():
    unit, values = settings(), option_values()
    assert f"/run/{unit['RuntimeDirectory']}" == values["run_dir"]
    assert unit["RuntimeDirectoryMode"] == "0751"  # As the daemon makes it.
    assert seconds(unit["TimeoutStopSec"]) >= seconds(values["drain_timeout"]) + 30


def test_the_service_file_lets_sandboxes_outlive_the_daemon():
    unit = settings()
    assert unit["KillMode"] == "process"
    assert unit["RuntimeDirectoryPreserve"] == "yes"
    assert unit["RestartPreventExitStatus"] == "2"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_finds_nothing_wrong_with_the_service_file(tmp_path):
    copy = tmp_path / "corrald.service"
    copy.write_text(text_of(UNIT).replace("/usr/bin/corrald", str(CORRALD.resolve())))
    done = subprocess.run(
        ["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def documented(heading):
    """First and second cell of each row of the table under a sentence."""
    table = text_of("docs/operations.md").split(heading)[1].split("\n\n")[1]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.M))


def test_every_error_code_has_a_row_that_says_what_to_do():
    rows = re.findall(r"\{errc::(\w+), \"\1\", (true|false)\}", text_of("messages/wire/errc.cpp"))
    names = re.findall(r"^  (\w+)(?: = 1)?,$", text_of("messages/wire/errc.hpp"), re.M)
    assert [name for name, _ in rows] == names and len(names) > 20
    known = documented("Codes of the\nprotocol:")
    assert list(known) == names
    for name, retryable in rows:
        assert (known[name] != "no") == (retryable == "true"), name


def test_every_code_of_the_command_itself_is_explained():
    own = documented("Codes that the `corral` command has of its own:")
    wire = documented("Codes of the\nprotocol:")
    sources = "".join(x.read_text() for x in (ROOT / "apps/cli").glob("*.cpp"))
    used = set(re.findall(r'\bfailed\("([a-z_]+)", ', sources)) | {"input_output"}
    operations = {x for x in used if x in ("open", "read", "replace")}  # Of system calls.
    assert used - operations - set(wire) == set(own)

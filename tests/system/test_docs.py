"""What the documentation says is true of the tree and of the programs."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CORRAL_BUILD", ROOT / "build/dev"))
CORRALD = BUILD / "apps/corrald"
CORRAL = BUILD / "apps/corral"
DOCS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("clients/**/*.md")])
FOLDERS = "actors|apps|bench|bridge|clients|cmake|config|docs|guest|messages|os|packaging|providers|scripts|tests"
PROGRAMS = {"corrald": CORRALD, "corral": CORRAL}


def relative(path):
    return str(path.relative_to(ROOT))


def text_of(name):
    return (ROOT / name).read_text()


def blocks(name, language):
    return re.findall(rf"```{language}\n(.*?)```", text_of(name), re.S)


def command_lines():
    """(file, line) of every command that a document shows."""
    for doc in DOCS:
        for line in re.findall(r"^ {4}(\S.*)$", doc.read_text(), re.M):
            yield relative(doc), line.split("#")[0].strip()


def run(*words):
    return subprocess.run(
        [str(x) for x in words], capture_output=True, text=True, timeout=30, check=False
    )


def settings_text(run_dir):
    return [f"--set={name}_dir={run_dir}/{name}" for name in ("data", "state", "run")]


@pytest.fixture
def run_dir():
    """A short path that sandboxes' uids may pass."""
    path = tempfile.mkdtemp(prefix="corral-", dir="/tmp")
    os.chmod(path, 0o711)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def daemon(run_dir):
    """The socket of a daemon with directories of its own."""
    if os.geteuid() != 0 and run("bwrap", "--ro-bind", "/", "/", "true").returncode != 0:
        pytest.skip("bubblewrap does not work for an ordinary user on this machine")
    socket = f"{run_dir}/run/corral.sock"
    with open(f"{run_dir}/log", "w+") as log:
        process = subprocess.Popen([CORRALD, *settings_text(run_dir)], stderr=log)
        try:
            deadline = time.monotonic() + 30
            while "serves pool" not in Path(log.name).read_text():
                assert process.poll() is None, Path(log.name).read_text()
                assert time.monotonic() < deadline, "corrald did not start within 30 s"
                time.sleep(0.05)
            yield socket
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.mark.parametrize("doc", DOCS, ids=relative)
def test_every_path_that_a_document_names_exists(doc):
    text = re.sub(r"```.*?```", "", doc.read_text(), flags=re.S)
    named = set(re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", text))
    named |= set(re.findall(r"`(\w+\.(?:md|txt|json)|\.ci/run|\.clang-\w+)`", text))
    linked = {x.split("#")[0] for x in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in x}
    missing = [x for x in named if not (ROOT / x).exists()]
    missing += [x for x in linked if x and not (doc.parent / x).exists()]
    assert not missing


def test_every_document_that_the_code_names_exists():
    listing = run("git", "-C", ROOT, "ls-files", "*.hpp", "*.cpp", "*.py", "*.txt")
    sources = [ROOT / x for x in listing.stdout.split()] or list(ROOT.glob("[a-z]*/**/*.[ch]pp"))
    missing = {
        f"{relative(source)}: {name}"
        for source in sources
        for name in re.findall(r"\bdocs/[\w/-]+(?:\.md)?", source.read_text())
        if source != Path(__file__).resolve() and not (ROOT / name).exists()
    }
    assert sources and not missing


def test_the_actor_in_contributing_is_the_one_in_the_tree():
    quoted = re.findall(r"^`([\w./]+)`:\n\n```cpp\n(.*?)```$", text_of("CONTRIBUTING.md"), re.S | re.M)
    assert [name for name, _ in quoted] == [
        "actors/reaper.hpp",
        "actors/reaper.cpp",
        "tests/actors/reaper_test.cpp",
    ]
    for name, code in quoted:
        assert code == text_of(name), f"CONTRIBUTING.md quotes another {name}"


def test_every_command_that_is_shown_has_the_options_it_is_given():
    shown = 0
    for doc, line in command_lines():
        words = line.split(" -- ")[0].split()
        program = PROGRAMS.get(Path(words[0]).name) if words else None
        if program is None:
            continue
        shown += 1
        command = [x for x in words[1:2] if program == CORRAL and not x.startswith("-")]
        usage = run(program, *command, "--help")
        assert usage.returncode == 0, f"{doc}: {line}: {usage.stderr}"
        everywhere = usage.stdout + run(program, "--help").stdout
        for option in re.findall(r"\s(--[a-z][a-z-]*)", line.split(" -- ")[0]):
            assert re.search(rf"{option}\b", everywhere), f"{doc}: {line}: no {option}"
    assert shown >= 8


def test_every_script_that_is_shown_knows_the_options_it_is_given():
    shown = 0
    for doc, line in command_lines():
        if not line.startswith("scripts/"):
            continue
        shown += 1
        words = line.split()
        assert os.access(ROOT / words[0], os.X_OK), f"{doc}: {line}"
        for option in (x for x in words if x.startswith("--")):
            assert option in text_of(words[0]), f"{doc}: {line}"
    assert shown >= 5


def test_the_configuration_that_is_shown_is_valid(run_dir):
    assert blocks("README.md", "yaml")
    for block in blocks("README.md", "yaml"):
        file = Path(run_dir) / "corral.yaml"
        file.write_text(block)
        checked = run(CORRALD, "--check-config", "--config", file, *settings_text(run_dir))
        assert checked.returncode == 0, checked.stderr
    for doc, line in command_lines():
        for setting in re.findall(r"--set (\S+)", line):
            checked = run(CORRALD, "--check-config", "--set", setting, *settings_text(run_dir))
            assert checked.returncode == 0, f"{doc}: {line}: {checked.stderr}"


def option_values():
    """Name and default of every option, in its short form: "pool.limits.memory"."""
    result, path = {}, []
    for line in text_of("config/corral.yaml").splitlines():
        found = re.match(r"^( *)#?([a-z_]+):(?: +(\S.*))?$", line)
        if found:
            path[len(found[1]) // 2 :] = [found[2]]
            result[".".join(path).replace("pools.default.", "pool.")] = found[3] or ""
    return result


def test_options_and_defaults_that_documents_name_are_those_of_the_reference():
    values = option_values()
    assert values["pool.replicas"] == "64"
    defaults = 0
    for doc in DOCS:
        for name in re.findall(r"`((?:pool|limits|guest)\.[a-z_.]+)`", doc.read_text()):
            assert name in values or f"pool.{name}" in values, f"{relative(doc)}: {name}"
        for name, value in re.findall(r"`([a-z_.]+)` \((\d[^)\n]*)\)", doc.read_text()):
            if name in values:
                defaults += 1
                assert value.replace(" ", "") == values[name], f"{relative(doc)}: {name}"
    assert defaults >= 3


def test_the_python_in_the_readme_does_what_it_shows(daemon):
    (block,) = blocks("README.md", "python")
    assert len([x for x in block.splitlines() if x]) <= 10
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "clients/python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CORRAL_ENDPOINT": f"ipc://{daemon}",
    }
    done = subprocess.run(
        [sys.executable, "-c", block], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert lines[0] == "helo"
    assert "/mnt/user-data/workspace/hello.c 2 int main(void) { puts(\"helo\"); }" in lines
    assert "0 hello" in lines

"""grep and glob of the corral command."""

import json

import pytest


@pytest.fixture
def thread(own_thread):
    return own_thread


@pytest.fixture
def tree(service, thread):
    script = "mkdir -p src .git; echo 'int Main;' > src/a.c; printf 'main\\na[0]\\n' > src/b.py; echo main > .git/x"
    assert service.run("exec", "-t", thread, "--", script).returncode == 0
    return "/mnt/user-data/workspace"


def test_grep_prints_path_number_and_line(service, thread, tree):
    done = service.run("grep", "-t", thread, "main")
    assert done.returncode == 0
    assert done.stdout.decode() == f"{tree}/src/a.c:1:int Main;\n{tree}/src/b.py:1:main\n"


@pytest.mark.parametrize(
    "words, found",
    [
        (["--case-sensitive", "Main"], ["src/a.c:1:int Main;"]),
        (["--glob", "*.py", "main"], ["src/b.py:1:main"]),
        (["--literal", "a[0]"], ["src/b.py:2:a[0]"]),
        (["--all", "main", ".git"], [".git/x:1:main"]),
        (["main", "src/a.c"], ["src/a.c:1:int Main;"]),
    ],
)
def test_grep_searches_what_it_is_told(service, thread, tree, words, found):
    done = service.run("grep", "-t", thread, *words)
    assert done.stdout.decode().splitlines() == [f"{tree}/{x}" for x in found]


def test_more_than_is_asked_for_is_told(service, thread, tree):
    done = service.run("grep", "-t", thread, "-m", "1", "main")
    assert len(done.stdout.splitlines()) == 1
    assert b"--max-results" in done.stderr
    result = service.json("grep", "-t", thread, "-m", "1", "main")
    assert result["truncated"] is True
    assert result["matches"][0]["line_number"] == 1


def test_glob_prints_paths(service, thread, tree):
    assert service.run("glob", "-t", thread, "**/*.py").stdout.decode() == f"{tree}/src/b.py\n"
    names = service.run("glob", "-t", thread, "--dirs", "src").stdout.decode().split()
    assert [x.rstrip("/") for x in names] == [f"{tree}/src"]
    assert service.json("glob", "-t", thread, "**/*.c")["found"][0]["path"] == f"{tree}/src/a.c"


@pytest.mark.parametrize("command", ["grep", "glob"])
def test_nothing_found_is_a_status_of_its_own(service, thread, tree, command):
    assert service.run(command, "-t", thread, "no-such-thing").returncode == 1
    done = service.run("--json", command, "-t", thread, "no-such-thing")
    assert done.returncode == 1 and json.loads(done.stdout)["truncated"] is False


def test_a_pattern_that_is_none_is_refused(service, thread, tree):
    done = service.run("grep", "-t", thread, "(")
    assert done.returncode == 125 and b"invalid_pattern" in done.stderr
    assert service.run("grep", "x").returncode == 125

"""The completion of the corral command in real shells."""

import os
import pty
import re
import shutil
import signal
import subprocess

import pytest

from harness import eventually
from harness.command import CORRAL, LIMIT

# Whichever shells this machine has; bash it always has.
SHELLS = ["bash"] + (["zsh"] if shutil.which("zsh") else [])
COMMANDS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        "bind 'set enable-bracketed-paste off'; source <(corral completion bash)",
    ),
    "zsh": (
        ["zsh", "-i"],
        "unset zle_bracketed_paste; autoload -U compinit; compinit -D -u; "
        "source <(corral completion zsh)",
    ),
}


@pytest.fixture
def thread(own_thread):
    return own_thread


class Shell:
    """An interactive shell on a terminal, which has loaded the completion."""

    def __init__(self, name, directory, endpoint):
        words, preparation = COMMANDS[name]
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.chdir(directory)
            environment = {
                "PATH": f"{CORRAL.parent}:{os.environ['PATH']}",
                "HOME": str(directory),
                "ZDOTDIR": os.environ.get("ZDOTDIR", str(directory)),
                "TERM": "dumb",
                "CORRAL_ENDPOINT": str(endpoint),
            }
            os.execvpe(words[0], words, environment)
        self.pid = pid
        os.set_blocking(self.terminal, False)
        self.seen = ""
        self.type(f"{preparation}; PS1='> '; echo rea''dy\n")
        self.wait_for("\nready\n")

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def wait_for(self, text):
        def look():
            try:
                shown = os.read(self.terminal, 1 << 16).decode()
            except BlockingIOError:
                shown = ""
            self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x07]", "", shown)
            return text in self.seen

        try:
            eventually(look, LIMIT)
        except AssertionError:
            raise AssertionError(f"{text!r} is not in {self.seen!r}") from None

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.fixture(params=SHELLS)
def shell(request, service, thread, tmp_path):
    service.run("acquire", "-t", thread)
    (tmp_path / "notes.txt").write_text("")
    x = Shell(request.param, tmp_path, service.socket)
    yield x
    x.close()


def test_tab_completes_commands_options_values_sandboxes_and_files(service, thread, shell):
    id = service.json("get", "-t", thread)["sandbox"]
    for begun, completed in {
        "corral destr": "corral destroy ",
        "corral ls --sta": "corral ls --state ",
        "corral ls --state pa": "corral ls --state parked ",
        "corral ls --state=pa": "corral ls --state=parked ",
        f"corral exec -t {thread[:4]}": f"corral exec -t {thread} ",
        f"corral exec --thread={thread[:4]}": f"corral exec --thread={thread} ",
        f"corral get {id[:4]}": f"corral get {id} ",
        f"corral cp notes.txt {thread[:4]}": f"corral cp notes.txt {thread}:",
        "corral cp no": "corral cp notes.txt ",
        "corral write f --from no": "corral write f --from notes.txt ",
        "corral write f --from=no": "corral write f --from=notes.txt ",
    }.items():
        shell.type(f"{begun}\t")
        shell.wait_for(completed)
        shell.type("\x15")  # Takes the line away.
        shell.seen = ""


def test_without_a_daemon_completion_says_nothing_and_offers_the_rest(tmp_path):
    def ask(*words):
        environment = {**os.environ, "CORRAL_ENDPOINT": str(tmp_path / "none")}
        done = subprocess.run(
            [CORRAL, "__complete", *words], capture_output=True, env=environment, timeout=LIMIT
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode().split()

    assert ask("exec", "-t", "") == []
    assert ask("cp", "") == [":files"]
    assert ask("compl") == ["completion"]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_the_script_asks_the_command_and_names_its_function(name):
    done = subprocess.run([CORRAL, "completion", name], capture_output=True, timeout=LIMIT)
    script = done.stdout.decode()
    assert done.returncode == 0 and "__complete" in script
    assert {"bash": "\ncomplete -F _corral corral\n", "zsh": "compdef _corral corral"}[name] in script
    if name == "bash":
        checked = subprocess.run(["bash", "-n"], input=done.stdout, capture_output=True)
        assert checked.stderr == b""

"""The file operations through the daemon: what they do, what they refuse and how they say so."""

import hashlib
import json
import os
import threading

import pytest
import zmq
from harness import Raw, eventually, running
from harness.daemon import SANITIZED

from corral import errors

WORKSPACE = "/mnt/user-data/workspace"
MIB = 1 << 20


def test_the_seven_primitives_work_together(sandbox):
    assert sandbox.write_file("src/a.c", "int main() { return 1; }\n") == 25
    assert sandbox.execute_command("cat src/a.c").stdout == b"int main() { return 1; }\n"
    assert sandbox.str_replace("src/a.c", "return 1", "return 0") == 1
    assert sandbox.update_file("src/a.c", "int main() { return 0; } // new\n") == 32
    assert sandbox.read_file("src/a.c") == "int main() { return 0; } // new\n"
    assert sandbox.glob(".", "**/*.c").paths == [f"{WORKSPACE}/src/a.c"]
    (match,) = sandbox.grep(".", r"ma.n\(").matches
    assert (match.path, match.line_number) == (f"{WORKSPACE}/src/a.c", 1)
    entries = {x.path: x.type for x in sandbox.list_dir()}
    assert entries == {f"{WORKSPACE}/src": "directory", f"{WORKSPACE}/src/a.c": "file"}


@pytest.mark.parametrize("root", ["workspace", "uploads", "outputs"])
def test_commands_and_the_api_see_the_same_files(daemon, sandbox, thread, root):
    path = f"/mnt/user-data/{root}/x.txt"
    sandbox.write_file(path, "from the API\n")
    assert sandbox.exec(f"cat {path}").stdout == b"from the API\n"
    with open(f"{daemon.user_data(thread)}/{root}/x.txt", encoding="utf-8") as file:
        assert file.read() == "from the API\n"
    if root != "uploads":
        sandbox.exec(f"echo from a command > {path}")
        assert sandbox.read_file(path) == "from a command\n"


def test_uploads_are_written_by_the_api_and_by_no_command(sandbox):
    sandbox.write_file("/mnt/user-data/uploads/report.txt", "v1\n")
    sandbox.write_file("/mnt/user-data/uploads/report.txt", "v2\n", append=True)
    sandbox.str_replace("/mnt/user-data/uploads/report.txt", "v2", "v3")
    for command in ("echo > report.txt", "rm report.txt", "touch new", "mkdir d", "ln -s /etc l"):
        assert sandbox.exec(f"cd /mnt/user-data/uploads && {command}").exit_code != 0
    assert sandbox.read_file("/mnt/user-data/uploads/report.txt") == "v1\nv3\n"


def test_bytes_arrive_as_they_are(sandbox):
    texts = {
        "p.txt": b"\\n \\t %s $HOME `id` 'a' \"b\" !x\n-n -e\n",
        "nonl": b"no newline",
        "mixed": b"a\r\nb\nc\r\n",
        "binary": bytes(range(256)),
        "empty": b"",
        "-rf": b"x",
        "a b\tc'd\".txt": b"y",
        "doc.md": b"see /mnt/user-data/workspace/a\n",
    }
    for name, content in texts.items():
        assert sandbox.write_file(name, content) == len(content)
    for name, content in texts.items():
        assert sandbox.download_file(name) == content
    sandbox.str_replace("mixed", "b", "B")
    assert sandbox.download_file("mixed") == b"a\r\nB\nc\r\n"


def test_names_with_odd_bytes_can_be_read_back(sandbox):
    sandbox.exec(r"""for n in 'a b ' $'x\ny' -n ü $'tab\t' '*' '\'; do echo content > ./"$n"; done""")
    listed = [x.path for x in sandbox.list_dir()]
    assert len(listed) == len(set(listed)) == 7
    for path in listed:
        assert sandbox.read_file(path) == "content\n"


def test_lines_are_read_from_start_to_end(sandbox):
    sandbox.write_file("lines", "1\n2\n3\n4")
    assert sandbox.read_file("lines", start_line=2, end_line=3) == "2\n3\n"
    assert sandbox.read_file("lines", start_line=3) == "3\n4"
    assert sandbox.read_file("lines", start_line=9) == ""
    assert sandbox.download_file("lines", offset=2, length=3) == b"2\n3"


def test_writes_make_directories_and_keep_mode_and_links(sandbox):
    sandbox.exec("mkdir real; echo a > real/t; chmod 751 real/t; ln -s real/t link")
    sandbox.write_file("link", "b\n")
    sandbox.write_file("a/b/c/new", "y")
    assert sandbox.exec("readlink link; cat real/t; stat -c %a real/t").stdout == b"real/t\nb\n751\n"
    assert sandbox.exec("ls -A real a/b/c").stdout == b"a/b/c:\nnew\n\nreal:\nt\n"


ERRORS = [
    ("file_not_found", "read_file", dict(path="missing.txt")),
    ("file_not_found", "download_file", dict(path="/mnt/user-data/outputs/no/such")),
    ("file_not_found", "str_replace", dict(path="missing.txt", old=b"a", new=b"b")),
    ("is_a_directory", "update_file", dict(path="dir", content=b"x")),
    ("file_not_found", "list_dir", dict(path="missing")),
    ("file_not_found", "grep", dict(path="missing", pattern="x")),
    ("is_a_directory", "read_file", dict(path="dir")),
    ("is_a_directory", "write_file", dict(path="dir", content=b"x")),
    ("not_a_directory", "list_dir", dict(path="text")),
    ("not_a_directory", "write_file", dict(path="text/x", content=b"x")),
    ("not_text", "read_file", dict(path="binary")),
    ("not_text", "str_replace", dict(path="binary", old=b"a", new=b"b")),
    ("match_not_found", "str_replace", dict(path="text", old=b"absent", new=b"b")),
    ("match_not_unique", "str_replace", dict(path="text", old=b"k\n", new=b"b")),
    ("invalid_pattern", "grep", dict(path=".", pattern="(")),
    ("invalid_pattern", "glob", dict(path=".", pattern="/")),
    ("not_regular_file", "read_file", dict(path="pipe")),
    ("not_regular_file", "write_file", dict(path="pipe", content=b"x")),
    ("not_regular_file", "read_file", dict(path="socket")),
    ("read_only", "write_file", dict(path="/etc/new", content=b"x")),
    ("read_only", "write_file", dict(path="/usr/bin/x", content=b"x")),
    ("read_only", "write_file", dict(path="/mnt/skills/x", content=b"x")),
    ("permission_denied", "read_file", dict(path="secret")),
    ("permission_denied", "read_file", dict(path="leaves")),
    ("permission_denied", "write_file", dict(path="leaves", content=b"x")),
    ("permission_denied", "write_file", dict(path="up/x", content=b"x")),
    ("permission_denied", "read_file", dict(path="/proc/1/environ")),
]


@pytest.fixture(scope="module")
def furnished(daemon):
    """A sandbox with one of everything that a file operation can stumble over."""
    with daemon.client() as client:
        x = client.acquire("furnished")
        x.exec(
            "mkdir dir; printf 'k\\nk\\n' > text; printf 'a\\0\\1\\377' > binary; mkfifo pipe;"
            " python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('socket')\";"
            " echo s > secret; chmod 0 secret; ln -s /etc/shadow leaves; ln -s ../outputs up"
        )
        yield x


@pytest.mark.parametrize("code, op, fields", ERRORS)
def test_each_failure_has_its_code_and_names_the_path_as_given(daemon, furnished, code, op, fields):
    parts = {name: x for name, x in fields.items() if isinstance(x, bytes)}
    header = {
        "op": op,
        "id": "1",
        "thread": "furnished",
        "parts": [[name, len(x)] for name, x in parts.items()],
        **{name: x for name, x in fields.items() if name not in parts},
    }
    with Raw(daemon.endpoint) as raw:
        error = raw.error(header, b"".join(parts.values()))
    assert error["code"] == code, error
    assert error["retryable"] is False
    assert error["details"]["operation"] == op
    assert error["details"]["path"] in (fields["path"], f"{WORKSPACE}/{fields['path']}")
    assert daemon.base not in json.dumps(error)


def test_ambiguous_replacements_tell_how_often(furnished):
    with pytest.raises(errors.MatchNotUnique) as fault:
        furnished.str_replace("text", "k", "z")
    assert fault.value.details["count"] == 2
    assert furnished.read_file("text") == "k\nk\n"
    with pytest.raises(errors.InvalidRequest):
        furnished.str_replace("text", "", "z")


@pytest.mark.parametrize(
    "path",
    ["../../../etc/shadow", "/mnt/user-data/workspace/../../../etc/shadow", "/mnt/user-data/uploads/../../../root/x",
     "/mnt/user-datax/a", "//etc/shadow", "/proc/self/root/etc/shadow", "~/../../etc/shadow"],
)
def test_no_path_leads_out(daemon, furnished, path):
    with pytest.raises(errors.CorralError) as fault:
        furnished.read_file(path)
    assert fault.value.code in ("permission_denied", "file_not_found")
    with pytest.raises(errors.CorralError):
        furnished.write_file(path, "x")
    assert daemon.base not in str(fault.value.details)


def test_paths_that_stay_inside_work(furnished):
    furnished.write_file("/mnt/user-data/workspace//./dir/../dir/ok.txt", "ok")
    assert furnished.read_file("dir/ok.txt") == "ok"
    furnished.write_file("/tmp/t", "t")
    assert furnished.read_file("/tmp/t") == "t"


def test_searches_skip_what_is_no_file_and_end(furnished):
    furnished.exec("mkdir s; cd s; mkfifo p; ln -s . loop; ln -s /dev/zero z; echo needle > f; mkdir node_modules;"
                   " echo needle > node_modules/m; printf 'needle\\0' > bin")
    assert [x.path for x in furnished.grep("s", "needle").matches] == [f"{WORKSPACE}/s/f"]
    everything = {x.path for x in furnished.grep("s", "needle", all=True).matches}
    assert f"{WORKSPACE}/s/node_modules/m" in everything
    assert furnished.glob("s", "**/f").paths == [f"{WORKSPACE}/s/f"]


def test_results_are_cut_and_say_so(sandbox):
    sandbox.exec("mkdir m; cd m; for i in $(seq 300); do echo hit > f$i; done")
    found = sandbox.glob("m", "*")
    assert (len(found.paths), found.truncated) == (200, True)
    assert not sandbox.glob("m", "*", max_results=300).truncated
    matches = sandbox.grep("m", "hit")
    assert (len(matches.matches), matches.truncated) == (100, True)


def test_file_operations_run_beside_a_command(client, sandbox):
    done = threading.Thread(target=lambda: sandbox.exec("sleep 1; touch done"))
    done.start()
    running(client, sandbox.id)
    sandbox.write_file("meanwhile", "x")
    assert sandbox.read_file("meanwhile") == "x"
    assert sandbox.glob(".", "done").paths == []
    done.join()


def test_writers_of_one_path_never_mix(daemon, sandbox, thread):
    def write(letter):
        with daemon.client() as mine:
            for _ in range(15):
                mine.sandbox(thread).write_file("same", letter * 200_000)

    writers = [threading.Thread(target=write, args=(x,)) for x in "abc"]
    for x in writers:
        x.start()
    while any(x.is_alive() for x in writers):
        try:
            content = sandbox.read_file("same")
        except errors.FileNotFound:
            continue
        assert len(content) == 200_000 and len(set(content)) == 1
    assert sandbox.exec("ls -A").stdout == b"same\n"


class Pattern:
    """A file of a given size made of numbered blocks, and its checksum; no more memory than that."""

    def __init__(self, size):
        self.size, self.at, self.digest = size, 0, hashlib.sha256()

    def seek(self, offset, whence=os.SEEK_SET):
        self.at = offset + (self.size if whence == os.SEEK_END else self.at if whence == os.SEEK_CUR else 0)
        return self.at

    def tell(self):
        return self.at

    def read(self, count=-1):
        count = min(count if count >= 0 else self.size, self.size - self.at)
        piece = (b"%015d\n" % (self.at // 16)) * (count // 16 + 1)
        self.at += count
        self.digest.update(piece[:count])
        return piece[:count]


@pytest.mark.limit(120)
def test_100_mib_go_up_and_down_intact_in_bounded_memory(daemon, sandbox, tmp_path):
    sandbox.exec("true")
    before = daemon.resident_bytes()
    source = Pattern(100 * MIB)
    assert sandbox.write_file("big", source) == 100 * MIB
    digest = source.digest.hexdigest()
    assert sandbox.exec("sha256sum < big").stdout.decode().split()[0] == digest
    assert sandbox.download_file("big", tmp_path / "big") == 100 * MIB
    assert hashlib.sha256((tmp_path / "big").read_bytes()).hexdigest() == digest
    if not SANITIZED:  # A sanitizer keeps freed memory.
        assert daemon.resident_bytes() - before < 32 * MIB


def test_what_is_over_the_limit_is_refused_before_the_first_byte(raw, sandbox, thread):
    begin = {"op": "write_file", "id": "w", "thread": thread, "path": "big", "size": 100 * MIB + 1}
    assert raw.error(begin)["code"] == "file_too_large"
    assert raw.receive(0.2) is None
    sandbox.exec("truncate -s 101M sparse")
    down = raw.error({"op": "download_file", "id": "d", "thread": thread, "path": "sparse"})
    assert down["code"] == "file_too_large"
    assert sandbox.exec("ls").stdout == b"sparse\n"
    assert len(sandbox.download_file("sparse", offset=0, length=MIB)) == MIB


def test_an_upload_that_is_left_leaves_nothing(daemon, sandbox, thread):
    sandbox.write_file("kept", "old")
    with Raw(daemon.endpoint) as raw:
        raw.post({"op": "write_file", "id": "w", "thread": thread, "path": "kept", "size": 5 * MIB})
        assert raw.receive()[0]["event"] == "credit"
        raw.post({"op": "data", "re": "w", "seq": 0, "eof": False}, b"x" * 1000)
        raw.post({"op": "data", "re": "w", "seq": 1, "eof": True}, b"x")
        assert raw.reply("w")[0]["error"]["code"] == "invalid_request"
    assert sandbox.read_file("kept") == "old"
    eventually(lambda: sandbox.exec("ls -A").stdout == b"kept\n", what="the temporary file gone")


def test_a_full_disk_keeps_the_old_file(sandbox):
    sandbox.exec("echo old content > /tmp/keep; head -c 300M /dev/zero > /tmp/full")
    for content in (b"x" * MIB, Pattern(20 * MIB)):
        with pytest.raises(errors.NoSpace):
            sandbox.write_file("/tmp/keep", content)
    assert sandbox.exec("cat /tmp/keep; ls -A /tmp").stdout == b"old content\nfull\nkeep\n"


def test_a_req_socket_gets_its_replies_too(daemon, sandbox, thread):
    sandbox.write_file("hello", "text\n")
    sandbox.write_file("large", Pattern(17 * MIB))
    with Raw(daemon.endpoint, zmq.REQ) as raw:
        reply, payload = raw.call({"op": "read_file", "id": "1", "thread": thread, "path": "hello"})
        assert (reply["parts"], payload) == ([["content", 5]], b"text\n")
        raw.exec("2", "echo hi; sleep 0.2; echo ho", thread=thread, stream=True)
        reply, payload = raw.receive()
        assert reply["re"] == "2" and reply["ok"] and payload.startswith(b"hi\nho\n")
        whole = {"op": "download_file", "id": "3", "thread": thread, "path": "large"}
        assert raw.error(whole)["code"] == "file_too_large"
        reply, payload = raw.call({**whole, "id": "4", "offset": 5, "length": 100})
        assert payload == (b"%015d\n" % 0 * 7)[5:105]
        assert raw.error({"op": "nosuch", "id": "5"})["code"] == "invalid_request"
        assert raw.call({"op": "ping", "id": "6"})[0]["ok"]

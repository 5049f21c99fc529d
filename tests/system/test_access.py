"""Who may connect over TCP, and what the holder of a key can do and see: nothing of others."""

import json
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest
import zmq
from harness import Daemon, Raw, call, eventually, running
from harness.daemon import BUILD

import corral
from corral import errors

GOLDEN = Path(__file__).parents[1] / "golden/accepted.jsonl"
CORRAL = f"{BUILD}/apps/corral"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(*words, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("CORRAL_")}
    return subprocess.run(
        [CORRAL, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        env={**clean, **env},
        check=False,
    )


class Guarded:
    """A daemon on TCP, and keys: of ann and bob for themselves, of admin for all."""

    def __init__(self, base):
        self.base = base
        self.server = self.keygen("server")
        lines = [self.keygen(x, "--user", x)["configuration"] for x in ("ann", "bob")]
        lines.append(self.keygen("admin")["configuration"])
        self.keygen("stranger")
        self.endpoint = f"tcp://127.0.0.1:{free_port()}"
        self.events = f"tcp://127.0.0.1:{free_port()}"
        self.options = {
            "listen": f"[{self.endpoint}]",
            "events_listen": f"[{self.events}]",
            "curve_secret_file": self.file("server"),
            "keys": f"[{', '.join(lines)}]",
        }

    def file(self, name):
        return f"{self.base}/{name}.key"

    def keygen(self, name, *words):
        done = command("--json", "keygen", self.file(name), "--name", name, *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def keys(self, name):
        return {"key_file": self.file(name), "server_key": self.server["public"]}

    def client(self, holder, **options):
        return corral.Client(self.endpoint, **{"timeout": 20, **self.keys(holder), **options})

    def secure(self, x, name):
        pair = json.loads(Path(self.file(name)).read_text())
        x.curve_publickey, x.curve_secretkey = pair["public"].encode(), pair["secret"].encode()
        x.curve_serverkey = self.server["public"].encode()

    def raw(self, name):
        class Secured(Raw):
            def __init__(raw, endpoint):
                raw._context = zmq.Context()
                raw.socket = raw._context.socket(zmq.DEALER)
                raw.socket.linger = 0
                raw.timeout = 10.0
                self.secure(raw.socket, name)
                raw.socket.connect(endpoint)

        return Secured(self.endpoint)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    x = Guarded(tmp_path_factory.mktemp("keys"))
    x.daemon = Daemon(x.options)
    try:
        x.daemon.start()
        yield x
        assert x.daemon.stop() == (0, [])
    finally:
        x.daemon.dispose()


def requests():
    """A request of each op, as (header, parts)."""
    ops = {}
    for line in GOLDEN.read_text().splitlines():
        header = json.loads(line)["header"]
        ops.setdefault(header["op"], header)
    assert len(ops) >= 20
    return ops


def aimed_at(header, **target):
    """The same request for another target, without payload where that is allowed."""
    kept = {k: v for k, v in header.items() if k not in ("sandbox", "thread", "user", "pool")}
    sizes = [[name, 4] for name, _ in header.get("parts", [])]
    return {**kept, **({"parts": sizes} if sizes else {}), **target}, b"true" * len(sizes)


def test_no_op_sees_or_touches_the_sandbox_of_another_user(guarded):
    with guarded.client("bob") as bob, guarded.raw("ann") as ann, guarded.client("admin") as admin:
        box = bob.acquire("work", user="bob")
        box.write_file("secret.txt", "bob's secret")
        stream = box.exec_stream("echo started; sleep 3; cat secret.txt")
        running(bob, box.id)
        before = admin.get(box.id)
        answers = {}
        for op, header in requests().items():
            if op in ("data", "ack"):
                continue
            for target in ({"sandbox": box.id}, {"thread": "work", "user": "bob"}):
                request, payload = aimed_at(header, id=f"{op}-{len(answers)}", **target)
                if op in ("hello", "ping", "stats", "input", "reload"):
                    request = {k: v for k, v in request.items() if k not in target}
                if op in ("acquire", "list"):
                    request = {"op": op, "id": request["id"], "user": "bob"}
                if op == "cancel":
                    request = {"op": op, "id": request["id"], "sandbox": box.id}
                if op == "release":
                    request = {"op": op, "id": request["id"], "sandbox": box.id}
                if op in ("get", "destroy") and "thread" in target:
                    continue
                reply, content = ann.call(request, payload or None)
                assert b"secret" not in content and "work" not in json.dumps(reply), (op, reply)
                answers[request["id"]] = reply
                code = reply.get("error", {}).get("code")
                if op in ("hello", "ping", "stats"):
                    assert reply["ok"] and "bob" not in json.dumps(reply)
                elif op == "get":
                    assert reply["ok"] and reply["found"] is False
                elif op == "input":
                    assert code == "invalid_request"
                elif op in ("acquire", "list", "reload") or "thread" in request:
                    assert code == "forbidden", (op, reply)
                else:
                    assert code == "sandbox_not_found", (op, reply)
        rows = ann.call({"op": "list", "id": "rows"})[0]
        assert rows["count"] == 0
        after = admin.get(box.id)
        for field in ("state", "leases", "session"):
            assert after[field] == before[field]
        chunks = b"".join(x.data for x in stream)
        assert b"bob's secret" in chunks
        assert box.read_file("secret.txt") == "bob's secret"
        box.release()


def test_a_destroyed_sandbox_of_another_is_as_unknown_as_one_that_never_was(guarded):
    with guarded.client("bob") as bob, guarded.raw("ann") as ann:
        box = bob.acquire("gone", user="bob")
        bob.destroy(box.id, force=True)
        with pytest.raises(errors.SandboxLost):
            call(bob, "exec", {"sandbox": box.id}, [("command", b"true")])
        ann.exec("1", "true", sandbox=box.id)
        ann.exec("2", "true", sandbox="0" * 16)
        theirs, nobodys = ann.reply("1")[0], ann.reply("2")[0]
        assert theirs["error"] == nobodys["error"]


def test_a_key_does_for_its_user_what_the_socket_does(guarded):
    with guarded.client("ann") as client:
        with client.acquire("own", user="ann") as box:
            box.write_file("f", "x" * 300_000)
            assert box.exec("wc -c <f").stdout == b"300000\n"
            assert [x["thread"] for x in client.list()] == ["own"]
            assert client.get(box.id)["state"] == "leased"
        with pytest.raises(errors.Forbidden, match="give \"user\""):
            client.acquire("own")


def test_unknown_keys_are_told_so_and_others_get_no_further(guarded):
    with pytest.raises(errors.Unauthorized, match="keys in the daemon"):
        guarded.client("stranger")
    wrong = {**guarded.keys("ann"), "server_key": guarded.keygen("other")["public"]}
    for options in (wrong, {"key_file": None, "server_key": None}):
        with pytest.raises(errors.DaemonUnreachable, match="key_file and server_key"):
            corral.Client(guarded.endpoint, timeout=1, **options)
    with guarded.client("ann") as client:
        assert client.ping()


def test_the_command_connects_with_keys_and_says_what_is_wrong_with_them(guarded):
    key, server = guarded.file("ann"), guarded.server["public"]
    words = ("--endpoint", guarded.endpoint, "--key", key, "--server-key", server)
    done = command(*words, "exec", "--thread", "cli", "--user", "ann", "--", "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    by_variables = {
        "CORRAL_ENDPOINT": guarded.endpoint,
        "CORRAL_KEY_FILE": key,
        "CORRAL_SERVER_KEY": server,
    }
    assert "cli" in command("ls", **by_variables).stdout
    by_variables["CORRAL_KEY_FILE"] = guarded.file("stranger")
    done = command("ls", **by_variables)
    assert done.returncode == 125 and "does not know this key" in done.stderr
    done = command("--endpoint", guarded.endpoint, "--key", key, "ls")
    assert done.returncode == 125 and "--server-key" in done.stderr


def test_events_over_tcp_are_for_a_key_for_all_users(guarded):
    context = zmq.Context()
    subscribers = {}
    for name in ("ann", "admin"):
        x = subscribers[name] = context.socket(zmq.SUB)
        x.linger = 0
        guarded.secure(x, name)
        x.subscribe(b"")
        x.connect(guarded.events)
    try:
        with guarded.client("admin") as admin, guarded.raw("ann") as ann:
            hello = ann.call({"op": "hello", "id": "h"})[0]
            assert "events" not in hello

            def hears():
                admin.acquire("told", user="bob").release()
                return subscribers["admin"].poll(20)

            eventually(hears, what="an event")
        assert not subscribers["ann"].poll(500)
        done = command(
            "--endpoint", guarded.endpoint, "--key", guarded.file("ann"),
            "--server-key", guarded.server["public"], "events",
        )  # fmt: skip
        assert done.returncode == 125 and "events_listen" in done.stderr
    finally:
        context.destroy(0)


def test_a_client_name_is_each_principals_own(guarded):
    with guarded.client("bob", name="worker") as bob:
        box = bob.acquire("named", user="bob")
        with guarded.client("ann", name="worker"), guarded.client("admin", name="worker"):
            assert bob.get(box.id)["leases"] == 1
        with pytest.raises(errors.Busy):
            guarded.client("bob", name="worker")
        assert bob.get(box.id)["leases"] == 1
        box.release()


def refused(daemon):
    done = subprocess.run(
        daemon.arguments(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
    )
    return done.returncode, done.stderr


def test_plain_tcp_takes_a_word_for_it(new_daemon):
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    status, text = refused(new_daemon({"listen": f"[{endpoint}]"}, start=False))
    assert status == 2
    assert "listen" in text and "insecure: true" in text and "corral keygen" in text
    daemon = new_daemon({"listen": f"[{endpoint}]", "insecure": "true"})
    assert "insecure" in daemon.log()
    with corral.Client(endpoint, timeout=20) as client:
        assert client.sandbox("t").exec("echo plain").stdout == b"plain\n"


def test_a_secret_that_others_may_read_is_no_secret(guarded, new_daemon):
    options = {**guarded.options, "listen": f"[tcp://127.0.0.1:{free_port()}]"}
    del options["events_listen"]
    os.chmod(guarded.file("server"), 0o640)
    try:
        status, text = refused(new_daemon(options, start=False))
        assert status == 1 and "chmod 600" in text and "curve_secret_file" in text
    finally:
        os.chmod(guarded.file("server"), 0o600)


def test_a_port_in_use_is_named(guarded, new_daemon):
    options = {**guarded.options, "events_listen": "[]"}
    status, text = refused(new_daemon(options, start=False))
    assert status == 1 and f"cannot listen on {guarded.endpoint}" in text


def test_keygen_makes_private_files_and_never_writes_over_one(guarded):
    file = guarded.file("once")
    done = command("keygen", file, "--name", "once", "--user", "ann", "--op", "exec")
    first, *_, line = done.stdout.splitlines()
    pair = json.loads(Path(file).read_text())
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert first == pair["public"] and pair["secret"] not in done.stdout
    assert "name: once" in line and "users: [ann]" in line and "ops: [exec]" in line
    again = command("keygen", file)
    assert again.returncode == 125 and "exists already" in again.stderr
    assert json.loads(Path(file).read_text()) == pair


def test_a_client_that_asks_too_fast_is_told_when_to_ask_again(new_daemon):
    daemon = new_daemon({"rate_limit": 5})
    with daemon.client() as client:
        with pytest.raises(errors.QueueFull) as refused:
            for _ in range(1000):
                client.stats()
        assert 0 < refused.value.details["retry_after_ms"] <= 200
        assert refused.value.retryable
        assert client.ping()
        eventually(lambda: not is_refused(client.stats), what="room for another request")


def is_refused(call):
    try:
        call()
    except errors.QueueFull:
        return True
    return False


def test_a_client_whose_keys_do_not_fit_the_endpoint_is_told_in_time(guarded, new_daemon):
    """Keys where none are wanted, and none where they are: the handshake never ends."""
    open_port = free_port()
    new_daemon({"listen": f'["tcp://127.0.0.1:{open_port}"]', "insecure": "true"})
    keys = ("--key", guarded.file("ann"), "--server-key", guarded.server["public"])
    for endpoint, more in ((f"tcp://127.0.0.1:{open_port}", keys), (guarded.endpoint, ())):
        ended = subprocess.run([CORRAL, "--endpoint", endpoint, *more, "ls"], capture_output=True, timeout=30, check=False)
        assert ended.returncode == 125
        assert b"no daemon answers" in ended.stderr, ended.stderr

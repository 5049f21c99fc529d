"""What agent code in a sandbox can't reach, end or use up, whatever it tries."""

import json
import os
import subprocess
import threading
import time

import pytest
from harness import Raw, eventually
from harness.daemon import SECRET

from corral import errors

OPTIONS = {
    "pool.limits.memory": "128MiB",
    "pool.limits.pids": 64,
    "pool.limits.tmp_size": "8MiB",
    "pool.limits.home_size": "8MiB",
    "pool.limits.shm_size": "8MiB",
    "pool.limits.file_size": "32MiB",
    "pool.limits.open_files": 128,
}


def fails(sandbox, command):
    result = sandbox.exec(command, timeout=10)
    return result.exit_code not in (0, None)


def answers(sandbox):
    return sandbox.exec("echo alive", timeout=10).stdout == b"alive\n"


def test_another_threads_files_are_out_of_reach(daemon, sandbox, other, thread):
    other.exec("echo theirs > secret-of-other; echo theirs > /tmp/t; mkdir -m 777 open; echo x > open/x")
    host = f"{daemon.user_data(f'{thread}-other')}/workspace"
    assert os.path.exists(f"{host}/secret-of-other")
    for path in (host, f"{host}/secret-of-other", f"{host}/open/x", daemon.data_dir, f"/proc/1/root{host}",
                 f"/mnt/user-data/workspace/../../../{host}"):
        assert fails(sandbox, f"ls -d {path}")
    assert sandbox.exec("find / -name 'secret-of*' 2>/dev/null; ls -A . /tmp").stdout == b".:\n\n/tmp:\n"
    with pytest.raises(errors.CorralError):
        sandbox.read_file(f"{host}/secret-of-other")


def test_a_link_in_a_workspace_leads_nowhere_else(daemon, sandbox, other, thread):
    host = f"{daemon.user_data(f'{thread}-other')}/workspace"
    other.exec("echo theirs > f")
    sandbox.exec(f"ln -s {host}/f link; ln -s {host} dir; ln -s /proc/1/root root")
    for path in ("link", "dir/f", f"root{host}/f"):
        with pytest.raises(errors.CorralError):
            sandbox.read_file(path)
        with pytest.raises(errors.CorralError):
            sandbox.write_file(path, "mine")
    assert other.read_file("f") == "theirs\n"


def test_a_swapped_directory_never_leads_out(sandbox):
    sandbox.exec("mkdir real; echo inside > real/passwd; ln -s /etc evil")
    sandbox.exec("(while :; do mv -T real r2; mv -T evil real; mv -T real evil; mv -T r2 real; done) 2>/dev/null &")
    seen = set()
    for i in range(300):
        try:
            seen.add(sandbox.read_file("real/passwd"))
            sandbox.write_file("real/w", "x")
        except errors.CorralError as fault:
            assert fault.code in ("file_not_found", "permission_denied", "read_only", "busy"), fault
    assert seen <= {"inside\n"}


def test_the_hosts_files_and_processes_cannot_be_seen(daemon, sandbox):
    for path in ("/etc/shadow", "/root", "/home/agent/../../root", "/sys", "/boot", "/var/lib", "/var/run/docker.sock",
                 daemon.base, daemon.socket, "/tmp/corral-*", "/dev/sda", "/dev/vda", "/dev/kmsg", "/dev/mem"):
        assert fails(sandbox, f"ls {path}")
    ids = sandbox.exec("ls /proc | grep -c '^[0-9]'").stdout
    assert int(ids) < 8
    assert fails(sandbox, f"ls -d /proc/{daemon.pid} /proc/{os.getpid()}")
    assert sandbox.exec("hostname; id -u; cat /proc/sys/kernel/hostname").stdout == b"corral\n1000\ncorral\n"


def test_no_secret_of_the_daemon_gets_in(sandbox):
    found = sandbox.exec(
        "env; for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done 2>/dev/null | tr '\\0' '\\n';"
        " cat /run/host/* /run/guest/* 2>/dev/null | grep -a t0ps3cret"
    )
    assert SECRET.encode() not in found.stdout + found.stderr
    assert b"AWS" not in found.stdout and b"TOKEN" not in found.stdout
    names = sandbox.exec("env | cut -d= -f1 | grep -v '^_$' | sort | xargs").stdout
    assert names == b"HOME LANG PATH PWD PYTHONUNBUFFERED SHLVL TERM USER\n"


def test_a_command_inherits_no_descriptor(sandbox):
    links = sandbox.exec("ls -l /proc/self/fd | grep -c -e socket -e 'pipe:'; ls /proc/self/fd | wc -l").stdout
    assert links.split()[1] == b"4"  # 0, 1, 2, and the directory that ls itself reads.
    assert sandbox.exec("ls -l /proc/$$/fd").stdout.count(b"socket:") == 0


def test_there_is_no_network(sandbox):
    assert fails(sandbox, "cat < /dev/null > /dev/tcp/1.1.1.1/53")
    assert fails(sandbox, "python3 -c \"import socket; socket.create_connection(('169.254.169.254', 80), 2)\"")
    assert fails(sandbox, "getent hosts example.com")
    assert sandbox.exec("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").stdout == b"lo\n"
    assert sandbox.exec("cat /proc/net/route | wc -l").stdout in (b"1\n", b"0\n")
    for family in (16 + 1, 40, 38):  # Packet, vsock, alg.
        assert fails(sandbox, f"python3 -c 'import socket; socket.socket({family}, 3 if {family} == 17 else 1)'")
    result = sandbox.exec("python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 8099)); s.listen()'")
    assert result.ok


def test_no_privilege_can_be_had(sandbox):
    assert sandbox.exec("grep -h ^Cap /proc/self/status /proc/1/status | grep -vc 0000000000000000").stdout == b"0\n"
    assert sandbox.exec("grep NoNewPrivs /proc/self/status").stdout.split() == [b"NoNewPrivs:", b"1"]
    for command in ("mount -t tmpfs none /tmp", "umount /mnt/user-data/workspace", "unshare -U true", "unshare -r id",
                    "mknod n b 8 0", "cp /bin/true t; chmod u+s t", "su -c id", "chroot / id", "nsenter -t 1 -m id",
                    "echo x > /proc/sys/kernel/core_pattern", "echo b > /proc/sysrq-trigger", "date -s 2020-01-01",
                    "touch /usr/x", "touch /etc/x", "touch /x", "rm -rf /run/guest", "mv /run/host /run/h", "dmesg"):
        assert fails(sandbox, command), command


def test_the_guest_cannot_be_ended_stopped_traced_or_read(client, sandbox):
    session = sandbox.exec("true").session
    for name in ("KILL", "STOP", "TERM", "INT", "HUP", "QUIT", "USR1", "SEGV", "ABRT", "TSTP", "RTMIN", "RTMAX"):
        sandbox.exec(f"kill -{name} 1")
    for path in ("environ", "mem", "maps", "fd", "cwd", "root", "exe", "io", "syscall", "stack", "fdinfo"):
        assert fails(sandbox, f"ls /proc/1/{path}/ /proc/1/{path} && cat /proc/1/{path}"), path
    assert fails(sandbox, "python3 -c 'import ctypes; l = ctypes.CDLL(None); exit(l.ptrace(16, 1, 0, 0) != 0)'")
    assert fails(sandbox, "python3 -c 'import ctypes; b = ctypes.create_string_buffer(64);"
                          " exit(ctypes.CDLL(None).process_vm_readv(1, b, 1, b, 1, 0) < 0)'")
    result = sandbox.exec("echo alive")
    assert (result.stdout, result.session) == (b"alive\n", session)


def test_the_link_cannot_be_taken_over_from_inside(client, sandbox):
    for command in ("rm -f /run/host/guest.sock; [ -e /run/host/guest.sock ] && false", "mv /run/host/guest.sock /tmp/x",
                    "ln -sf /tmp/x /run/host/guest.sock", "touch /run/host/new", "chmod 777 /run/host/guest.sock"):
        sandbox.exec(command)
    assert sandbox.exec("ls /run/host").stdout == b"guest.sock\n"
    dial = sandbox.exec(
        "python3 - <<'P'\n"
        "import json, socket, struct\n"
        "hello = json.dumps({'op': 'hello', 'id': '" + sandbox.id + "', 'secret': '0' * 32}).encode()\n"
        "for i in range(200):\n"
        "    s = socket.socket(socket.AF_UNIX); s.settimeout(0.05)\n"
        "    try:\n"
        "        s.connect('/run/host/guest.sock'); s.send(struct.pack('>II', len(hello), 0) + hello)\n"
        "        print('answered', s.recv(4096)) if i == 0 else None\n"
        "    except OSError as e: pass\n"
        "P\n",
        timeout=30,
    )
    assert b"secret" not in dial.stdout and b"limits" not in dial.stdout
    assert answers(sandbox)
    assert sandbox.exec("true").session_reset is None
    assert client.get(sandbox.id)["state"] == "leased"


def test_kill_all_from_inside_harms_no_neighbour(daemon, client, sandbox, other):
    before = other.exec("sleep 100 & echo $!; echo x > /tmp/x")
    result = sandbox.exec("kill -9 -1; echo not reached", timeout=10)
    assert b"not reached" not in result.stdout or result.signal is None
    assert answers(sandbox)
    after = other.exec("jobs -r | wc -l; cat /tmp/x")
    assert (after.stdout, after.session) == (b"1\nx\n", before.session)
    assert daemon.process.poll() is None


def test_a_fork_bomb_is_held_and_cleared_by_its_timeout(daemon, client, sandbox, other):
    if not daemon.enforces("pids"):
        pytest.skip("no pids cgroup can be written here, so nothing would hold the fork bomb")
    begin = time.monotonic()
    result = sandbox.exec("f() { f | f & f | f; }; f", timeout=2)
    assert time.monotonic() - begin < 15
    assert result.exit_code != 0
    assert answers(other)
    assert eventually(lambda: answers(sandbox), timeout=20, what="the bombed sandbox answering")
    left = sandbox.exec("ps -e -o pid= | wc -l; exec 2>&-").stdout
    assert int(left.split()[0]) < 12


def test_more_processes_than_allowed_are_refused(daemon, sandbox, other):
    if not daemon.enforces("pids"):
        pytest.skip("no pids cgroup can be written here")
    made = sandbox.exec(
        "python3 -c \"\nimport os, time\nn = 0\ntry:\n while n < 200:\n  if os.fork() == 0:\n"
        "   os.close(1); os.close(2); time.sleep(30); os._exit(0)\n  n += 1\nexcept OSError: pass\nprint(n)\"",
        timeout=20,
    )
    assert 40 < int(made.stdout) < 64
    assert other.exec("ls | cat; echo ok").stdout == b"ok\n"


def test_a_memory_hog_ends_alone(daemon, sandbox, other):
    if not daemon.enforces("memory"):
        pytest.skip("no memory cgroup can be written here, so nothing would hold the hog")
    result = sandbox.exec("python3 -c 'x = bytearray(400 << 20)'", timeout=30)
    assert result.exit_code == 137
    assert result.oom["kills"] >= 1 and result.oom["limit"] == 128 << 20
    assert sandbox.exec("false").oom is None
    assert answers(sandbox)
    assert answers(other)


def test_a_shell_that_eats_the_memory_costs_itself_only(daemon, sandbox, other):
    if not daemon.enforces("memory"):
        pytest.skip("no memory cgroup can be written here, so nothing would hold the hog")
    try:
        sandbox.exec("x=x; while :; do x=$x$x; done", timeout=20)
    except errors.SandboxLost:
        return
    assert answers(sandbox)
    assert answers(other)


def test_every_writable_place_in_memory_is_bounded(sandbox, other):
    for path in ("/tmp", "/home/agent", "/dev/shm", "/run/corral"):
        result = sandbox.exec(f"head -c 64M /dev/zero > {path}/fill; stat -c %s {path}/fill; rm -f {path}/fill")
        assert 0 < int(result.stdout) <= 16 << 20
        assert answers(sandbox)
    sandbox.exec("head -c 64M /dev/zero > /tmp/fill")
    full = sandbox.exec("echo x > /tmp/more || echo rc=$?")
    assert full.stdout == b"rc=1\n"
    sandbox.exec("head -c 64M /dev/zero > /run/corral/fill")
    try:
        sandbox.exec("rm /run/corral/fill")
    except errors.NoSpace:
        sandbox.reset_session()
    assert answers(other)


def test_files_and_descriptors_are_limited(sandbox):
    assert fails(sandbox, "head -c 64M /dev/zero > big")
    assert sandbox.exec("stat -c %s big; ulimit -Hn; ulimit -c").stdout == b"33554432\n128\n0\n"


def test_a_fast_writer_does_not_starve_its_neighbours(sandbox, other):
    flood = threading.Thread(target=lambda: sandbox.exec("yes", timeout=2))
    flood.start()
    while flood.is_alive():
        begin = time.monotonic()
        assert answers(other)
        assert time.monotonic() - begin < 1


def test_a_secret_given_to_an_exec_is_on_no_hosts_command_line(sandbox):
    run = threading.Thread(target=lambda: sandbox.exec("sleep 1", env={"K": "s3cr3t-five"}))
    run.start()
    time.sleep(0.3)
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout
    run.join()
    assert b"s3cr3t-five" not in shown


def test_a_sandbox_keeps_nothing_of_its_predecessor_but_the_files(client, thread):
    with client.acquire(thread) as first:
        first.exec("echo A > a; echo A > /tmp/a; echo A > ~/.a; export SECRET=A; (sleep 999 &); alias x=y")
        client.destroy(first.id, force=True)
    with client.acquire(thread) as again:
        assert again.origin == "created"
        assert again.exec("cat a; ls -A /tmp ~; echo ${SECRET-unset}; pgrep -c sleep").stdout == (
            b"A\n/home/agent:\n\n/tmp:\nunset\n0\n"
        )
        client.destroy(again.id, force=True, purge=True)
    with client.acquire(thread) as third:
        assert third.exec("ls -A").stdout == b""
        client.destroy(third.id, force=True)


def test_no_reply_holds_a_host_path_or_secret(daemon, sandbox, thread):
    """Many kinds of error and every kind of result, searched for where the daemon keeps things."""
    target = {"thread": thread}
    headers = [
        {"op": op, **target, **fields}
        for op, fields in [
            ("read_file", {"path": "missing"}), ("read_file", {"path": "/proc/1/environ"}),
            ("read_file", {"path": "/run/host/guest.sock"}), ("read_file", {"path": "/run/corral/cmd"}),
            ("list_dir", {"path": "/run/host"}), ("list_dir", {"path": "/mnt", "max_depth": 5}),
            ("glob", {"path": "/run", "pattern": "**"}), ("grep", {"path": "/etc", "pattern": "corral-"}),
            ("grep", {"path": "/", "pattern": "corral-", "timeout_ms": 500}),
            ("download_file", {"path": "/mnt"}), ("str_replace", {"path": "x"}), ("write_file", {"path": "/run/host/x"}),
            ("exec", {}), ("exec", {"cwd": "/nowhere"}), ("reset_session", {}), ("read_file", {"path": "x" * 4000}),
        ]
    ]
    headers += [
        {"op": "get", "sandbox": sandbox.id}, {"op": "get", "sandbox": "f" * 16}, {"op": "list"}, {"op": "stats"},
        {"op": "hello"}, {"op": "ping"}, {"op": "destroy", "sandbox": "0" * 16}, {"op": "acquire", "thread": "../x"},
        {"op": "acquire", "thread": thread}, {"op": "release", "sandbox": sandbox.id, "lease": "x"},
        {"op": "exec", "thread": thread, "pool": "nosuch"}, {"op": "cancel", "sandbox": "zz"},
    ]
    with Raw(daemon.endpoint) as raw:
        for i, header in enumerate(headers):
            reply, payload = raw.call({"id": str(i), **header})
            text = json.dumps(reply).encode() + payload
            for word in (daemon.base, SECRET, daemon.record(sandbox.id)["secret"]):
                assert word.encode() not in text, (header, reply)

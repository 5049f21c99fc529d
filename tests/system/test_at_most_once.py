"""Two thousand execs with keys, through the ends of daemons, of clients and of connections, all of
them sent again by whoever lost them: a key's command runs at most once, and exactly once where a client
was told that it has run."""

import collections
import os
import random
import subprocess
import sys
import time

import pytest
from harness import Proxy, eventually

KEYS, WORKERS, THREADS = 2000, 8, 10

# Runs its share of the keys and writes down what it was told, before it goes on to the next. Started
# again after it was killed, it sends everything again that it has not been told of.
WORKER = """
import sys, concurrent.futures, corral
from corral import errors
endpoint, told, first, last, threads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
done = {x.split()[0] for x in open(told)}
out = open(told, "a", buffering=1)
def run(client, n):
    if str(n) in done:
        return
    try:
        x = client.sandbox(f"t{n % threads}").exec(f"echo {n} >> runs; echo ran {n}", key=f"k{n}")
        assert x.exit_code == 0 and x.stdout in (f"ran {n}\\n".encode(), b""), x
        out.write(f"{n} ran\\n")
    except (errors.DaemonRestarted, errors.SandboxLost) as x:
        out.write(f"{n} lost\\n")
    except (errors.DaemonUnreachable, errors.ShuttingDown):
        out.write(f"{n} lost\\n")
with corral.Client(endpoint, timeout=60) as client, concurrent.futures.ThreadPoolExecutor(4) as pool:
    for x in [pool.submit(run, client, n) for n in range(first, last)]:
        x.result()
"""


class Worker:
    def __init__(self, endpoint, told, first, last):
        self.told = told
        self._arguments = [endpoint, told, str(first), str(last), str(THREADS)]
        open(told, "w").close()
        self.start()

    def start(self):
        command = [sys.executable, "-c", WORKER, *self._arguments]
        env = {**os.environ, "PYTHONPATH": os.path.join(os.path.dirname(__file__), "../../clients/python")}
        self.process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
            self.start()


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [x.split() for x in file if x.endswith("\n")]


@pytest.mark.limit(300)
def test_two_thousand_keyed_execs_run_at_most_once_each(new_daemon, tmp_path):
    daemon = new_daemon()
    dice = random.Random(5)
    with daemon.client() as client:
        for t in range(THREADS):
            client.sandbox(f"t{t}").exec("true")
    share = KEYS // WORKERS
    begin = time.monotonic()
    kills = collections.Counter()
    with Proxy(f"{daemon.run_dir}/proxy.sock", daemon.socket) as proxy:
        workers = [
            Worker(daemon.endpoint if i % 2 else proxy.endpoint, str(tmp_path / f"told{i}"), i * share, (i + 1) * share)
            for i in range(WORKERS)
        ]

        def told():
            return sum(len(lines(x.told)) for x in workers)

        goal = 0
        while (goal := goal + KEYS // 25) < KEYS * 9 // 10:
            eventually(lambda: told() >= goal, timeout=60, what=f"{goal} answers")
            kind = dice.choice(("daemon", "worker", "connection"))
            kills[kind] += 1
            if kind == "daemon":
                daemon.kill()
                daemon.start()
            elif kind == "worker":
                dice.choice(workers).kill()
            else:
                proxy.cut()
        for x in workers:
            _, fault = x.process.communicate(timeout=120)
            assert x.process.returncode == 0, fault
    answers = {int(n): what for x in workers for n, what in lines(x.told)}
    assert set(answers) == set(range(KEYS))
    ran = collections.Counter()
    for t in range(THREADS):
        path = f"{daemon.user_data(f't{t}')}/workspace/runs"
        ran.update(int(n) for (n,) in lines(path))
    assert not [n for n, times in ran.items() if times > 1]
    assert not [n for n, what in answers.items() if what == "ran" and ran[n] != 1]
    lost = [n for n, what in answers.items() if what == "lost"]
    assert min(kills["daemon"], kills["worker"], kills["connection"]) >= 3
    assert len(lost) < KEYS // 10  # Sandboxes outlive the daemon: little is unknown.
    print(f"{KEYS} keys in {time.monotonic() - begin:.0f} s through {dict(kills)}: {len(answers) - len(lost)} told that they "
          f"ran, {len(lost)} unknown, of which {sum(ran[n] for n in lost)} ran; none twice")

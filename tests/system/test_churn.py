"""Everything at once, in a random order: whatever happens to the sandboxes, every request is answered
with a result or an error that fits, and nothing is left at the end."""

import os
import random
import signal
import threading
import time
from collections import Counter

from harness import traces

from corral import errors

SEED = int(os.environ.get("CORRAL_TEST_SEED", str(time.time_ns() % 100_000)))
SECONDS = float(os.environ.get("CORRAL_TEST_SECONDS", "8"))
OWNERS = 6

# What may befall a request while sandboxes are evicted, reaped, destroyed and killed under it.
FAIR = {"sandbox_lost", "capacity_exceeded", "busy", "sandbox_not_found", "sandbox_runtime", "queue_full"}


class Agent(threading.Thread):
    """A client that does at random what clients do, and checks each answer."""

    def __init__(self, daemon, number):
        super().__init__()
        self.daemon_ = daemon
        self.rng = random.Random(SEED * 1000 + number)
        self.number = number
        self.outcomes = Counter()
        self.faults = []

    def run(self):
        with self.daemon_.client(heartbeat=0.5, timeout=20) as client:
            self.client, self.leased = client, []
            end = time.monotonic() + SECONDS
            while time.monotonic() < end and not self.faults:
                action = self.rng.choice([self.acquire, self.release, *[self.exec] * 4, self.borrow, self.files,
                                          self.timeout, self.cancel, self.destroy, self.kill_guest, self.look])
                begin = time.monotonic()
                try:
                    action()
                    self.outcomes[action.__name__] += 1
                except errors.CorralError as fault:
                    self.outcomes[fault.code] += 1
                    if fault.code not in FAIR:
                        self.faults.append((action.__name__, fault))
                except Exception as fault:  # pylint: disable=broad-except
                    self.faults.append((action.__name__, fault))
                if time.monotonic() - begin > 10:
                    self.faults.append((action.__name__, "took", time.monotonic() - begin))

    def thread_name(self):
        return f"churn-{self.rng.randrange(OWNERS)}"

    def any_box(self):
        return self.rng.choice(self.leased) if self.leased else self.client.sandbox(self.thread_name())

    def acquire(self):
        if len(self.leased) < 3:
            self.leased.append(self.client.acquire(self.thread_name() if self.rng.random() < 0.9 else None))

    def release(self):
        if self.leased:
            box = self.leased.pop(self.rng.randrange(len(self.leased)))
            try:
                box.release()
            except errors.InvalidRequest:
                pass  # Its sandbox was lost and another agent has a new one of that thread.

    def exec(self):
        token = f"{self.number}-{self.rng.random()}"
        result = self.any_box().exec(f"echo {token}; echo e-{token} >&2; exit_code() {{ return 7; }}; exit_code",
                                     timeout=20)
        seen = (result.exit_code, result.stdout, result.stderr)
        if result.cancelled:
            return
        assert seen == (7, f"{token}\n".encode(), f"e-{token}\n".encode()), (seen, token)

    def borrow(self):
        token = f"b-{self.number}-{self.rng.random()}"
        result = self.client.sandbox(self.thread_name()).exec(f"sleep 0.02; echo {token}", timeout=20)
        assert result.cancelled or result.stdout == f"{token}\n".encode(), result

    def files(self):
        box, text = self.client.sandbox(self.thread_name()), f"{self.rng.random()}" * self.rng.randrange(1, 2000)
        name = f"f-{self.number}"
        box.write_file(name, text)
        assert box.read_file(name) == text

    def timeout(self):
        result = self.any_box().exec("sleep 30 & sleep 30", timeout=0.1)
        assert result.timed_out or result.cancelled, result

    def cancel(self):
        self.client.sandbox(self.thread_name()).cancel()

    def destroy(self):
        self.client.destroy(self.client.sandbox(self.thread_name()).id, force=self.rng.random() < 0.5)

    def kill_guest(self):
        try:
            os.kill(self.daemon_.guest_pid(self.client.sandbox(self.thread_name()).id), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError, ValueError):
            pass  # There is none at the moment.
        except PermissionError as fault:
            self.faults.append(("kill_guest", fault))

    def look(self):
        for row in self.client.list():
            assert row["state"] in ("starting", "leased", "borrowed", "parked", "ending"), row
        self.client.stats()


def test_a_pool_in_turmoil_answers_everyone_and_ends_clean(new_daemon):
    print(f"CORRAL_TEST_SEED={SEED}")
    daemon = new_daemon({"pool.replicas": 3, "pool.max_sandboxes": 8, "pool.idle_timeout": "400ms",
                         "pool.lease_idle_timeout": "1s", "pool.reap_interval": "50ms"})
    agents = [Agent(daemon, x) for x in range(8)]
    for x in agents:
        x.start()
    for x in agents:
        x.join()
    assert [x for agent in agents for x in agent.faults] == []
    outcomes = sum((x.outcomes for x in agents), Counter())
    print(dict(outcomes))
    assert outcomes["exec"] > 20
    with daemon.client() as client:
        counters = client.stats()
        assert counters["open"] == 1  # This very request.
        assert "internal" not in counters["errors"]
    status, left = daemon.stop()
    assert (status, left) == (0, [])


def test_a_shutdown_in_turmoil_answers_everyone_and_ends_clean(new_daemon):
    daemon = new_daemon({"pool.replicas": 3, "drain_timeout": "500ms"})
    stopped, faults = threading.Event(), []

    def work(number):
        with daemon.client(timeout=2) as client:
            while not stopped.is_set():
                try:
                    client.sandbox(f"s{number % 5}").exec("sleep 0.05; echo x", timeout=5)
                except (errors.ShuttingDown, errors.SandboxLost, errors.CapacityExceeded):
                    pass
                except ConnectionError:
                    return
                except Exception as fault:  # pylint: disable=broad-except
                    faults.append(fault)

    workers = [threading.Thread(target=work, args=(x,)) for x in range(10)]
    for x in workers:
        x.start()
    time.sleep(0.7)
    status, left = daemon.stop()
    stopped.set()
    for x in workers:
        x.join()
    assert (status, left, faults) == (0, [], [])
    assert traces.cgroups(daemon) == []

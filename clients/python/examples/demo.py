#!/usr/bin/env python3
"""The demo that scripts/demo runs: many agents at work in sandboxes of one daemon.

Eight worker processes with four threads each write, build, test, search and repair a small C project
in a sandbox of their own. Then two subagents share one sandbox, one agent looks for another's files, a
second pass finds the sandboxes warm, more threads than `replicas` evict the least recently used, and an
idle sandbox is reaped. Every step is checked; the exit status is 1 if one was wrong.
"""

import argparse
import multiprocessing
import sys
import threading
import time
from collections import Counter

import corral

SOURCE = """\
#include "stack.h"
int push(struct stack *s, int x) { if (s->n == STACK_MAX) return 0; s->items[s->n++] = x; return 1; }
int pop(struct stack *s) { return s->items[s->n]; }
"""
BUG, REPAIR = "return s->items[s->n];", "return s->items[--s->n];"
HEADER = """\
#define STACK_MAX 16
struct stack { int n; int items[STACK_MAX]; };
int push(struct stack *s, int x);
int pop(struct stack *s);
"""
TEST = """\
#include <stdio.h>
#include "stack.h"
int main(void) {
  struct stack s = {0};
  push(&s, 1); push(&s, 2);
  if (pop(&s) != 2 || pop(&s) != 1) { fprintf(stderr, "stack is wrong\\n"); return 1; }
  puts("all tests passed");
  return 0;
}
"""
MAKEFILE = """\
test: stack_test
\t./stack_test
stack_test: src/stack.c src/stack.h src/stack_test.c
\tgcc -Wall -O1 -o $@ src/stack.c src/stack_test.c
"""


class Wrong(Exception):
    """A step of the demo did not do what it must."""


def check(condition, what, seen=None):
    if not condition:
        raise Wrong(what if seen is None else f"{what}; seen: {seen!r}")


class Meter:
    """Durations by kind and acquires by origin; shared by the threads of one process."""

    def __init__(self):
        self.durations = {"acquire": [], "exec": [], "file": []}
        self.origins = Counter()

    def timed(self, kind, call, *args, **named):
        begin = time.perf_counter()
        result = call(*args, **named)
        self.durations[kind].append(time.perf_counter() - begin)
        return result

    def acquire(self, client, thread):
        sandbox = self.timed("acquire", client.acquire, thread)
        self.origins[sandbox.origin] += 1
        return sandbox


def run(meter, sandbox, command):
    result = meter.timed("exec", sandbox.exec, command, timeout=120)
    check(result.ok, f"`{command}` must succeed", result.output)
    return result


def project(meter, client, thread):
    """One agent's work: a project with a bug, found by its test and repaired."""
    with meter.acquire(client, thread) as sandbox:
        for path, text in (("src/stack.h", HEADER), ("src/stack.c", SOURCE),
                           ("src/stack_test.c", TEST), ("Makefile", MAKEFILE)):
            meter.timed("file", sandbox.write_file, path, text)
        broken = meter.timed("exec", sandbox.exec, "make", timeout=120)
        check(not broken.ok and "stack is wrong" in broken.output,
              "the test must find the bug", broken.output)
        found = meter.timed("file", sandbox.grep, "src", r"items\[s->n\]")
        check([m.path.rsplit("/", 1)[-1] for m in found.matches] == ["stack.c"],
              "grep must find the bug's line", found)
        sources = meter.timed("file", sandbox.glob, ".", "**/*.c")
        check(len(sources.paths) == 2, "glob must find both sources", sources)
        meter.timed("file", sandbox.str_replace, "src/stack.c", BUG, REPAIR)
        built = run(meter, sandbox, "make")
        check("all tests passed" in built.output, "the repaired project must pass", built.output)
        run(meter, sandbox, f"cd src && export AGENT={thread}")
        where = run(meter, sandbox, "echo $AGENT in ${PWD##*/}")
        check(where.stdout == f"{thread} in src\n".encode(), "the session must persist", where.stdout)


def second_pass(meter, client, thread):
    with meter.acquire(client, thread) as sandbox:
        check(sandbox.origin == "warm", "the second pass must find it warm", sandbox.origin)
        where = run(meter, sandbox, "echo $AGENT in ${PWD##*/}")
        check(where.stdout == f"{thread} in src\n".encode(), "its session must be there", where.stdout)


def worker(endpoint, job, threads, results):
    """One worker process: a client shared by a thread for each of its agents."""
    meter, faults = Meter(), []

    def work(client, thread):
        try:
            job(meter, client, thread)
        except Exception as fault:  # pylint: disable=broad-except
            faults.append(f"{thread}: {type(fault).__name__}: {fault}")
        results.put(("done", thread))

    with corral.Client(endpoint) as client:
        pool = [threading.Thread(target=work, args=(client, t)) for t in threads]
        for t in pool:
            t.start()
        for t in pool:
            t.join()
    results.put(("end", (meter, faults)))


class Demo:
    def __init__(self, options):
        self.options = options
        self.threads = [[f"w{w}-t{t}" for t in range(options.threads)]
                        for w in range(options.workers)]
        self.meter = Meter()
        self.wrong = []
        self.began = time.perf_counter()
        self.busy = 0.0

    def step(self, title, call):
        print(f"demo: {title} ...", flush=True)
        begin = time.perf_counter()
        try:
            call()
            verdict = "ok"
        except Exception as fault:  # pylint: disable=broad-except
            self.wrong.append(title)
            verdict = f"WRONG: {type(fault).__name__}: {fault}"
        print(f"demo: {title}: {verdict} ({time.perf_counter() - begin:.1f} s)", flush=True)

    def in_workers(self, job):
        """Runs `job` for every thread, in the worker processes, with progress."""
        context = multiprocessing.get_context("spawn")
        results = context.Queue()
        processes = [context.Process(target=worker, args=(self.options.endpoint, job, t, results))
                     for t in self.threads]
        begin = time.perf_counter()
        for p in processes:
            p.start()
        done, left, faults, total = 0, len(processes), [], sum(map(len, self.threads))
        while left:
            kind, what = results.get(timeout=600)
            if kind == "done":
                done += 1
                if done % 8 == 0 or done == total:
                    print(f"demo:   {done} of {total} agents are done", flush=True)
                continue
            left -= 1
            meter, bad = what
            faults += bad
            self.meter.origins += meter.origins
            for name, values in meter.durations.items():
                self.meter.durations[name] += values
        for p in processes:
            p.join()
        self.busy += time.perf_counter() - begin
        check(not faults, f"{len(faults)} agents failed", faults[:3])

    def share(self):
        """Two subagents in one sandbox: served one after the other, neither loses it by the other."""
        outputs = {}

        def subagent(client, name):
            with self.meter.acquire(client, "w0-t0") as sandbox:
                outputs[name] = [
                    run(self.meter, sandbox, f"for i in 1 2 3; do echo {name}; sleep 0.01; done").stdout
                    for _ in range(10)]

        with corral.Client(self.options.endpoint) as one, corral.Client(self.options.endpoint) as two:
            keeper = self.meter.acquire(one, "w0-t0")
            pair = [threading.Thread(target=subagent, args=(c, n))
                    for c, n in ((one, "left"), (two, "right"))]
            for t in pair:
                t.start()
            for t in pair:
                t.join()
            for name in ("left", "right"):
                check(outputs.get(name) == [f"{name}\n".encode() * 3] * 10,
                      f"the output of {name} must be its own", outputs.get(name))
            run(self.meter, keeper, "true")
            info = keeper.info()
            check(info["leases"] == 1, "one lease must be left", info)
            keeper.release()

    def isolate(self):
        """An agent that looks for another's files, processes and network."""
        with corral.Client(self.options.endpoint) as client:
            with self.meter.acquire(client, "w0-t0") as owner:
                self.meter.timed("file", owner.write_file, "/mnt/user-data/outputs/secret-canary", "x")
                run(self.meter, owner, "touch /tmp/secret-canary; sleep 600 & true")
            with self.meter.acquire(client, "w1-t1") as other:
                seen = run(self.meter, other, "find / -name 'secret-canary' 2>/dev/null; true")
                check(seen.stdout == b"", "another's files must not be found", seen.stdout)
                processes = run(self.meter, other, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; true")
                check(b"sleep 600" not in processes.stdout, "nor its processes", processes.stdout)
                network = self.meter.timed(
                    "exec", other.exec, "exec 3<>/dev/tcp/1.1.1.1/80", timeout=10)
                check(not network.ok, "there must be no network", network.output)

    def evict(self):
        """More threads than replicas: the least recently used ones go, their files stay."""
        before = self.events("evicted")
        extra = self.options.replicas - sum(map(len, self.threads)) + 6
        with corral.Client(self.options.endpoint) as client:
            for n in range(extra):
                self.meter.acquire(client, f"extra-{n}").release()
            evicted = self.events("evicted") - before
            check(evicted >= 6, "sandboxes must have been evicted", evicted)
            newest = self.meter.acquire(client, f"extra-{extra - 1}")
            check(newest.origin == "warm", "the most recently used one must be there", newest.origin)
            newest.release()
            states = {row["thread"] for row in client.list()}
            gone = [t for group in self.threads for t in group if t not in states]
            check(gone, "one of the first pass must be gone")
            with self.meter.acquire(client, gone[0]) as again:
                check(again.origin == "created", "it must be made anew", again.origin)
                run(self.meter, again, "test -x stack_test && ./stack_test")

    def events(self, name):
        with corral.Client(self.options.endpoint) as client:
            return client.stats()["pools"][0]["events"].get(name, 0)

    def reap(self):
        """On a daemon with an idle timeout of seconds: work keeps a sandbox, idleness ends it."""
        with corral.Client(self.options.reaping_endpoint) as client:
            idle, busy = client.acquire("idle"), client.acquire("busy")
            idle.release()
            busy.release()
            working = busy.exec_stream("sleep 6; echo still here")
            until = time.monotonic() + 30
            while client.get(idle.id) is not None:
                check(time.monotonic() < until, "the idle sandbox must be reaped within 30 s")
                time.sleep(0.2)
            result = working.result()
            check(result.stdout == b"still here\n", "the busy one must be left alone", result)
            check(client.stats()["pools"][0]["events"].get("reaped", 0) >= 1, "a reap must be counted")

    def table(self):
        def percentile(values, share):
            values = sorted(values)
            return values[min(int(len(values) * share), len(values) - 1)] * 1000

        execs = self.meter.durations["exec"]
        rows = [("acquires", ", ".join(f"{n} {o}" for o, n in sorted(self.meter.origins.items()))),
                ("execs", str(len(execs))),
                ("execs/s in the workers", f"{len(execs) / self.busy:.1f}" if self.busy else "-")]
        for kind in ("acquire", "exec", "file"):
            values = self.meter.durations[kind]
            if values:
                rows.append((f"{kind} p50 / p99", f"{percentile(values, 0.5):.2f} / "
                                                  f"{percentile(values, 0.99):.2f} ms"))
        rows.append(("steps that were wrong", ", ".join(self.wrong) or "none"))
        print()
        for name, value in rows:
            print(f"  {name:<24} {value}")
        print(f"  {'total':<24} {time.perf_counter() - self.began:.1f} s")

    def run(self):
        self.step(f"{self.options.workers} workers with {self.options.threads} agents each build "
                  "a C project", lambda: self.in_workers(project))
        self.step("two subagents share one sandbox", self.share)
        self.step("an agent can't see another's files", self.isolate)
        self.step("a second pass finds the sandboxes warm", lambda: self.in_workers(second_pass))
        self.step("more threads than replicas evict the least recently used", self.evict)
        if self.options.reaping_endpoint:
            self.step("an idle sandbox is reaped", self.reap)
        self.table()
        return 1 if self.wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--endpoint", default=None, help="of the daemon; default: its usual socket")
    parser.add_argument("--reaping-endpoint", help="of a daemon whose idle_timeout is a few seconds")
    parser.add_argument("--workers", type=int, default=8, help="worker processes")
    parser.add_argument("--threads", type=int, default=4, help="agents a worker")
    parser.add_argument("--replicas", type=int, default=64, help="what the daemon's pool has")
    return Demo(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The association service beside Redis 7 and SQLite, in one run, as ratios.

    bench/assoc_http.py [BUILD] [--quick] [PART...]

PART: redis (single and batch writes, reads, beside redis-benchmark and a handler that does nothing),
restart, thesis (the load generator with lists of several lengths), sqlite. BUILD is the folder of the
program, build/release if not given. --quick: 1 M pairs instead of 10 M. Starts servers of its own in
temporary folders and stops them.
"""
import contextlib
import http.client
import json
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = 5
SECONDS = 5
SETTLE = 20


def free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Escalona:
    """`escalona serve`; killed at the end of the block."""

    def __init__(self, program, data, *options):
        self.program, self.port = program, free_port()
        self.start = time.monotonic()
        self.process = subprocess.Popen([program, "serve", "--data", data, "--grpc", "127.0.0.1:0", "--http", f"127.0.0.1:{self.port}", *options],
                                        stderr=subprocess.DEVNULL)
        while True:
            with contextlib.suppress(OSError):
                self.get("/health")
                return
            time.sleep(0.002)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        return connection.getresponse().read()

    def load(self, *options):
        """`escalona bench assoc`: {"writes": (per second, p50, p99), "reads": ...}"""
        out = subprocess.run([self.program, "bench", "assoc", "--server", f"127.0.0.1:{self.port}", *map(str, options)],
                             check=True, capture_output=True, text=True).stdout
        rows = [line.split() for line in out.splitlines()[1:]]
        return {row[0]: (float(row[2]), float(row[3]), float(row[4])) for row in rows}

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100


class Redis:
    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        self.port = free_port()
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no",
                                         "--dir", self.folder], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)

    def zincrby(self, writes, pipeline, associators):
        """Increments per second of redis-benchmark, 50 clients."""
        out = subprocess.run(["redis-benchmark", "-p", str(self.port), "-c", "50", "-n", str(writes), "-P", str(pipeline), "-r",
                              str(associators), "--csv", "ZINCRBY", "u:__rand_int__", "1", "k:__rand_int__"],
                             check=True, capture_output=True, text=True).stdout
        return float(out.splitlines()[-1].split('","')[1])


# Requests are made beforehand, so that the client costs the same for all.
WRK = """
local requests = {}
local next = 0
init = function(args)
  math.randomseed(os.time())
  for i = 1, 20000 do
    local associator = math.random(0, %(associators)d - 1)
    %(request)s
  end
end
request = function()
  next = next %% 20000 + 1
  return requests[next]
end
"""
IDS = 'local key = string.format("u%%015d", associator)'
SINGLE = IDS + """
    local body = string.format('{"key":"%%s","associatedKey":"k%%07d%%08d"}', key, associator, math.random(0, 99))
    requests[i] = wrk.format("POST", "/associations", {["Host"] = "x"}, body)"""
TOP = IDS + """
    requests[i] = wrk.format("GET", "/associations/" .. key, {["Host"] = "x"})"""
NOTHING = """
    requests[i] = wrk.format("GET", "/health", {["Host"] = "x"})"""


def wrk(server, request, associators, connections=50):
    """(requests per second, p99 in us)"""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(WRK % {"associators": associators, "request": request.replace("%%", "%")})
        script.flush()
        out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}", "--latency", "-s", script.name,
                              f"http://127.0.0.1:{server.port}"], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in out:
        raise SystemExit(out)
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", out).groups()
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def fill(server, associators):
    """associators x 100 pairs with the names that wrk asks for."""
    def lines():
        for associator in range(associators):
            key = f"u{associator:015d}"
            yield "".join(f'{{"key":"{key}","associatedKey":"k{associator:07d}{k:08d}"}}\n' for k in range(100)).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    connection.request("POST", "/associations/batch", lines(), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
    answer = json.loads(connection.getresponse().read())
    assert answer["accepted"] == associators * 100, answer


def say(what, value, ratio=None, goal=None, met=None):
    text = f"  {what:<58} {value:>12,.0f}"
    if ratio is not None:
        text += f"   {ratio:5.2f}x"
    if goal is not None:
        text += f"   (goal {goal}: {'met' if met else 'MISSED'})"
    print(text, flush=True)


class Rounds:
    """Figures of several rounds, by name."""

    def __init__(self):
        self.values = {}

    def add(self, **figures):
        for name, value in figures.items():
            self.values.setdefault(name, []).append(value)

    def medians(self):
        return {name: statistics.median(values) for name, values in self.values.items()}


def redis(program, associators):
    print(f"{associators} x 100 pairs; medians of {ROUNDS} rounds, ratios of what was measured one after the other", flush=True)
    with tempfile.TemporaryDirectory() as folder, Redis() as peer, Escalona(program, folder + "/data") as server:
        fill(server, associators)
        peer.zincrby(associators * 100, 64, associators)
        time.sleep(SETTLE)  # what was filled in is still being written to tables
        rounds = Rounds()
        # Before the load generator makes pairs of its own, so that wrk finds what it asks for; reads
        # before writes, whose checkpoints go on for a while.
        for _ in range(ROUNDS):
            noop, noop99 = wrk(server, NOTHING, associators)
            top, top99 = wrk(server, TOP, associators)
            rounds.add(top=top, top99=top99, noop99=noop99, top_to_noop=top / noop, top99_to_noop99=top99 / noop99)
        for _ in range(ROUNDS):
            redis1 = peer.zincrby(300_000, 1, associators)
            before = wrk(server, NOTHING, associators)[0]
            single = wrk(server, SINGLE, associators)[0]
            noop = (before + wrk(server, NOTHING, associators)[0]) / 2
            rounds.add(redis1=redis1, noop=noop, single=single, single_to_redis1=single / redis1, single_to_noop=single / noop)
        server.load("--associators", associators, "--keys", 100, "--repetitions", 1, "--batch", 1000, "--reads", 0)
        for _ in range(ROUNDS):
            redis64 = peer.zincrby(2_000_000, 64, associators)
            cpu = server.processor_seconds()
            batch = server.load("--associators", associators, "--keys", 100, "--repetitions", 1, "--batch", 1000, "--reads", 0,
                                "--connections", 4)["writes"][0]
            rounds.add(redis64=redis64, batch=batch, batch_to_redis64=batch / redis64,
                       cpu=associators * 100 / (server.processor_seconds() - cpu))
        m = rounds.medians()
        say("redis-benchmark ZINCRBY, 50 clients", m["redis1"])
        say("handler that does nothing, 50 connections", m["noop"])
        say("single POST, 50 connections, beside Redis", m["single"], m["single_to_redis1"], "0.9x", m["single_to_redis1"] >= 0.9)
        say("  beside the handler that does nothing", m["single"], m["single_to_noop"], "0.85x", m["single_to_noop"] >= 0.85)
        say("top 20, 50 connections, beside nothing", m["top"], m["top_to_noop"])
        say("  p99 in us, beside nothing's " + f"{m['noop99']:.0f}", m["top99"], m["top99_to_noop99"], "1.2x", m["top99_to_noop99"] <= 1.2)
        say("redis-benchmark ZINCRBY, pipeline 64", m["redis64"])
        say("batches of 1000, 4 connections, beside Redis", m["batch"], m["batch_to_redis64"], "4x", m["batch_to_redis64"] >= 4)
        say("  increments/s", m["batch"], None, "1 M", m["batch"] >= 1e6)
        say("  increments per second of the server's processor time", m["cpu"])


def restart(program, associators):
    print(f"restart, {associators} x 100 pairs: seconds from start to the first answer", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        with Escalona(program, folder + "/data") as server:
            fill(server, associators)
            server.stop()
        def first_answer(what):
            server = Escalona(program, folder + "/data")
            server.get(f"/associations/u{associators // 2:015d}")
            seconds = time.monotonic() - server.start
            print(f"  {what:<58} {seconds:>12.2f}   (goal 2: {'met' if seconds <= 2 else 'MISSED'})", flush=True)
            return server
        with first_answer("after it was stopped") as server:
            # As many changes as the log gets before a checkpoint, all over the lists.
            server.load("--associators", associators, "--keys", 100, "--repetitions", 1, "--batch", 1000, "--reads", 0)
            wrk(server, SINGLE, associators)
            time.sleep(1.5)
        with first_answer("after kill -9 in the midst of writes"):
            pass


def thesis(program, scale):
    print("the thesis' load: associators x keys x repetitions, single requests, 4 connections; us per request", flush=True)
    print(f"  {'':<26} {'writes/s':>10} {'p50':>6} {'p99':>6}   {'reads/s':>10} {'p50':>6} {'p99':>6}   {'batch, writes/s':>16}")
    for associators, keys in ((10_000, 10), (1_000, 100), (100, 1_000), (10, 10_000), (1, 100_000)):
        with tempfile.TemporaryDirectory() as folder, Escalona(program, folder + "/data") as server:
            size = ("--associators", associators, "--keys", keys)
            single = server.load(*size, "--repetitions", scale, "--reads", 20_000)
            batch = server.load(*size, "--repetitions", 10 * scale, "--batch", 1000, "--reads", 0)
        w, r = single["writes"], single["reads"]
        print(f"  {associators:>7} x {keys:>7} x {scale:<6} {w[0]:>10,.0f} {w[1]:>6.0f} {w[2]:>6.0f}   {r[0]:>10,.0f} {r[1]:>6.0f}"
              f" {r[2]:>6.0f}   {batch['writes'][0]:>16,.0f}", flush=True)


def sqlite(program, pairs):
    print("SQLite with a proper index, in one process, beside the service over HTTP; top 20 in us", flush=True)
    print(f"  {'':<20} {'upserts/s':>10} {'p50':>6} {'p99':>6}   {'batch, writes/s':>16} {'p50':>6} {'p99':>6}")
    for associators, keys in ((pairs // 10, 10), (pairs // 1000, 1000), (pairs // 100_000 or 1, 100_000)):
        rng = random.Random(1)
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(sqlite3.connect(folder + "/db")) as db:
            db.executescript("""PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -1000000;
                CREATE TABLE association (key TEXT, associated TEXT, frequency INTEGER, stamp INTEGER,
                                          PRIMARY KEY (key, associated)) WITHOUT ROWID;
                CREATE INDEX by_frequency ON association (key, frequency DESC, stamp DESC);""")
            upsert = """INSERT INTO association VALUES (?, ?, 1, ?) ON CONFLICT (key, associated)
                        DO UPDATE SET frequency = frequency + 1, stamp = excluded.stamp"""
            stamp = 0
            def write(n):
                nonlocal stamp
                for at in range(0, n, 1000):
                    rows = [(f"u{p // keys:015d}", f"k{p:015d}", stamp + i)
                            for i, p in enumerate(rng.randrange(associators * keys) for _ in range(1000))]
                    stamp += 1000
                    with db:
                        db.executemany(upsert, rows)
            write(pairs)
            start = time.monotonic()
            write(pairs // 5)
            rate = pairs // 5 / (time.monotonic() - start)
            times = []
            for _ in range(5000):
                key = f"u{rng.randrange(associators):015d}"
                start = time.monotonic()
                db.execute("SELECT associated, frequency FROM association WHERE key = ? ORDER BY frequency DESC, stamp DESC LIMIT 20",
                           (key,)).fetchall()
                times.append(1e6 * (time.monotonic() - start))
            times.sort()
        with tempfile.TemporaryDirectory() as folder, Escalona(program, folder + "/data") as server:
            own = server.load("--associators", associators, "--keys", keys, "--repetitions", 2, "--batch", 1000, "--reads", 5000,
                              "--connections", 1)
        print(f"  {associators:>7} x {keys:>7}   {rate:>10,.0f} {times[2500]:>6.0f} {times[4950]:>6.0f}   {own['writes'][0]:>16,.0f}"
              f" {own['reads'][1]:>6.0f} {own['reads'][2]:>6.0f}", flush=True)


def main():
    words = [word for word in sys.argv[1:] if word != "--quick"]
    quick = "--quick" in sys.argv[1:]
    build = pathlib.Path(words.pop(0)) if words and pathlib.Path(words[0]).is_dir() else ROOT / "build/release"
    program = str(build / "escalona")
    parts = words or ["redis", "restart", "thesis", "sqlite"]
    associators = 10_000 if quick else 100_000
    for part in parts:
        if part == "redis":
            redis(program, associators)
        elif part == "restart":
            restart(program, associators)
        elif part == "thesis":
            thesis(program, 1 if quick else 3)
        elif part == "sqlite":
            sqlite(program, 200_000 if quick else 1_000_000)
        else:
            raise SystemExit(f"assoc_http.py: no part '{part}'")


if __name__ == "__main__":
    main()

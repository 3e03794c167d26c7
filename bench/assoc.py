#!/usr/bin/env python3
"""The association engine beside Redis 7, in one run, as ratios.

    bench/assoc.py [--quick]       --quick: 1 M pairs instead of 10 M, for a look
    bench/assoc.py --instructions  the work of an increment by list length, counted by valgrind

Starts a redis-server of its own on a Unix socket in a temporary folder and stops it. Builds
nothing: `scripts/build.sh release assoc_bench` does. Rates are per second of CPU time, of the
server process for Redis and of one thread for the engine, so that a busy machine matters less.
"""
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BENCH = ROOT / "build/release/bench/assoc_bench"


def figures(*arguments):
    out = subprocess.run([BENCH, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    return dict((line.split()[0], float(line.split()[1])) for line in out.splitlines())


class Redis:
    """A redis-server without persistence; ends with the block."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.socket = f"{self.folder.name}/redis.sock"
        self.server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--appendonly", "no",
             "--dir", self.folder.name], stdout=subprocess.DEVNULL)
        for _ in range(100):
            if pathlib.Path(self.socket).exists():
                return self
            time.sleep(0.05)
        raise SystemExit("assoc.py: redis-server did not start within 5 s")

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()
        self.folder.cleanup()

    def memory(self):
        info = subprocess.run(["redis-cli", "-s", self.socket, "INFO", "memory"], check=True,
                              capture_output=True, text=True).stdout
        return next(int(line.split(":")[1]) for line in info.splitlines() if line.startswith("used_memory:"))


def compare(associators, keys, speed_goal, memory_goal):
    with Redis() as redis:
        empty = redis.memory()
        peer = figures("redis", redis.socket, redis.server.pid, associators, keys)
        peer_bytes = (redis.memory() - empty) / (associators * keys)
    own = figures("increments", associators, keys)
    ratio = own["batch64_per_second"] / peer["redis_per_cpu_second"]
    single = own["single_per_second"] / peer["redis_per_cpu_second"]
    used = own["bytes_per_pair_after_traffic"]
    print(f"{associators} x {keys}")
    print(f"  Redis ZINCRBY, pipeline 64      {peer['redis_per_cpu_second']:>10.0f} /CPU s   {peer_bytes:6.1f} B/pair")
    print(f"  engine, batch of 64             {own['batch64_per_second']:>10.0f} /CPU s   {used:6.1f} B/pair"
          f"   {ratio:5.1f}x (goal {speed_goal}x: {'met' if ratio >= speed_goal else 'MISSED'};"
          f" memory goal {memory_goal} B: {'met' if used <= memory_goal else 'MISSED'})")
    print(f"  engine, one by one              {own['single_per_second']:>10.0f} /CPU s {'':>16} {single:5.1f}x", flush=True)


def durable(associators, keys):
    with tempfile.TemporaryDirectory() as folder:
        own = figures("durable", f"{folder}/db", associators, keys)
    goals = [("store_bytes_per_pair", 20), ("log_bytes_per_increment_batch64", 40), ("log_bytes_per_increment_batch1", 40),
             ("restart_to_first_answer_seconds", 2), ("restart_with_log_seconds", 2)]
    print(f"durable, {associators} x {keys}")
    for name, goal in goals:
        print(f"  {name:<36} {own[name]:>8.2f}   (goal {goal}: {'met' if own[name] <= goal else 'MISSED'})")
    print(f"  increments/s, wall time: batch of 64 {own['durable_batch64_per_second']:.0f},"
          f" one by one {own['durable_batch1_per_second']:.0f}", flush=True)


def flatness():
    out = subprocess.run([BENCH, "flat"], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    base = float(rows[0][2])
    print("cost of an increment by keys per associator, 1 M pairs in all")
    for name, _, batch, _, single in rows:
        print(f"  {name[5:]:>8} keys   batch {batch:>5} ns  ({float(batch) / base:4.2f}x of 10 keys)   one by one {single:>5} ns")


def instructions(keys, writes):
    with tempfile.NamedTemporaryFile() as out:
        run = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={out.name}",
                              BENCH, "work", str(keys), str(writes)], check=True, capture_output=True, text=True)
    line = next(line for line in run.stderr.splitlines() if "I   refs" in line)
    return int(line.split()[-1].replace(",", ""))


def work():
    """What flatness is beyond cache effects: the instructions of an increment, which no cache changes."""
    writes = 50_000
    print("instructions per increment by keys per associator, batch of 64, made-up ids included")
    base = None
    for keys in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        cost = (instructions(keys, writes) - instructions(keys, 0)) / writes
        base = base or cost
        print(f"  {keys:>8} keys   {cost:6.0f}   ({cost / base:4.2f}x of 10 keys)", flush=True)


def main():
    if "--instructions" in sys.argv[1:]:
        work()
        return
    quick = "--quick" in sys.argv[1:]
    compare(10_000 if quick else 100_000, 100, 8, 24)
    compare(10 if quick else 100, 100_000, 25, 44)
    flatness()
    durable(10_000 if quick else 100_000, 100)
    durable(10 if quick else 100, 100_000)


if __name__ == "__main__":
    main()

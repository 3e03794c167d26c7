#!/usr/bin/env python3
"""Speed, linearity and memory of `escalona run`, beside a floor measured in the same run.

    bench/scheduler.py BUILD_DIR [speed] [linear] [memory]     (default: all three)
    bench/scheduler.py BUILD_DIR "depth 0 to 1000"             linearity of one shape (names: see SHAPES)
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
PARTS = sys.argv[2:] or ["speed", "linear", "memory"]
# Hosts (none: one per URL), exponent of Zipf's law, greatest depth.
SHAPES = {
    "1 host": (1, 0, 6), "10 hosts": (10, 0, 6), "100 k hosts": (100_000, 0.8, 6),
    "one URL per host": (None, 0, 6), "depth 0 to 1000": (1000, 0, 1000),
}
ESCALONA = BUILD + "/escalona"
MAKE_LOAD = BUILD + "/bench/make_load"
SET_FLOOR = BUILD + "/bench/set_floor"
STRATEGIES = {"depth-first": [], "breadth-first": ["-b"], "best-first": ["--best-first"]}


def make_load(path, urls, hosts, zipf, depth):
    with open(path, "w") as file:
        subprocess.run([MAKE_LOAD, str(urls), str(hosts), str(zipf), str(depth)], stdout=file, check=True)
    os.sync()  # or writing it back would disturb the first runs
    subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)  # into the page cache


def seconds(command):
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def verdict(value, goal):
    return "reached" if value <= goal else "NOT REACHED"


def speed(folder):
    load, answer = folder + "/zipf.txt", folder + "/zipf-out.txt"
    make_load(load, 5_000_000, 100_000, 0.8, 6)
    print("\n5 M URLs, 100 k hosts (Zipf 0.8): whole of `escalona run` beside lines -> flat_hash_set, median of 5")
    for name, flags in STRATEGIES.items():
        ours, floor = [], []
        for _ in range(5):
            floor.append(seconds([SET_FLOOR, load]))
            ours.append(seconds([ESCALONA, "run", load, "-o", answer, *flags]))
        ours, floor = statistics.median(ours), statistics.median(floor)
        ratio = ours / floor
        print(f"  {name:14} {ours:6.2f} s   floor {floor:6.2f} s   ratio {ratio:5.2f}   goal <= 1.00: {verdict(ratio, 1.0)}")
    os.remove(load)
    os.remove(answer)


def usage(command):
    """Wall-clock, user and system seconds of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def linear(folder, shapes=SHAPES):
    """Each shape and strategy: one run to warm up, then 10 M and 1 M in turn, and the medians of five of each.

    Besides the clock's ratio that of the processor time, which other work on the machine disturbs less, and what the
    kernel needs of it, mostly to find and clear fresh pages: in a virtual machine that can be ten times slower for
    memory that the host has taken back.
    """
    print("\n10 M URLs beside 1 M, answer to /dev/null; medians of 5")
    for shape, (hosts, zipf, depth) in shapes.items():
        small, large = folder + "/small.txt", folder + "/large.txt"
        make_load(small, 1_000_000, hosts or 1_000_000, zipf, depth)
        make_load(large, 10_000_000, hosts or 10_000_000, zipf, depth)
        for name, flags in STRATEGIES.items():
            command = [ESCALONA, "run", "-o", "/dev/null", *flags]
            usage([*command, large])
            ten, one = zip(*((usage([*command, large]), usage([*command, small])) for _ in range(5)))
            wall, user, kernel = ([statistics.median(run[i] for run in runs) for runs in (one, ten)] for i in range(3))
            ratio, processor = wall[1] / wall[0], (user[1] + kernel[1]) / (user[0] + kernel[0])
            print(f"  {shape:17} {name:14} {wall[0]:5.2f} s -> {wall[1]:6.2f} s   ratio {ratio:5.1f}   "
                  f"goal <= 11: {verdict(ratio, 11):11}   processor {processor:5.1f}, without the kernel "
                  f"{user[1] / user[0]:5.1f}", flush=True)
        os.remove(small)
        os.remove(large)


def peak_anonymous(command, stdin=None):
    """The most anonymous memory a command had, looked at every few milliseconds: heap, stacks and all."""
    peak = 0
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status") as status:
                    peak = max([peak] + [int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon")])
            except (FileNotFoundError, ProcessLookupError):
                pass
            time.sleep(0.002)
    return peak


def memory(folder):
    """Mapped input and copied input: a file, and the same through a pipe."""
    load, answer = folder + "/zipf.txt", folder + "/zipf-out.txt"
    make_load(load, 5_000_000, 100_000, 0.8, 6)
    from_file = peak_anonymous([ESCALONA, "run", load, "-o", answer])
    with subprocess.Popen(["cat", load], stdout=subprocess.PIPE) as cat:
        from_pipe = peak_anonymous([ESCALONA, "run", "-", "-o", "/dev/null"], stdin=cat.stdout)
    urls = bytes_of_urls = 0
    with open(answer, "rb") as file:
        for line in file:
            if line.startswith(b"http://"):
                urls += 1
                bytes_of_urls += len(line) - 1
    print("\nPeak memory of the 5 M case (anonymous pages: the heap and all else but the mapped input)")
    for name, peak in (("a file, which is mapped", from_file), ("a pipe: texts are copied", from_pipe)):
        beyond = (peak - bytes_of_urls) / urls
        print(f"  {name:25} {peak / 1e6:.0f} MB; {urls} URLs of {bytes_of_urls / 1e6:.0f} MB: "
              f"{beyond:.1f} bytes per URL beyond their text   goal <= 24: {verdict(beyond, 24)}")


with tempfile.TemporaryDirectory(dir=os.environ.get("ESCALONA_BENCH_DIR")) as scratch:
    for part in PARTS:
        if part in SHAPES:
            linear(scratch, {part: SHAPES[part]})
        else:
            {"speed": speed, "linear": linear, "memory": memory}[part](scratch)
        sys.stdout.flush()

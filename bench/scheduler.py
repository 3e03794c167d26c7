#!/usr/bin/env python3
"""Speed, linearity and memory of `escalona run`, beside a floor measured in the same run.

    bench/scheduler.py BUILD_DIR [speed] [linear] [memory]     (default: all three)
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
PARTS = sys.argv[2:] or ["speed", "linear", "memory"]
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


def linear(folder):
    shapes = {
        "1 host": (1, 0, 6), "10 hosts": (10, 0, 6), "100 k hosts": (100_000, 0.8, 6),
        "one URL per host": (None, 0, 6), "depth 1 to 1000": (1000, 0, 1000),
    }
    print("\n10 M URLs beside 1 M, answer to /dev/null; 1 M: median of 3, 10 M: one run")
    for shape, (hosts, zipf, depth) in shapes.items():
        small, large = folder + "/small.txt", folder + "/large.txt"
        make_load(small, 1_000_000, hosts or 1_000_000, zipf, depth)
        make_load(large, 10_000_000, hosts or 10_000_000, zipf, depth)
        for name, flags in STRATEGIES.items():
            one = statistics.median(seconds([ESCALONA, "run", small, "-o", "/dev/null", *flags]) for _ in range(3))
            ten = seconds([ESCALONA, "run", large, "-o", "/dev/null", *flags])
            ratio = ten / one
            print(f"  {shape:17} {name:14} {one:6.2f} s -> {ten:6.2f} s   ratio {ratio:5.1f}   goal <= 11: {verdict(ratio, 11)}")
        os.remove(small)
        os.remove(large)


def memory(folder):
    load, answer, trace = folder + "/zipf.txt", folder + "/zipf-out.txt", folder + "/heap"
    make_load(load, 5_000_000, 100_000, 0.8, 6)
    subprocess.run(["heaptrack", "-o", trace, ESCALONA, "run", load, "-o", answer], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    traces = [folder + "/" + name for name in os.listdir(folder) if name.startswith("heap")]
    report = subprocess.run(["heaptrack_print", *traces], capture_output=True, text=True, check=True).stdout
    number, unit = re.search(r"peak heap memory consumption: ([\d.]+)([KMG])", report).groups()
    peak = float(number) * {"K": 1e3, "M": 1e6, "G": 1e9}[unit]
    urls = bytes_of_urls = 0
    with open(answer, "rb") as file:
        for line in file:
            if line.startswith(b"http://"):
                urls += 1
                bytes_of_urls += len(line) - 1
    beyond = (peak - bytes_of_urls) / urls
    print("\nPeak heap of the 5 M case (heaptrack)")
    print(f"  {peak / 1e6:.0f} MB; {urls} URLs of {bytes_of_urls / 1e6:.0f} MB: "
          f"{beyond:.1f} bytes per URL beyond their text   goal <= 24: {verdict(beyond, 24)}")


with tempfile.TemporaryDirectory(dir=os.environ.get("ESCALONA_BENCH_DIR")) as scratch:
    for part in PARTS:
        {"speed": speed, "linear": linear, "memory": memory}[part](scratch)
        sys.stdout.flush()

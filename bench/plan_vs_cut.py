#!/usr/bin/env python3
"""escalona plan, file to file, beside `cut -d, -f1-4` on the same file.

  plan_vs_cut.py ESCALONA [PAGES] [REPETITIONS]      default 14500000 pages, 3 repetitions

Goal: plan <= 1.0 x cut + 2 s. Prints wall and processor time of both; the median counts.
"""
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

escalona = sys.argv[1]
pages = int(float(sys.argv[2])) if len(sys.argv) > 2 else 14_500_000
repetitions = int(sys.argv[3]) if len(sys.argv) > 3 else 3
servers = max(1, pages // 2655)


def write_pages(path):
    """WEBBASE's shape: servers of Zipf size 1.125, lognormal change rates."""
    chance = random.Random(1)
    rates = [f"{chance.lognormvariate(-4.33, 2.4):.6g}" for _ in range(1 << 16)]
    share = [(k + 1) ** -1.125 for k in range(servers)]
    scale = pages / sum(share)
    written = 0
    with open(path, "w", encoding="ascii", buffering=1 << 20) as out:
        out.write("url,change_rate,weight,note\n")
        for k in range(servers):
            count = min(pages - written, max(1, round(share[k] * scale)))
            if k == servers - 1:
                count = pages - written
            offset = chance.randrange(1 << 16)
            out.write("".join(f"http://www.host{k}.example.org/path/{i}.html,{rates[(offset + i * 7) & 65535]},1,n\n" for i in range(count)))
            written += count


def timed(command, stdout=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=stdout)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


with tempfile.TemporaryDirectory(dir=os.environ.get("ESCALONA_BENCH_DIR")) as folder:
    source, target, plan = (os.path.join(folder, name) for name in ("pages.csv", "cut.csv", "plan.csv"))
    write_pages(source)
    print(f"{pages} pages, {servers} servers, {os.path.getsize(source) / 1e6:.0f} MB")
    cuts, plans = [], []
    for _ in range(repetitions):
        with open(target, "wb") as out:
            cuts.append(timed(["cut", "-d,", "-f1-4", source], out))
        os.remove(target)
        plans.append(timed([escalona, "plan", source, "--capacity", "10%", "--politeness", "30s", "-o", plan, "--summary", "none"]))
        os.remove(plan)
    cut, mine = (statistics.median(w for w, _ in runs) for runs in (cuts, plans))
    cut_cpu, mine_cpu = (statistics.median(c for _, c in runs) for runs in (cuts, plans))
    print(f"cut  {cut:6.2f} s wall {cut_cpu:6.2f} s processor")
    print(f"plan {mine:6.2f} s wall {mine_cpu:6.2f} s processor, of which two cores make {mine_cpu / 2:.2f} s at best")
    print(f"plan / (cut + 2 s) = {mine / (cut + 2):.2f}, goal 1.00")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"peak memory {peak / 1e6:.2f} GB, {peak * 1024 / pages:.0f} bytes per page")

#!/usr/bin/env python3
"""High-precision allocations, computed with mpmath and nothing of Escalona.

Without arguments: checks that reference_values.inc holds what this script computes.
With --write: writes that file anew.

The optimum is found by bisection on the prices, page by page with Lambert's W function, in 80 digits: the
slow way, which leaves nothing to go wrong.
"""
import os
import sys

try:
    import mpmath
except ImportError:
    print("python3-mpmath is not installed")
    sys.exit(77)
from mpmath import mp, mpf, exp, lambertw, log, e

mp.dps = 80
HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(HERE, "reference_values.inc")


def inverse_g(y):
    """x with 1 - (1+x) exp(-x) = y."""
    return (-1 - lambertw(-(1 - y) / e, -1)).real


def frequency(rate, weight, price):
    if rate == 0 or weight == 0:
        return mpf(0)
    y = price * rate / weight
    return mpf(0) if y >= 1 else rate / inverse_g(y)


def freshness(rate, f):
    if rate == 0:
        return mpf(1)
    return mpf(0) if f == 0 else f / rate * (1 - exp(-rate / f))


def bisect(demand, target, low, high):
    """The price at which a falling demand meets the target."""
    for _ in range(200):
        middle = mp.sqrt(low * high)
        if demand(middle) > target:
            low = middle
        else:
            high = middle
    return high


def allocate(pages, caps, capacity):
    """pages: (rate, weight, server). Returns mu, nu per server, f per page, sum of w A."""
    pages = [(mpf(r), mpf(w), s) for r, w, s in pages]
    caps = [mpf(c) for c in caps]
    capacity = mpf(capacity)

    def server_demand(s, price):
        return sum(frequency(r, w, price) for r, w, t in pages if t == s)

    low, high = mpf(10) ** -30, mpf(10) ** 30
    own = [bisect(lambda p, s=s: server_demand(s, p), c, low, high) for s, c in enumerate(caps)]
    if capacity >= sum(caps):
        mu = mpf(0)
    else:
        mu = bisect(lambda p: sum(min(caps[s], server_demand(s, p)) for s in range(len(caps))), capacity, low, high)
    nu = [max(mu, p) for p in own]
    f = [frequency(r, w, nu[s]) for r, w, s in pages]
    value = sum(w * freshness(r, x) for (r, w, _), x in zip(pages, f))
    return mu, nu, f, value


def after_changed(alpha, beta, t):
    rho = (beta / (beta + t)) ** alpha
    r = beta / (beta + t)
    m1 = alpha / beta * (1 - rho * r) / (1 - rho)
    m2 = alpha * (alpha + 1) / beta**2 * (1 - rho * r * r) / (1 - rho)
    v = m2 - m1**2
    return m1**2 / v, m1 / v


def belief_g(alpha, z):
    if alpha == 1:
        return log(1 + z) - z / (1 + z)
    return (1 - (1 + z) ** (1 - alpha)) / (alpha - 1) - z * (1 + z) ** (-alpha)


def number(x):
    return mpmath.nstr(x, 25, strip_zeros=False)


# Change rates are decimal text, the same text for both programs; here they are the doubles it stands for.
def double(text):
    return mpf(float(text))


INSTANCES = [
    # name, pages (rate, weight, server), caps, capacity
    ("one_page", [("1", "1", 0)], ["100"], "1"),
    ("two_pages", [("0.1", "1", 0), ("1", "1", 0)], ["100"], "1"),
    ("two_servers", [("0.5", "1", 0), ("1", "1", 0), ("2", "1", 0), ("0.1", "1", 1), ("3", "1", 1)], ["0.6", "10"], "2"),
    ("weights", [("0.25", "3", 0), ("4", "0.5", 0), ("1.5", "2", 1), ("0.01", "7", 1), ("30", "40", 2)],
     ["1.5", "0.75", "8"], "5"),
    ("rare_changes", [("1e-12", "1", 0), ("1e-9", "1", 0), ("1e-3", "1", 0), ("2", "1", 1)], ["1", "4"], "0.5"),
    ("frequent_changes", [("1e6", "1", 0), ("900", "1", 0), ("35", "1", 1), ("20", "1", 1)], ["50", "9"], "40"),
    ("ample", [("0.5", "1", 0), ("1", "2", 0), ("2", "1", 1), ("3", "5", 1)], ["0.75", "1.25"], "2"),
    ("unchanging", [("0", "4", 0), ("1", "1", 0), ("2", "0", 0), ("0.5", "1", 0)], ["3"], "1"),
]
G_POINTS = ["1e-15", "1e-8", "1e-3", "0.02", "0.3", "0.499", "0.501", "1", "1.793282", "5", "20", "35"]
BELIEF_POINTS = [("0.45", "1e-9"), ("0.45", "0.01"), ("0.45", "3"), ("0.45", "1e6"), ("1", "0.001"), ("1", "0.7"), ("1", "40"),
                 ("1.0000001", "2"), ("2.5", "0.03"), ("2.5", "0.5"), ("2.5", "100"), ("1000", "0.0001"), ("1000", "0.004"),
                 ("1e8", "1e-8")]


def text():
    lines = ["// Written by reference.py; 25 digits each. Do not edit.", ""]
    lines.append("const GValue kGValues[] = {")
    for x in G_POINTS:
        v = double(x)
        lines.append(f"    {{{x}, {number(1 - (1 + v) * exp(-v))}}},")
    lines.append("};\n")
    lines.append("const BeliefGValue kBeliefGValues[] = {")
    for alpha, z in BELIEF_POINTS:
        lines.append(f"    {{{alpha}, {z}, {number(belief_g(double(alpha), double(z)))}}},")
    lines.append("};\n")
    alpha, beta = mpf("0.5"), mpf(10)
    for t, changed in ((5, False), (3, True), (12, True), (2, False), (40, True), (mpf("0.5"), False)):
        if changed:
            alpha, beta = after_changed(alpha, beta, mpf(t))
        else:
            beta += t
    lines.append(f"const double kFilteredAlpha = {number(alpha)};")
    lines.append(f"const double kFilteredBeta = {number(beta)};\n")
    lines.append("const Instance kInstances[] = {")
    for name, pages, caps, capacity in INSTANCES:
        mu, nu, f, value = allocate([(double(r), double(w), s) for r, w, s in pages], [double(c) for c in caps], double(capacity))
        lines.append(f'    {{"{name}",')
        lines.append("     {" + ", ".join(r for r, _, _ in pages) + "},")
        lines.append("     {" + ", ".join(w for _, w, _ in pages) + "},")
        lines.append("     {" + ", ".join(str(s) for _, _, s in pages) + "},")
        lines.append("     {" + ", ".join(caps) + "},")
        lines.append(f"     {capacity},")
        lines.append(f"     {number(mu)},")
        lines.append("     {" + ", ".join(number(p) for p in nu) + "},")
        lines.append("     {" + ",\n      ".join(number(x) for x in f) + "},")
        lines.append(f"     {number(value)}}},")
    lines.append("};")
    return "\n".join(lines) + "\n"


def main():
    computed = text()
    if "--write" in sys.argv:
        with open(TARGET, "w", encoding="ascii") as out:
            out.write(computed)
        return 0
    with open(TARGET, encoding="ascii") as kept:
        if kept.read() == computed:
            return 0
    print("reference_values.inc differs from what reference.py computes; run reference.py --write")
    return 1


sys.exit(main())

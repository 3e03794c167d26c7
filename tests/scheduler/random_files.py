#!/usr/bin/env python3
"""Random command files: the program must answer byte for byte what the naive model answers, and warn about the
same lines, for every strategy. ESCALONA_LONG=1 runs for longer; ESCALONA_SEED=N runs one seed alone."""
import difflib
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import model

FLAGS = {"depth": [], "breadth": ["-b"], "best": ["--best-first"]}
NASTY_URLS = [b"", b" ", b"http://", b"http:///", b"http://www.", b"http://www./x", b"ftp://a.com", b"https://a.com/x",
              b"a.com", b"ESCALONA_TUDO", b"LIMPA_TUDO", b"ADD_URLS 3", b"http://a.com?q", b"http://a.com/?q", b"http://#",
              b"http://?x", b"http://www.www.a.com/x", b"http://my.www.com/www.b/", b"http://a.com/x#y#z", b"\xff\x00\x01",
              b"http://a.com/\x00", b"http://a.com/\xc3\xa9", b"http://a.com/x y", b"http://a.com/x #y", b"http://a.com/ /",
              b"http://a.pdf", b"http://a.pdf/x", b"http://a.com/x\r", b"http://" + b"h" * 49, b"HTTP://" + b"H" * 70 + b"/p",
              b"http://a.com/" + b"p" * 33000, b"http://a.com" + b"/d" * 200, b"http://a.com" + b"/" * 150]
JUNK = [b"", b"  ", b"escalona 3", b"Lista_Hosts", b"ESCALONA", b"ESCALONA x", b"ESCALONA 1x", b"ESCALONA 1.5",
        b"ADD_URLS", b"ADD_URLS 99999999999999999999", b"ADD_URLS -99999999999999999999", b"ADD_URLS -3", b"ADD_URLS +2",
        b"ADD_URLS +-2", b"ADD_URLS ++2", b"ADD_URLS 0x3", b"ESCALONA_HOST a.com", b"ESCALONA_HOST 3 a.com", b"VER_HOST",
        b"LIMPA_HOST", b"VER_HOST www.a.com", b"VER_HOST http://a.com", b"VER_HOST a.com extra", b"LISTA_HOSTS x y z w",
        b"ESCALONA -1", b"ESCALONA 0", b"ESCALONA_TUDO 5", b"http://a.com/x", b"\x00", b"\xff\xfe", b"LIMPA_TUDOX",
        b"ESCALONA 007", b"ESCALONA +", b"ESCALONA -", b"ESCALONA_HOST a.com -4", b"ESCALONA_HOST nowhere 4", b"\r"]


class Writer:
    """One random file. Few hosts and paths, so that URLs meet again; the odd phases have many."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.hosts = [b"a.com", b"B.com", b"c.com:80", b"d", b"www.e.org", b"f.br"] if seed % 3 else \
                     [b"h%d.com" % i for i in range(120)]
        self.crlf = self.random.choice([0, 0.3, 1])
        self.lines = []

    def host(self):
        return self.random.choice(self.hosts)

    def url(self):
        r = self.random
        if r.random() < 0.06:
            return r.choice(NASTY_URLS)
        scheme = r.choice([b"http://"] * 12 + [b"HTTP://", b"hTtp://www.", b"http://www.", b"http://WWW.", b"https://"])
        path = b"".join(r.choice([b"/a", b"/b", b"/c", b"/", b"/www.x"]) for _ in range(r.choice([0, 1, 1, 2, 2, 3, 5])))
        tail = r.choice([b""] * 12 + [b"/", b"//", b"?q", b"?q=/x/", b"#f", b"#/f", b"/x.pdf", b".gif", b".PDF", b".mp3?x",
                                      b"/?q", b" ", b".docx", b".avi/", b"?x.doc", b".jpg/x"])
        url = scheme + self.host() + path + tail
        return url if r.random() > 0.03 else b" \t" + url + b"  "

    def block(self):
        r = self.random
        count = r.choice([0, 1, 2, 5, 10, 30, 31, 32, 33, 64, 100])
        lines = [self.url() for _ in range(count)]
        if r.random() < 0.05:  # announces more or fewer than there are: what follows is eaten, or is no command
            count += r.choice([-3, -1, 1, 2, 4])
        return [b"ADD_URLS %d" % count] + lines

    def command(self):
        r = self.random
        host = self.host().removeprefix(b"www.")
        kind = r.random()
        if kind < 0.30:
            return self.block()
        if kind < 0.55:
            return [b"ESCALONA %d" % r.choice([1, 1, 2, 3, 5, 8, 20, 40, 100])]
        if kind < 0.65:
            return [b"ESCALONA_HOST %s %d" % (r.choice([host, host.upper()]), r.choice([1, 2, 5, 100]))]
        if kind < 0.75:
            return [b"VER_HOST " + host]
        if kind < 0.80:
            return [b"LIMPA_HOST " + host]
        if kind < 0.85:
            return [b"LISTA_HOSTS"]
        if kind < 0.88:
            return [b"ESCALONA_TUDO"]
        if kind < 0.89:
            return [b"LIMPA_TUDO"]
        if kind < 0.92:
            return [b"  \t" + b"ESCALONA_HOST   " + host + b"\t 2  "]
        return [r.choice(JUNK)]

    def text(self, commands):
        r = self.random
        for _ in range(commands):
            self.lines += self.command()
        self.lines += r.choice([[b"ESCALONA_TUDO"], [b"ADD_URLS 1000000000000", self.url(), self.url()], []])
        data = b"".join(line + (b"\r\n" if r.random() < self.crlf else b"\n") for line in self.lines)
        return data if r.random() < 0.5 else data.rstrip(b"\r\n")


def compare(program, seed, folder):
    data = Writer(seed).text(random.Random(seed).choice([20, 100, 400]))
    path = os.path.join(folder, "commands.txt")
    with open(path, "wb") as file:
        file.write(data)
    for strategy, flags in FLAGS.items():
        expected, warned = model.answer(data, strategy)
        done = subprocess.run([program, "run", path, "-o", "-", *flags], capture_output=True, timeout=120)
        lines = [int(n) for n in re.findall(rb"^" + re.escape(path.encode()) + rb":(\d+): ", done.stderr, re.M)]
        if done.returncode == 0 and done.stdout == expected and lines == warned:
            continue
        print(f"seed {seed}, {strategy}-first: the program differs from the model (exit status {done.returncode})")
        for what, a, b in (("answer", expected.split(b"\n"), done.stdout.split(b"\n")),
                           ("warned lines", [b"%d" % n for n in warned], [b"%d" % n for n in lines])):
            text = [[line.decode("latin-1") for line in side] for side in (a, b)]
            print("\n".join(list(difflib.unified_diff(*text, f"model's {what}", f"program's {what}", n=1, lineterm=""))[:40]))
        print(f"ESCALONA_SEED={seed} runs this file again")
        return False
    return True


def main():
    program = os.environ["ESCALONA"]
    with tempfile.TemporaryDirectory() as folder:
        if "ESCALONA_SEED" in os.environ:
            return 0 if compare(program, int(os.environ["ESCALONA_SEED"]), folder) else 1
        end = time.monotonic() + (600 if os.environ.get("ESCALONA_LONG") else 18)
        seed = 0
        while seed < 10 or time.monotonic() < end:
            if not compare(program, seed, folder):
                return 1
            seed += 1
    print(f"{seed} random files, 3 strategies each: all answers equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())

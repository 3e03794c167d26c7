#!/usr/bin/env python3
"""Answers every command file in this folder and compares with the answer that stands beside it.

NAME.txt                the commands
NAME-out.txt            the answer, for every strategy that has none of its own
NAME.breadth-out.txt    the answer of breadth-first; NAME.best-out.txt that of best-first
NAME.err                the exact warnings, with NAME.txt for the file; none are expected without it
"""
import difflib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = {"depth": [], "breadth": ["-b"], "best": ["--best-first"]}


def scripts():
    return sorted(path for path in HERE.glob("*.txt")
                  if not path.name.endswith("-out.txt") and path.name != "CMakeLists.txt")


def expected_answer(script, strategy):
    own = script.with_name(f"{script.stem}.{strategy}-out.txt")
    return own if own.exists() else script.with_name(f"{script.stem}-out.txt")


def show_difference(title, expected, found):
    def split(data):
        return data.decode("latin-1").replace("\r", "\\r").splitlines()
    print(f"{title}:")
    print("\n".join(difflib.unified_diff(split(expected), split(found), "expected", "found", lineterm="")))


def check(program, script, strategy, folder):
    shutil.copy(script, folder)
    done = subprocess.run([program, "run", script.name, *FLAGS[strategy]], cwd=folder, capture_output=True, timeout=60)
    answer = folder / f"{script.stem}-out.txt"
    found = answer.read_bytes() if answer.exists() else b"(no answer)"
    warnings = script.with_suffix(".err")
    title = f"{script.name}, {strategy}-first"
    good = True
    for what, expected, got in ((title, expected_answer(script, strategy).read_bytes(), found),
                                (f"{title}, warnings", warnings.read_bytes() if warnings.exists() else b"", done.stderr),
                                (f"{title}, exit status", b"0", str(done.returncode).encode()),
                                (f"{title}, standard output", b"", done.stdout)):
        if expected != got:
            show_difference(what, expected, got)
            good = False
    if sorted(path.name for path in folder.iterdir()) != sorted([script.name, answer.name]):
        print(f"{title}: other files are left behind: {sorted(folder.iterdir())}")
        good = False
    return good


def main():
    failures = 0
    for script in scripts():
        for strategy in FLAGS:
            with tempfile.TemporaryDirectory() as folder:
                failures += not check(os.environ["ESCALONA"], script, strategy, pathlib.Path(folder))
    print(f"{len(scripts())} scripts, {len(FLAGS)} strategies each, {failures} failures")
    return 1 if failures or not scripts() else 0


if __name__ == "__main__":
    sys.exit(main())

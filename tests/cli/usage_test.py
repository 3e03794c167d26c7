#!/usr/bin/env python3
"""What every command has in common: unknown words, numbers that are too large, an output that cannot be written."""
import os
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ESCALONA"]


def escalona(*words, **named):
    named.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([PROGRAM, *words], stderr=subprocess.PIPE, text=True, timeout=60, **named)


def commands(*words):
    """The words of each command that does something, with its help."""
    text = escalona(*words, "--help").stdout
    verbs = re.findall(r"^  ([a-z-]+)", text.partition("Subcommands:")[2], re.MULTILINE)
    return [found for verb in verbs for found in commands(*words, verb)] if verbs else [(words, text)]


class Usage(unittest.TestCase):
    def test_unknown_commands_are_named(self):
        for words, complaint in ((["bogus"], "escalona: 'bogus' is not a command; `escalona --help` lists them"),
                                 (["clinet"], "escalona: 'clinet' is not a command; did you mean 'client'?"),
                                 (["store", "stat"], "escalona store: 'stat' is not a command; did you mean 'stats'?"),
                                 (["client", "statz"], "escalona client: 'statz' is not a command; did you mean 'stats'?"),
                                 (["client", "--server", "h:1", "statz"],
                                  "escalona client: 'statz' is not a command; did you mean 'stats'?"),
                                 (["client", "--server=h:1", "--wait", "1s", "bogus"],
                                  "escalona client: 'bogus' is not a command; `escalona client --help` lists them")):
            with self.subTest(words):
                done = escalona(*words)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", complaint + "\n"))

    def test_numbers_that_are_too_large(self):
        for words, complaint in ((["client", "limit", "a.com", "99999999999"], "COUNT: '99999999999' {} 0 to 4294967295;"),
                                 (["client", "queues", "-n", "5000000000"], "--size: '5000000000' {} 0 to 4294967295;"),
                                 (["client", "put", "-w", "4294967296"], "--in-flight: '4294967296' {} 1 to 4294967295;"),
                                 (["serve", "-p", "99999"], "--port: '99999' {} 0 to 65535;"),
                                 (["serve", "--max-urls-per-queue", "18446744073709551616"],
                                  "--max-urls-per-queue: '18446744073709551616' {} 0 to 18446744073709551615;")):
            with self.subTest(words):
                done = escalona(*words, "--no-such-option")  # so that nothing runs
                self.assertEqual(done.returncode, 2)
                self.assertIn(complaint.format("is out of range; it must be"), done.stderr)

    def test_numbers_are_decimal(self):
        for text, hosts in (("010", 10), ("+2", 2), ("0", 0)):
            done = escalona("gen", "-s", text, "-u", "1")
            self.assertEqual((done.returncode, done.stdout.count("http://")), (0, hosts), text)
        for text in ("0x10", "1e3", "-1", "", "3 ", "2.5"):
            done = escalona("gen", "-s", text)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"--hosts: '{text}' is not a whole number of 0 or more; write one such as 10;", done.stderr)

    def test_every_number_has_a_range(self):
        options = [(words, option) for words, text in commands()
                   for option in re.findall(r"^  (?:-\w,)?(--[\w-]+) U?INT\b", text, re.MULTILINE)]
        self.assertGreater(len(options), 20)
        for words, option in options:
            for number in ("18446744073709551615", "9223372036854775807"):
                with self.subTest((words, option)):
                    done = escalona(*words, option, number, "--no-such-option")
                    self.assertEqual(done.returncode, 2)
                    self.assertNotIn("Could not convert", done.stderr)

    def test_an_output_that_is_full(self):
        with tempfile.TemporaryDirectory() as folder:
            pages, seen, data = f"{folder}/pages.csv", f"{folder}/seen.csv", f"{folder}/data"
            with open(pages, "w") as file:
                file.write("url,change_rate\nhttp://h/a,1\nhttp://g/b,0.25\n")
            with open(seen, "w") as file:
                file.write("page,interval,changed\na,1,1\na,1,0\n")
            os.mkdir(data)
            self.assertEqual(escalona("assoc", "add", "--data", data, "a", "b").returncode, 0)
            for words in (["--help"], ["--version"], ["client", "get", "--help"], ["url", "http://a.com/"], ["gen", "-s", "2"],
                          ["plan", pages, "-c", "1/day", "-o", "-"], ["plan", pages, "-c", "1/day", "--summary", "text"],
                          ["estimate", seen], ["serve", "--routes"], ["assoc", "top", "--data", data, "a"],
                          ["assoc", "stats", "--data", data], ["assoc", "export", "--data", data]):
                with self.subTest(words):
                    self.assertEqual(escalona(*words).returncode, 0)
                    with open("/dev/full", "w") as full:
                        done = escalona(*words, stdout=full)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, "standard output: cannot be written(: No space left on device)?; ")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The shell completion offers commands, verbs and options as the program's help has them, and nothing else."""
import os
import pathlib
import re
import subprocess
import unittest

PROGRAM = os.environ["ESCALONA"]
COMPLETION = pathlib.Path(__file__).parents[2] / "scripts" / "completion.bash"


def offered(*words):
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _escalona; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, COMPLETION, PROGRAM, *words], capture_output=True, text=True, check=True)
    return done.stdout.split()


def subcommands(*words):
    text = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z-]+)", text.partition("Subcommands:")[2], re.MULTILINE)


class Completion(unittest.TestCase):
    def test_commands(self):
        self.assertIn("run", subcommands())
        self.assertEqual(offered(""), [*subcommands(), "help", "--help", "--version"])
        self.assertEqual(offered("ru"), ["run"])
        self.assertEqual(offered("help", "ru"), ["run"])

    def test_verbs_of_every_command_that_has_some(self):
        for command in subcommands():
            if verbs := subcommands(command):
                with self.subTest(command):
                    self.assertEqual(offered(command, ""), [*verbs, "--help"])

    def test_options_and_no_word_of_their_descriptions(self):
        self.assertEqual(offered("run", "-"), ["-h", "--help", "-b", "--breadth-first", "--best-first", "-o", "--output", "--strict"])
        self.assertIn("--crawl", offered("client", "put", "--"))


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""docs/openapi.yaml says what the server has, no more and no less; its references lead somewhere."""
import os
import pathlib
import re
import subprocess
import unittest

TEXT = (pathlib.Path(__file__).resolve().parents[2] / "docs/openapi.yaml").read_text()
OURS = re.compile(r"^/(health|associations|totals|ns)\b")


def documented():
    """{"GET /path", ...}, by indentation: paths stand two blanks in, methods four."""
    routes = set()
    path = None
    for line in TEXT.split("\npaths:\n")[1].split("\ncomponents:\n")[0].splitlines():
        if found := re.match(r"  (/\S*):", line):
            path = found[1]
        elif found := re.match(r"    (get|put|post|patch|delete):", line):
            routes.add(f"{found[1].upper()} {path}")
    return routes


class OpenApi(unittest.TestCase):
    def test_it_has_the_routes_of_the_server(self):
        out = subprocess.run([os.environ["ESCALONA"], "serve", "--routes"], check=True, capture_output=True, text=True).stdout
        served = {line for line in out.splitlines() if OURS.match(line.split()[1])}
        self.assertEqual(served, documented())
        self.assertGreater(len(served), 20)

    def test_references_and_anchors_are_there(self):
        for name in re.findall(r'\$ref: "#/components/(\w+/\w+)"', TEXT):
            kind, member = name.split("/")
            part = re.search(rf"^  {kind}:\n((?:    .*\n)+)", TEXT, re.M)
            self.assertTrue(part and re.search(rf"^    {member}:", part[1], re.M), name)
        self.assertEqual(set(re.findall(r"\*(\w+)", TEXT)) - set(re.findall(r"&(\w+)", TEXT)), set())

    def test_it_is_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        self.assertEqual(yaml.safe_load(TEXT)["openapi"], "3.1.0")


if __name__ == "__main__":
    unittest.main()

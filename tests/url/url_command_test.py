"""`escalona url` as a user meets it: text, JSON lines, standard input, messages, exit status."""
import json
import os
import subprocess
import unittest

ESCALONA = os.environ["ESCALONA"]


def run(*args, stdin=b"", stdout=subprocess.PIPE):
    return subprocess.run([ESCALONA, "url", *args], input=stdin, stdout=stdout,
                          stderr=subprocess.PIPE, timeout=60, check=False)


class UrlCommand(unittest.TestCase):
    def test_text_shows_every_part(self):
        done = run("HTTPS://u:p@WWW.Example.co.uk.:8443/a/../%7eb/?z=1&sid=2#top")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(done.stdout.decode(), """\
url                 https://u:p@www.example.co.uk.:8443/%7eb/?z=1&sid=2
scheme              https
username            u
password            p
host                www.example.co.uk.
host kind           domain
host key            www.example.co.uk
registrable domain  example.co.uk
port                8443
path                /%7eb/
query               z=1&sid=2
depth               2
dedup exact         https://u:p@www.example.co.uk.:8443/%7eb/?z=1&sid=2
dedup standard      https://u:p@www.example.co.uk:8443/~b/?z=1&sid=2
dedup aggressive    https://u:p@example.co.uk:8443/~b?z=1
""")

    def test_text_leaves_out_what_is_not_there(self):
        done = run("http://[::1]", "http://a.com")
        self.assertEqual(done.stdout.decode(), """\
url                 http://[::1]/
scheme              http
host                [::1]
host kind           ipv6
host key            [::1]
port                80
path                /
depth               0
dedup exact         http://[::1]/
dedup standard      http://[::1]/
dedup aggressive    http://[::1]

url                 http://a.com/
scheme              http
host                a.com
host kind           domain
host key            a.com
registrable domain  a.com
port                80
path                /
depth               0
dedup exact         http://a.com/
dedup standard      http://a.com/
dedup aggressive    http://a.com
""")

    def test_json_is_one_object_per_line(self):
        done = run("--json", "http://WWW.a.com/x?", "http://127.1/y/")
        first, second = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(first, {
            "input": "http://WWW.a.com/x?", "url": "http://www.a.com/x?", "scheme": "http",
            "username": "", "password": "", "host": "www.a.com", "host_kind": "domain",
            "host_key": "www.a.com", "registrable_domain": "a.com", "port": 80, "path": "/x",
            "query": "", "depth": 1,
            "dedup_key": {"exact": "http://www.a.com/x?", "standard": "http://www.a.com/x?",
                          "aggressive": "http://a.com/x"}})
        self.assertEqual((second["url"], second["host_kind"], second["registrable_domain"],
                          second["query"]), ("http://127.0.0.1/y/", "ipv4", None, None))

    def test_json_is_valid_whatever_the_input(self):
        done = run("--json", stdin=b'http://a.com/"\\\x01\xff\xc3\xa9\n')
        self.assertEqual(json.loads(done.stdout.decode())["input"], 'http://a.com/"\\\x01\ufffd\u00e9')

    def test_standard_input_is_read_line_by_line(self):
        for args in ([], ["-"]):
            done = run("--json", *args, stdin=b"http://a.com\r\n\n  \nhttp://b.com/x\nhttp://c.com")
            urls = [json.loads(line)["url"] for line in done.stdout.splitlines()]
            self.assertEqual(urls, ["http://a.com/", "http://b.com/x", "http://c.com/"])
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_standard_input_may_be_empty(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_a_line_is_answered_before_the_next_is_written(self):
        with subprocess.Popen([ESCALONA, "url", "--json"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as child:
            for name in (b"a", b"b"):
                child.stdin.write(b"http://" + name + b".com\n")
                child.stdin.flush()
                self.assertIn(name + b".com", child.stdout.readline())
            child.stdin.close()
            self.assertEqual(child.wait(60), 0)

    def test_relative_urls_stand_on_the_base(self):
        done = run("--json", "--base", "http://a.com/b/c", "../d", "?e", "//f")
        urls = [json.loads(line)["url"] for line in done.stdout.splitlines()]
        self.assertEqual(urls, ["http://a.com/d", "http://a.com/b/c?e", "http://f/"])

    def test_a_base_that_is_none_is_refused_at_once(self):
        for base, what in (("x", b"it has no scheme"), ("", b"it has no scheme"),
                           ("http://a b", b"the host 'a b'")):
            done = run("--base", base, "http://a.com")
            self.assertEqual((done.returncode, done.stdout), (2, b""))
            self.assertTrue(done.stderr.startswith(
                b"escalona url: --base '" + base.encode() + b"': the base cannot be used: " + what))

    def test_some_bad_urls_are_findings(self):
        done = run("--json", "http://a.com", "ftp://b.com")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertEqual(done.stderr, b"escalona url: 'ftp://b.com': the scheme 'ftp' is not "
                                      b"supported; use http or https\n")

    def test_only_bad_urls_is_a_failure(self):
        done = run("http://a:b:c", "x\x01y")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertEqual(done.stderr.decode(), (
            "escalona url: 'http://a:b:c': the port 'b:c' is not a number; write a number from 0 "
            "to 65535\n"
            "escalona url: 'x\\001y': it has no scheme; begin with http:// or https://, or give the "
            "base it is relative to\n"))

    def test_a_line_of_100_megabytes_is_refused(self):
        done = run(stdin=b"http://a.com/" + b"x" * 100_000_000 + b"\nhttp://b.com/\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"longer than 2097152 bytes; shorten it", done.stderr)
        self.assertLess(len(done.stderr), 400)

    def test_output_that_cannot_be_written_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            done = run("http://a.com", stdout=full)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"No space left on device", done.stderr)

    def test_help_tells_the_exit_status(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"Exit status: 0 done, 1 some URLs could not be parsed", done.stdout)


if __name__ == "__main__":
    unittest.main()

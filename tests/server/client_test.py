"""`escalona client`: every command against a server, its files, its messages, its exit status."""
import gzip
import json
import pathlib
import subprocess
import tempfile
import time
import unittest

from frontier_server import ESCALONA, Server, WireTest, known


class ClientTest(WireTest):
    def client(self, *words, text=None, status=0):
        done = subprocess.run([ESCALONA, "client", *words, "--server", self.server.address], input=text,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.error = done.stderr
        return done.stdout

    def lines(self, *words, **named):
        return self.client(*words, **named).splitlines()

    def test_put_get_and_look(self):
        self.client("put", "-", text="# seeds\nhttp://a.com/1\n\n  http://b.com/1\r\nhttp://a.com/1\n")
        self.assertIn("2 OK, 1 SKIPPED, 0 FAIL, 0 BAD", self.error)
        self.assertEqual(self.lines("queues"), ["a.com", "b.com"])
        self.assertEqual(self.lines("crawls"), ["DEFAULT"])
        self.assertEqual(self.lines("nodes"), [self.server.address])
        self.assertEqual(self.lines("get", "-q", "5", "-l", "600s"), ["http://a.com/1", "http://b.com/1"])
        self.assertEqual(self.lines("get", "-q", "5"), [])
        self.assertEqual(self.lines("stats"), ["crawl          DEFAULT", "scheduled      2", "leased         2",
                                               "completed      0", "active_queues  2", "queues         2"])
        self.assertEqual(json.loads(self.client("stats", "--json", "-k", "a.com"))["size"], "1")
        self.assertEqual(self.client("count"), "2\n")
        self.assertEqual(self.client("count", "-f", "A.COM", "-i"), "1\n")
        self.assertTrue(self.lines("urls", "-k", "b.com")[0].startswith("http://b.com/1;20"))
        self.assertIn("reason  somebody has leased it", self.client("explain", "http://a.com/1"))
        self.assertIn("it is not known", self.client("explain", "http://a.com/2"))

    def test_items_as_json(self):
        item = {"known": {"info": {"url": "http://a.com/", "metadata": {"m": {"values": ["v"]}}}, "refetchableFromDate": "4000000000"}}
        old_names = {"known": {"info": {"url": "http://b.com/", "crawlID": "x"}, "refetchable_from_date": 4000000000}}
        self.client("put", "-c", "c", "-", text=json.dumps(item) + "\n" + json.dumps(old_names))
        found = json.loads(self.client("status", "http://a.com/", "-c", "c", "--json"))
        self.assertEqual(found["known"]["info"]["metadata"], {"m": {"values": ["v"]}})
        self.assertEqual(found["known"]["refetchableFromDate"], "4000000000")
        self.assertIn("2096-10-02T07:06:40Z", self.client("status", "http://b.com/", "-c", "x"))

    def test_bad_lines_are_named_and_the_rest_goes_on(self):
        self.client("put", "-", "--strict", text='http://a.com/\n{"known":\n{}\nhttp://b.com/\n', status=1)
        self.assertIn("-:2: no URLItem in JSON", self.error)
        self.assertIn('-:3: a URLItem must have "discovered" or "known"', self.error)
        self.assertIn("2 OK, 0 SKIPPED, 0 FAIL, 2 BAD", self.error)
        self.client("put", "-", text="{\n")
        self.assertIn("0 OK, 0 SKIPPED, 0 FAIL, 1 BAD", self.error)

    def test_without_a_key_a_url_must_be_absolute(self):
        meant = [("example.org/c", "https://example.org/c"), ("//Example.org", "https://example.org/"),
                 ("www.a.com:8080?q", "https://www.a.com:8080/?q"), ("a.com/?to=http://b.com/", "https://a.com/?to=http://b.com/")]
        unclear = ("words", "/path", "mailto:me@a.com", "9p://a.com/", "://a.com/", "a.com/" + "x" * 200)
        meant += [(url, "one such as https://example.org/a, or a URLItem with a key") for url in unclear]
        for url, right in meant:
            for line in (url, json.dumps({"discovered": {"info": {"url": url}}})):
                with self.subTest(line):
                    self.client("put", "-", "--strict", text="http://known.com/\n" + line, status=1)
                    self.assertIn(f"' is not an absolute URL; write {right}; not sent\n", self.error)
                    self.assertTrue(self.error.startswith(f"-:2: '{url[:100]}"), self.error)
                    self.assertIn(", 0 FAIL, 1 BAD", self.error)
        self.client("put", "-", text="http:///x\n")
        self.assertIn("-:1: 'http:///x' names no host; write one such as https://example.org/a", self.error)
        self.assertEqual(self.lines("queues"), ["known.com"])

    def test_any_scheme_will_do_and_with_a_key_any_url(self):
        keyed = [{"discovered": {"info": {"url": url, "key": "k"}}} for url in ("example.org/c", "urn:isbn:1")]
        self.client("put", "-", "--strict", text="ftp://x/\ngit+ssh://y.org/z\n" + "\n".join(map(json.dumps, keyed)))
        self.assertIn("4 OK, 0 SKIPPED, 0 FAIL, 0 BAD", self.error)
        self.assertEqual(self.lines("queues"), ["x", "y.org", "k"])

    def test_a_file_that_cannot_be_read_does_not_cost_those_before_it(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("http://a.com/1\n")
            file.flush()
            self.client("put", file.name, "/no/such/file", status=2)
        self.assertIn("/no/such/file: cannot be opened: No such file or directory; give the name of a file you may read, or - for",
                      self.error)
        self.assertIn("1 OK, 0 SKIPPED, 0 FAIL, 0 BAD", self.error)
        self.assertEqual(self.client("count"), "1\n")

    def test_batches(self):
        urls = "".join(f"http://h{i % 7}.com/{i}\n" for i in range(1000))
        self.client("put", "-b", "64", "-", text=urls)
        self.assertIn("1000 OK, 0 SKIPPED, 0 FAIL", self.error)
        self.client("put", "-b", "64", "-", text=urls)
        self.assertIn("0 OK, 1000 SKIPPED", self.error)

    def test_a_batch_has_no_more_bytes_than_servers_take(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.writelines(f"http://a.com/{'x' * 100_000}{i}\n" for i in range(700))
            file.flush()
            self.client("put", "-b", "1000000", file.name)
        self.assertIn("700 OK, 0 SKIPPED, 0 FAIL, 0 BAD\n", self.error)

    def test_dump_and_load(self):
        self.client("put", "-c", "one", "-", text="".join(f"http://a.com/{i}\n" for i in range(150)))
        self.client("put", "-c", "two", "-", text='{"known":{"info":{"url":"http://b.com/","metadata":{"k":{"values":["ü"]}}}}}\nhttp://c.com/\n')
        with tempfile.TemporaryDirectory() as folder:
            plain, packed = pathlib.Path(folder) / "all.jsonl", pathlib.Path(folder) / "all.jsonl.gz"
            self.client("dump", "-o", str(plain))
            self.client("dump", "-o", str(packed))
            self.assertEqual(gzip.decompress(packed.read_bytes()), plain.read_bytes())
            items = [json.loads(line) for line in plain.read_text().splitlines()]
            self.assertEqual(len(items), 152)
            self.assertTrue(all("known" in item and "creationDate" in item for item in items))
            self.assertEqual(len(self.lines("dump", "-c", "two")), 2)
            for crawl in ("one", "two"):
                self.client("delete-crawl", crawl)
            self.client("load", str(packed))
            self.assertIn("152 OK", self.error)
            again = pathlib.Path(folder) / "again.jsonl"
            self.client("dump", "-o", str(again))
            strip = lambda path: sorted(json.dumps({**json.loads(line), "creationDate": 0}, sort_keys=True)
                                        for line in path.read_text().splitlines())
            self.assertEqual(strip(again), strip(plain))

    def test_control(self):
        self.client("put", "-", text="http://a.com/1\nhttp://a.com/2\nhttp://b.com/1\n")
        self.assertEqual(self.client("active"), "true\n")
        self.client("active", "false")
        self.assertEqual((self.client("active"), self.client("get")), ("false\n", ""))
        self.client("active", "true")
        self.client("block", "a.com", "1h")
        self.assertEqual(self.lines("get", "-q", "5"), ["http://b.com/1"])
        self.assertEqual((self.lines("queues"), self.lines("queues", "-a")), (["b.com"], ["a.com", "b.com"]))
        self.client("block", "a.com", "--until", "2099-01-31T12:00:00Z")
        self.assertEqual(self.lines("get", "-q", "5"), [])
        self.client("block", "a.com", "0")
        self.client("limit", "a.com", "1")
        self.client("delay", "100s", "-k", "a.com")
        self.assertEqual(self.lines("get", "-q", "5"), ["http://a.com/1"])
        self.client("delay", "2s")
        self.client("delay", "0")
        self.client("log-level", "debug")
        self.client("log-level", "info")
        self.client("strategy", "best-first", "-c", "x")
        self.client("address", "a.com", "192.0.2.1")
        self.assertEqual(self.client("delete-queue", "a.com"), "2\n")
        time.sleep(1.05)
        self.assertEqual(self.client("purge", "--days", "0"), "1\n")
        self.assertEqual(self.client("delete-crawl", "DEFAULT"), "0\n")

    def test_the_level_of_the_log_in_any_case(self):
        for level in ("error", "ERROR"):
            with self.subTest(level), tempfile.TemporaryDirectory() as folder:
                server = Server(folder, store="memory")
                subprocess.run([ESCALONA, "client", "log-level", level, "--server", server.address], check=True, timeout=30)
                self.assertEqual(server.stop(), 0)
                self.assertFalse([line for line in server.log if "stopping" in line])

    def test_tokens(self):
        self.client("put", "-", text="http://a.com/1\n")
        got = json.loads(self.client("get", "--json", "--tokens"))
        self.assertIn("escalona-lease", got["metadata"])
        self.client("put", "-", text=json.dumps({"known": {"info": got}}))
        self.assertIn("1 OK", self.error)
        self.client("put", "-", text=json.dumps({"known": {"info": got}}))
        self.assertIn("0 OK, 1 SKIPPED", self.error)

    def test_mistakes(self):
        self.client("status", "http://a.com/", status=2)
        self.assertIn("escalona client status: ", self.error)
        self.client("limit", "nobody.com", "5", status=2)
        for words, wrong in ((("delay",), "the delay"), (("get", "--lease"), "--lease")):
            self.client(*words, "1.5s", status=2)
            self.assertIn(f"{wrong} '1.5s' is not whole seconds, as the API has them; write 1s or 2s\n", self.error)
            self.client(*words, "4294967296s", status=2)
            self.assertIn(f"{wrong} '4294967296s' is too long; the API takes 4294967295s at most\n", self.error)
        for none in ("0", "0s"):
            self.client("get", "--lease", none, status=2)
            self.assertIn("--lease must be 1s or more: servers take 0 for 30 s\n", self.error)
        for words in (("block", "", "5s"), ("limit", "", "1"), ("delete-queue", ""), ("address", "", "192.0.2.1")):
            self.client(*words, status=2)
            self.assertIn(": KEY: it is empty; name a queue, such as example.org; ", self.error)
        self.client("put", "-", text="http://a.com/\n")
        for blank in ("", " "):
            self.client("delete-crawl", blank, status=2)
            self.assertIn(": CRAWL: it is empty; write DEFAULT if you mean that one; ", self.error)
        self.assertEqual(self.client("delete-crawl", "DEFAULT"), "1\n")
        for command in ("status", "explain"):
            self.client(command, "http:///", status=2)
            self.assertEqual(self.error, f"escalona client {command}: no key, and none can be derived of the URL\n")
        self.client("put", "/no/such/file", status=2)
        self.assertIn("/no/such/file", self.error)
        self.client("purge", status=2)
        self.assertIn("--days", self.error)
        self.client("dump", "-o", "/no/such/folder/x", status=2)

    def test_texts_that_are_not_utf8_are_refused(self):
        wrong = b"http://a.com/\xff"
        for words in (["status", wrong], ["explain", wrong], ["stats", "-c", wrong], ["urls", "-f", wrong], ["count", "-f", wrong],
                      ["get", "-k", wrong], ["delete-queue", wrong], ["delete-crawl", wrong], ["block", wrong, "5s"],
                      ["dump", "-c", wrong], ["put", "-c", wrong, "-"]):
            with self.subTest(words):
                done = subprocess.run([ESCALONA, "client", *words, "--server", self.server.address], input=b"http://a.com/\n",
                                      capture_output=True, timeout=30)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, rb"^escalona client \S+: \S+: it is no UTF-8, as the API has all texts; see `[^\n]+\n$")
        with tempfile.TemporaryDirectory() as folder:
            name = folder.encode() + b"/\xff"  # of a file, that will do
            for words in (["dump", "-o", name], ["load", name]):
                subprocess.run([ESCALONA, "client", *words, "--server", self.server.address], check=True, capture_output=True, timeout=30)

    def test_nobody_there(self):
        start = time.time()
        done = subprocess.run([ESCALONA, "client", "stats", "--server", "127.0.0.1:1"], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nobody who speaks gRPC answers at 127.0.0.1:1; is the server running", done.stderr)
        self.assertLess(time.time() - start, 10)
        waits = subprocess.Popen([ESCALONA, "client", "stats", "--server", "127.0.0.1:1", "--wait", "1e9d"], stderr=subprocess.PIPE)
        time.sleep(0.5)
        self.assertIsNone(waits.poll())  # a time the clock cannot count is a long one all the same
        waits.kill()
        waits.communicate()
        done = subprocess.run([ESCALONA, "client", "stats", "--server", "nonsense"], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--server: 'nonsense' is not HOST:PORT, such as 127.0.0.1:7071 or [::1]:7071", done.stderr)

    def test_the_other_port(self):
        def refused(*words):
            done = subprocess.run([ESCALONA, *words], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 2, done.stdout)
            return done.stderr
        error = refused("client", "stats", "--server", f"127.0.0.1:{self.server.http_port}")
        self.assertIn("gRPC on 127.0.0.1:7071 unless its --grpc says otherwise; --server HOST:PORT names another", error)
        for verb in (("assoc", "stats"), ("bench", "assoc")):
            error = refused(*verb, "--server", self.server.address)
            self.assertIn(f"({self.server.address})", error)
            self.assertIn("HTTP on 127.0.0.1:8080 unless its --http says otherwise; --server HOST:PORT names another", error)
        with tempfile.TemporaryDirectory() as folder:
            for flag, port in (("--grpc", 7071), ("--http", 8080)):
                error = refused("serve", "--data", folder, flag, "nonsense")
                self.assertIn(f"{flag}: 'nonsense' is not HOST:PORT, such as 127.0.0.1:{port} or [::1]:{port}", error)

    def test_the_folder_of_a_running_server_is_not_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder)
            for verb in ("check", "stats", "compact"):
                done = subprocess.run([ESCALONA, "store", verb, folder], capture_output=True, text=True, timeout=30)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(done.stderr, f"escalona store: {folder}: a server, or another program, is using it; "
                                 "stop that first, or ask the server: `escalona client stats`\n")
            self.assertEqual(server.stop(), 0)
            done = subprocess.run([ESCALONA, "store", "check", folder], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_scheduled_is_what_waits_and_what_is_leased(self):
        self.client("put", "-", text="http://a.com/1\nhttp://a.com/2\nhttp://a.com/3\n")
        self.client("get", "-l", "600s")
        stats = dict(line.split() for line in self.lines("stats"))
        states = {state: self.server.metrics()[f'frontier_urls{{state="{state}"}}'] for state in ("waiting", "leased", "completed")}
        self.assertEqual(states, {"waiting": 2, "leased": 1, "completed": 0})
        self.assertEqual((stats["scheduled"], stats["leased"]), ("3", "1"))

    def test_standard_output_that_is_full(self):
        self.client("put", "-", text="".join(f"http://a.com/{i}\n" for i in range(5000)))
        url = "http://a.com/1"
        for words in (["stats"], ["stats", "--json"], ["urls"], ["urls", "-n", "5000"], ["count"], ["queues"], ["crawls"],
                      ["nodes"], ["status", url], ["explain", url], ["active"], ["get"], ["purge", "-d", "9"], ["dump"]):
            with self.subTest(words), open("/dev/full", "w") as full:
                done = subprocess.run([ESCALONA, "client", *words, "--server", self.server.address], stdout=full,
                                      stderr=subprocess.PIPE, text=True, timeout=30)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, f"^escalona client {words[0]}: standard output: cannot be written"
                                              "(: No space left on device)?; (free some space or )?choose another place")
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_lines_go_out_as_they_arrive(self):
        for words in (["put", "-"], ["put", "-b", "64", "-"]):
            with self.subTest(words):
                self.frontier.clear()
                put = subprocess.Popen([ESCALONA, "client", *words, "--server", self.server.address], stdin=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
                for count in (1, 2, 3):
                    put.stdin.write(f"http://a.com/{count}\n")
                    put.stdin.flush()
                    end = time.monotonic() + 30
                    while self.frontier.stats().size < count:
                        self.assertLess(time.monotonic(), end, "the line was not sent")
                        time.sleep(0.02)
                self.assertIn("3 OK, 0 SKIPPED, 0 FAIL, 0 BAD", put.communicate(timeout=30)[1])
                self.assertEqual(put.returncode, 0)

    def test_bytes_of_any_kind_are_printed(self):
        self.frontier.put(known("http://a.com/\0/b", 4000000000, key="k\0ey", crawl="c\0"),
                          known("http://a.com/\0/c", 1000000000, key="k\0ey", crawl="c\0"))
        self.assertEqual(self.lines("crawls"), ["c\0"])
        self.assertEqual(self.client("get"), "http://a.com/\0/c\n")
        self.frontier.put(known("http://a.com/\0/d", 4000000000, key="k"))
        self.assertEqual(self.lines("urls"), ["http://a.com/\0/d;2096-10-02T07:06:40Z"])


if __name__ == "__main__":
    del WireTest
    unittest.main()

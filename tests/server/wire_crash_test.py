"""What survives the end of the server, however it ends, and what becomes of it when the disk or the system fails."""
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
from frontier_server import (ESCALONA, FAIL, LONG, OK, Frontier, Server, completed, discovered, info, known, pb)

ROUNDS = 200 if LONG else 5


class FolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="escalona-crash-")
        self.addCleanup(self.folder.cleanup)
        self.data = pathlib.Path(self.folder.name) / "data"

    def refused(self, data, *arguments, grpc_address="127.0.0.1:0"):
        """The complaint of a server that must not start."""
        done = subprocess.run([ESCALONA, "serve", "--data", str(data), "--grpc", grpc_address, "--http", "127.0.0.1:0",
                               *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        complaint = done.stderr.strip().splitlines()[-1]
        self.assertTrue(complaint.startswith("escalona serve: "), complaint)
        return complaint


class Restart(FolderTest):
    def restart_keeps_everything(self, end):
        server = Server(self.data)
        frontier = Frontier(server)
        frontier.delay(0)
        frontier.put(*[discovered(f"http://{h}.com/{i}", metadata={"m": [h]}) for h in "abcdef" for i in range(4)],
                     *[completed(f"http://f.com/done{i}") for i in range(2)], known("http://later.com/", 4_000_000_000))
        frontier.delay(1000, key="a.com")
        frontier.block("b.com", 4_000_000_000)
        frontier.block("unseen.com", 4_000_000_000)
        frontier.stub.SetCrawlLimit(pb.CrawlLimitParams(key="f.com", limit=2))
        leased = frontier.get(1, 10, lease=36_000)
        self.assertEqual(sorted(g.key for g in leased), ["a.com", "c.com", "d.com", "e.com"])
        frontier.put(completed("http://a.com/0"))
        before, listed = frontier.stats(), sorted(str(item) for item in frontier.urls(size=1000))
        frontier.stub.SetActive(pb.Active(state=False))
        frontier.close()
        end(server)

        server = Server(self.data)
        frontier = Frontier(server)
        self.assertFalse(frontier.stub.GetActive(pb.Local()).state)
        frontier.stub.SetActive(pb.Active(state=True))
        self.assertEqual(frontier.stats(), before)
        self.assertEqual(sorted(str(item) for item in frontier.urls(size=1000)), listed)
        # a: inside its delay; b: blocked; c, d, e: a lease each; f: at its limit.
        self.assertEqual(frontier.get(1, 10), [])
        self.assertEqual(sorted(g.key for g in frontier.get(2, 10)), ["c.com"] * 2 + ["d.com"] * 2 + ["e.com"] * 2)
        frontier.put(discovered("http://unseen.com/"))
        self.assertEqual(frontier.get(1, 10, key="unseen.com", crawlID=""), [])
        frontier.block("b.com", 0)
        self.assertEqual([g.key for g in frontier.get(1, 10)], ["b.com"])  # at once: the default delay is still 0
        frontier.close()
        self.assertEqual(server.stop(), 0)

    def test_an_orderly_end(self):
        self.restart_keeps_everything(lambda server: self.assertEqual(server.stop(), 0))

    def test_kill_9(self):
        self.restart_keeps_everything(lambda server: server.kill())


class KillLoop(FolderTest):
    """A crawler against a server that is killed again and again; what was acknowledged is the model."""

    def setUp(self):
        super().setUp()
        self.known, self.done, self.leased = set(), set(), set()
        self.sent_done = set()
        self.number = 0

    def crawl(self, server, stop):
        frontier = Frontier(server)

        def put():
            def items():
                while not stop.is_set():
                    self.number += 1
                    yield discovered(f"http://h{self.number % 200}.com/{self.number}")
            try:
                for ack in frontier.stub.PutURLs(items()):
                    assert ack.status != FAIL
                    self.known.add(ack.ID)
            except grpc.RpcError:
                pass

        def get():
            try:
                while not stop.is_set():
                    for got in frontier.stub.GetURLs(pb.GetParams(max_urls_per_queue=3, max_queues=10, delay_requestable=36_000)):
                        assert got.url not in self.leased and got.url not in self.sent_done, f"{got.url} was handed out twice"
                        self.leased.add(got.url)
                    batch = random.sample(sorted(self.leased), min(10, len(self.leased)))
                    self.sent_done.update(batch)
                    self.leased.difference_update(batch)
                    for ack in frontier.stub.PutURLs(iter([completed(url) for url in batch])):
                        if ack.status == OK:
                            self.done.add(ack.ID)
            except grpc.RpcError:
                pass
            except AssertionError as error:
                self.problems.append(error)

        self.problems = []
        threads = [threading.Thread(target=put), threading.Thread(target=get)]
        for thread in threads:
            thread.start()
        return frontier, threads

    def check(self, frontier):
        states = {item.known.info.url: item.known.refetchable_from_date for item in frontier.urls(size=2**31 - 1)}
        self.assertEqual(self.known - set(states), set(), "acknowledged and lost")
        self.assertEqual({url for url in self.done if states[url] != 0}, set(), "completed, acknowledged and back again")
        stats = frontier.stats()
        self.assertEqual(stats.size, sum(1 for date in states.values() if date != 0))
        self.assertEqual(stats.counts["completed"], sum(1 for date in states.values() if date == 0))
        self.assertGreaterEqual(stats.inProcess, len(self.leased))

    def test_nothing_acknowledged_is_lost_and_nothing_is_leased_twice(self):
        random.seed(7)
        for turn in range(ROUNDS):
            durability = ("--durability", "sync") if turn % 3 == 2 else ()
            server = Server(self.data, "--default-delay", "0", *durability)
            if turn > 0:
                frontier = Frontier(server)
                self.check(frontier)
                frontier.close()
            stop = threading.Event()
            frontier, threads = self.crawl(server, stop)
            time.sleep(random.uniform(0.05, 0.5))
            server.kill()
            stop.set()
            for thread in threads:
                thread.join()
            frontier.close()
            self.assertEqual(self.problems, [])
        self.assertGreater(len(self.known), 100)
        self.assertGreater(len(self.done), 10)


class Refusal(FolderTest):
    def test_two_servers_on_one_folder(self):
        server = Server(self.data)
        self.assertIn(str(self.data), self.refused(self.data))
        frontier = Frontier(server)
        self.assertEqual(frontier.put(discovered("http://a.com/")), [OK])
        frontier.close()
        self.assertEqual(server.stop(), 0)

    def test_a_port_that_is_taken(self):
        server = Server(self.data)
        complaint = self.refused(self.data.parent / "other", grpc_address=server.address)
        self.assertIn(server.address, complaint)
        self.assertEqual(server.stop(), 0)

    def test_a_folder_of_a_newer_program(self):
        self.data.mkdir()
        (self.data / "FORMAT").write_text("escalona data 99\n")
        self.assertIn("99", self.refused(self.data))
        self.assertEqual((self.data / "FORMAT").read_text(), "escalona data 99\n")

    def test_store_commands_on_a_folder_of_a_newer_program(self):
        self.assertEqual(Server(self.data).stop(), 0)
        (self.data / "FORMAT").write_text("escalona data 99\n")
        before = sorted(path.name for path in (self.data / "frontier").iterdir())
        for command in ("check", "stats", "compact"):
            done = subprocess.run([ESCALONA, "store", command, str(self.data)], capture_output=True,
                                  text=True, timeout=60)
            self.assertEqual(done.returncode, 2, command)
            self.assertIn("format 99", done.stderr)
        self.assertEqual(sorted(path.name for path in (self.data / "frontier").iterdir()), before)

    def store_some(self):
        server = Server(self.data)
        frontier = Frontier(server)
        frontier.put(*[discovered(f"http://a.com/{i}") for i in range(100)])
        frontier.close()
        self.assertEqual(server.stop(), 0)

    def test_a_damaged_store(self):
        self.store_some()
        manifest, = (self.data / "frontier").glob("MANIFEST-*")
        content = bytearray(manifest.read_bytes())
        content[len(content) // 2:] = b"\xff" * (len(content) - len(content) // 2)
        manifest.write_bytes(content)
        self.refused(self.data)
        self.assertEqual(manifest.read_bytes(), bytes(content))  # nothing was reset

    def test_a_store_whose_list_of_tables_was_cut_off(self):
        self.store_some()
        subprocess.run([ESCALONA, "store", "compact", str(self.data)], check=True, capture_output=True)
        tables = sorted((self.data / "frontier").glob("*.sst"))
        self.assertTrue(tables)
        manifest = max((self.data / "frontier").glob("MANIFEST-*"))
        os.truncate(manifest, manifest.stat().st_size // 2)
        for _ in range(2):
            self.assertIn("MANIFEST", self.refused(self.data))
            self.assertEqual(sorted((self.data / "frontier").glob("*.sst")), tables)

    def files(self):
        return {path.name: path.read_bytes() for path in (self.data / "frontier").glob("*")}

    def refused_and_kept(self, *words):
        """By the server, again and again, and by what looks after the store; all files stay as they are."""
        before = self.files()
        for _ in range(2):
            complaint = self.refused(self.data)
            for word in (*words, "backup"):
                self.assertIn(word, complaint)
        for command in ("check", "stats"):
            done = subprocess.run([ESCALONA, "store", command, str(self.data)], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(words[0], done.stderr)
        self.assertEqual(self.files(), before)

    def test_a_store_without_current(self):
        self.store_some()
        (self.data / "frontier" / "CURRENT").unlink()
        self.refused_and_kept("CURRENT", str(self.data / "frontier"))

    def test_a_store_whose_last_log_is_damaged_or_gone(self):
        self.store_some()
        log = max((self.data / "frontier").glob("*.log"))
        content = log.read_bytes()
        middle = len(content) // 2
        log.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1:])
        self.refused_and_kept(str(log))
        log.unlink()
        self.refused_and_kept(str(log))
        log.write_bytes(content)
        self.assertEqual(Server(self.data).stop(), 0)

    def test_a_frontier_that_is_gone(self):
        self.store_some()
        shutil.rmtree(self.data / "frontier")
        self.refused_and_kept(str(self.data / "frontier"))
        (self.data / "frontier").mkdir()
        self.refused_and_kept(str(self.data / "frontier"))
        (self.data / "STORES").unlink()
        self.assertEqual(Server(self.data).stop(), 0)

    def test_associations_that_are_gone_or_damaged(self):
        self.store_some()
        (self.data / "associations" / "CURRENT").unlink()
        self.assertIn("CURRENT", self.refused(self.data))
        shutil.rmtree(self.data / "associations")
        self.assertIn(str(self.data / "associations"), self.refused(self.data))

    def test_a_folder_of_an_earlier_version(self):
        self.store_some()
        for name in ("STORES", "frontier/FILES", "associations/FILES"):
            (self.data / name).unlink()
        server = Server(self.data)
        frontier = Frontier(server)
        self.assertEqual(frontier.stats().size, 100)
        frontier.close()
        self.assertEqual(server.stop(), 0)
        self.assertTrue((self.data / "STORES").exists())

    def test_looking_at_a_store_changes_nothing(self):
        self.store_some()
        before = self.files()
        for command in ("check", "stats"):
            subprocess.run([ESCALONA, "store", command, str(self.data)], check=True, capture_output=True, timeout=60)
        self.assertEqual(self.files(), before)

    def test_a_folder_that_is_none(self):
        self.data.write_text("a file")
        self.assertIn(str(self.data), self.refused(self.data))

    def test_settings_that_are_wrong(self):
        self.assertIn("--grpc", self.refused(self.data, grpc_address="nonsense"))
        self.assertIn("did you mean rocksdb.path", self.refused(self.data, "rocksdb.paht=/tmp/x"))
        self.assertIn("--default-delay", self.refused(self.data, "--default-delay", "soon"))
        for purge in ("rocksdb.purge", "rocksdb.purge=true"):
            self.assertIn("rocksdb.purge is not supported: nothing is removed at a start; remove the folder, or use `escalona "
                          "client delete-crawl`", self.refused(self.data, purge))
        self.assertIn("nodes is not supported: there is no cluster", self.refused(self.data, "nodes=a:7071,b:7071"))
        sharded = "implementation=crawlercommons.urlfrontier.service.rocksdb.ShardedRocksDBService"
        self.assertIn(f"{sharded} is not supported: there is no cluster", self.refused(self.data, sharded))
        for short, long in (("-p", "--grpc"), ("-s", "--http")):
            self.assertIn(f"{long} excludes --p", self.refused(self.data, short, "0"))


class Settings(FolderTest):
    def test_arguments_of_the_reference_server(self):
        with_port = Server(None, f"rocksdb.path={self.data}", "server.enable_reflection=true", "--node", "frontier.example:7071")
        frontier = Frontier(with_port)
        self.assertEqual(list(frontier.stub.ListNodes(pb.Empty()).values), ["frontier.example:7071"])
        frontier.close()
        self.assertTrue((self.data / "frontier").is_dir())
        self.assertEqual(with_port.stop(), 0)

    def test_settings_that_tune_the_reference_server_are_ignored_with_a_warning(self):
        ignored = ["rocksdb.purge=false", "rocksdb.wal.disable=true", "forward.deadline.seconds=30", "forward.ready.timeout.ms=9",
                   "rocksdb.stats", "read.thread.num=4"]
        server = Server(self.data, *ignored)
        self.assertEqual(server.stop(), 0)
        self.assertEqual([line.partition(" warning ")[2] for line in server.log if " warning " in line],
                         [f"{setting} has no meaning here and is ignored" for setting in ignored])

    def addresses(self, *arguments):
        """Where it listens: gRPC, HTTP."""
        process = subprocess.Popen([ESCALONA, "serve", "--data", str(self.data), *arguments], stderr=subprocess.PIPE, text=True)
        found = {}
        for line in process.stderr:
            if started := re.search(r"(grpc|http) started on (?:http://)?(\S+):(\d+)", line):
                found[started[1]] = (started[2], int(started[3]))
            if "grpc started" in line:
                process.send_signal(signal.SIGTERM)
        process.stderr.close()
        self.assertEqual(process.wait(60), 0)
        return found["grpc"], found["http"]

    def test_ports_of_the_reference_server_are_open_to_all(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        grpc_at, http_at = self.addresses("-p", str(port), "-s", "0")
        self.assertEqual((grpc_at, http_at[0]), (("0.0.0.0", port), "0.0.0.0"))
        grpc_at, http_at = self.addresses("-p", "0", "--http", "127.0.0.1:0")
        self.assertEqual((grpc_at[0], http_at[0]), ("0.0.0.0", "127.0.0.1"))
        grpc_at, http_at = self.addresses("-s", str(port), "--grpc", "127.0.0.1:0")
        self.assertEqual((grpc_at[0], http_at), ("127.0.0.1", ("0.0.0.0", port)))

    def test_the_port_of_prometheus_alone_opens_that_of_grpc_too(self):
        try:
            with socket.socket() as probe:
                probe.bind(("0.0.0.0", 7071))
        except OSError:
            self.skipTest("port 7071 is taken")
        grpc_at, http_at = self.addresses("-s", "0")
        self.assertEqual((grpc_at, http_at[0]), (("0.0.0.0", 7071), "0.0.0.0"))


class Tmpfs:
    """A small file system of its own; needs root."""

    def __init__(self, size):
        self.path = tempfile.mkdtemp(prefix="escalona-tmpfs-")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.path], capture_output=True).returncode:
            os.rmdir(self.path)
            raise unittest.SkipTest("a file system cannot be mounted here (it needs root)")

    def remount(self, how):
        subprocess.run(["mount", "-o", f"remount,{how}", self.path], check=True)

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=True)
        os.rmdir(self.path)


class Failure(FolderTest):
    def mounted(self, size):
        disk = Tmpfs(size)
        self.addCleanup(disk.close)
        return disk

    @staticmethod
    def fill(disk):
        with open(os.path.join(disk.path, "filler"), "wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 4096) > 0:
                    pass
            except OSError:
                pass

    def test_a_full_disk_and_then_room_again(self):
        disk = self.mounted("400m")  # enough for RocksDB to think of going on
        data = pathlib.Path(disk.path) / "data"
        server = Server(data, "--memory", "16MiB")
        frontier = Frontier(server)
        good = []

        def listed():
            return [item.known.info.url for item in frontier.urls(size=2**31 - 1)]

        for turn in range(2):
            failed = 0
            for n in range(4000):
                if n == 20:
                    self.fill(disk)
                urls = [f"http://h{i}.com/{turn}/{n}/" + "x" * 200 for i in range(50)]
                statuses = frontier.put(*[discovered(url) for url in urls])
                good += [url for url, status in zip(urls, statuses) if status == OK]
                failed += statuses.count(FAIL)
                if failed:
                    break
            self.assertGreater(failed, 0)
            self.assertIsNone(server.process.poll())
            self.assertTrue(server.says(lambda line: "could not be stored" in line and "make room" in line), server.log[-5:])
            self.assertGreater(server.metrics()["frontier_putURLs_failed_total"], 0)
            self.assertEqual(frontier.put(discovered("http://no-room.com/")), [FAIL])
            os.remove(os.path.join(disk.path, "filler"))
            room = f"http://room{turn}.com/"
            for _ in range(30):  # seconds
                if frontier.put(discovered(room)) == [OK]:
                    break
                time.sleep(1)
            good.append(room)
            self.assertEqual(len(frontier.get(1, 10)), 10)
            # What was acknowledged is there, what failed is not, and the counters agree.
            self.assertEqual(sorted(listed()), sorted(good))
            self.assertEqual(frontier.stats().size, len(good))
        self.assertTrue(server.says(lambda line: "room again" in line), server.log[-5:])
        self.assertIsNone(server.process.poll())
        server.kill()
        frontier.close()
        check = subprocess.run([ESCALONA, "store", "check", str(data)], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        server = Server(data, "--memory", "16MiB")
        frontier = Frontier(server)
        self.assertEqual(sorted(listed()), sorted(good))
        self.assertEqual(frontier.put(discovered("http://again.com/")), [OK])
        frontier.close()
        self.assertEqual(server.stop(), 0)

    def test_a_read_only_folder(self):
        disk = self.mounted("48m")
        data = pathlib.Path(disk.path) / "data"
        server = Server(data)
        self.assertEqual(server.stop(), 0)
        disk.remount("ro")
        self.assertIn(str(data), self.refused(data))
        disk.remount("rw")

    def test_no_permission(self):
        if os.geteuid() != 0:
            self.data.mkdir(mode=0o500)
            self.assertIn(str(self.data), self.refused(self.data))
            return
        try:  # root may write everywhere but here
            self.assertIn("/proc", self.refused("/proc/escalona-data"))
        except subprocess.TimeoutExpired:
            self.skipTest("no folder that root may not write")

    @unittest.skipIf(os.environ.get("ESCALONA_SANITIZED"), "a sanitizer needs file handles itself")
    def test_out_of_file_handles(self):
        server = Server(self.data, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80)))
        frontier = Frontier(server)
        self.assertEqual(frontier.put(discovered("http://a.com/1")), [OK])
        others = [Frontier(server) for _ in range(100)]
        for other in others:
            try:
                other.stub.GetActive(pb.Local(), timeout=0.02)
            except grpc.RpcError:
                pass
        self.assertIsNone(server.process.poll())
        self.assertEqual(frontier.put(discovered("http://a.com/2")), [OK])  # who was there is served
        for other in others:
            other.close()
        self.assertEqual(frontier.put(discovered("http://a.com/3")), [OK])
        frontier.close()
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()

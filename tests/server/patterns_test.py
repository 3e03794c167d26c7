"""The ways in which StormCrawler, Scrapy and crawler4j call a frontier, and the ways in which calls go wrong."""
import http.client
import os
import pathlib
import random
import re
import resource
import socket
import tempfile
import threading
import time
import unittest

import grpc
from frontier_server import (LONG, OK, SKIPPED, Frontier, Server, WireTest, completed, discovered, info, known, pb, pb_grpc)


def memory_of(server):
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def endless(first, released):
    """A stream of requests that the client does not half-close until told."""
    yield from first
    released.wait()


class Patterns(WireTest):
    def assert_memory(self, used, most):
        if not os.environ.get("ESCALONA_SANITIZED"):  # sanitizers keep what was freed
            self.assertLess(used, most)

    def test_streams_of_one_item_each(self):  # Scrapy
        for n in range(300):
            self.assertEqual(self.frontier.put(discovered(f"http://a.com/{n}", crawl="spider.1")), [OK])
        self.assertEqual(self.frontier.stats("spider.1").size, 300)
        got = self.frontier.get(1, 1, lease=36_000, crawlID="spider.1")
        self.assertEqual(len(got), 1)
        self.assertEqual(self.frontier.put(completed(got[0].url, crawl="spider.1")), [OK])

    def test_streams_that_are_never_half_closed(self):  # crawler4j
        released = threading.Event()
        before = memory_of(self.server)
        calls = []
        put = self.frontier.channel.stream_stream("/urlfrontier.URLFrontier/PutURLs", lambda b: b, lambda b: b)
        open_streams = self.server.metrics()["frontier_put_streams"]
        sent = 5_000 if LONG else 300  # Python needs a thread per stream; 10,000 are in wire_test.cc
        for n in range(sent):
            call = put(endless([discovered(f"http://h{n}.com/").SerializeToString()], released))
            next(call)  # its acknowledgement
            calls.append(call)
        self.assertEqual(self.server.metrics()["frontier_put_streams"] - open_streams, sent)
        self.assertEqual(self.frontier.put(discovered("http://other.com/")), [OK])
        self.assertEqual(len(self.frontier.get(1, 10)), 10)
        per_stream = (memory_of(self.server) - before) / sent
        self.assert_memory(per_stream, 100 << 10)
        for call in calls:
            call.cancel()
        released.set()
        deadline = time.time() + 30
        while self.server.metrics()["frontier_put_streams"] > open_streams and time.time() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.server.metrics()["frontier_put_streams"], open_streams)

    def test_many_messages_in_flight(self):  # StormCrawler
        count = 100_000 if LONG else 20_000  # wire_test.cc has them all
        acks, gate = {}, threading.Event()

        def items():
            for n in range(count):
                yield discovered(f"http://h{n % 997}.com/{n}", ID=str(n)).SerializeToString()

        put = self.frontier.channel.stream_stream("/urlfrontier.URLFrontier/PutURLs", lambda b: b, pb.AckMessage.FromString)
        call = put(items(), timeout=120)
        gate.wait(0.5)  # the client sends and does not read
        for ack in call:
            acks[ack.ID] = ack.status
        self.assertEqual(len(acks), count)
        self.assertEqual(set(acks.values()), {OK})
        self.assertEqual(self.frontier.stats().size, count)

    def test_updates_of_one_url_on_one_stream_keep_their_order(self):
        items = [known("http://a.com/", date, ID=str(date)) for date in range(1, 2001)]
        self.assertEqual(self.frontier.put(*items), [OK] * 2000)
        self.assertEqual(self.frontier.status("http://a.com/").known.refetchable_from_date, 2000)

    def test_a_client_that_never_reads_is_held_up_alone(self):
        before = memory_of(self.server)
        stuck = threading.Event()

        def flood():
            n = 0
            while not stuck.is_set():
                n += 1
                yield discovered(f"http://flood.com/{n}", ID="x" * 3000).SerializeToString()

        put = self.frontier.channel.stream_stream("/urlfrontier.URLFrontier/PutURLs", lambda b: b, lambda b: b)
        call = put(flood())
        time.sleep(1.0)
        first = self.frontier.stats().size
        time.sleep(0.5)
        self.assertEqual(self.frontier.stats().size, first)  # it stands still, for its acks are not read
        self.assert_memory(memory_of(self.server) - before, 100 << 20)
        self.assertEqual(self.frontier.put(discovered("http://b.com/")), [OK])
        stuck.set()
        call.cancel()

    def test_slow_readers_of_get_and_list(self):
        self.frontier.put_batch(*[info(f"http://h{n}.com/" + "x" * 200) for n in range(20_000)])
        before = memory_of(self.server)
        other = Frontier(self.server)
        listing = other.stub.ListURLs(pb.ListUrlParams(size=2**31 - 1))
        getting = other.stub.GetURLs(pb.GetParams(max_urls_per_queue=1))
        next(listing), next(getting)
        time.sleep(0.3)
        self.assert_memory(memory_of(self.server) - before, 60 << 20)
        self.assertEqual(self.frontier.put(discovered("http://new.com/")), [OK])  # nobody else is held up
        self.assertEqual(self.frontier.stats().numberOfQueues, 20_001)
        self.assertEqual(1 + sum(1 for _ in listing), 20_000)
        self.assertGreaterEqual(1 + sum(1 for _ in getting), 19_000)
        other.close()

    def test_cancelled_calls(self):
        self.frontier.put_batch(*[info(f"http://h{n}.com/") for n in range(3000)])
        for n in range(100):
            calls = [self.frontier.stub.ListURLs(pb.ListUrlParams(size=10_000)),
                     self.frontier.stub.GetURLs(pb.GetParams(max_urls_per_queue=1, max_queues=5, delay_requestable=1)),
                     self.frontier.stub.PutURLs(iter([discovered(f"http://c{n}.com/{i}") for i in range(5)])),
                     self.frontier.stub.PutDiscovered(iter([pb.DiscoveredBatch(items=[info(f"http://d{n}.com/")])]))]
            if n % 2:
                next(calls[n // 2 % 4])
            for call in calls:
                call.cancel()
        self.assertEqual(self.frontier.put(discovered("http://still.there/")), [OK])
        deadline = time.time() + 10
        while self.server.metrics()["frontier_put_streams"] > 0 and time.time() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.server.metrics()["frontier_put_streams"], 0)

    def test_connections_that_break(self):
        for _ in range(20):
            other = Frontier(self.server)
            call = other.stub.PutURLs(endless([discovered(f"http://a.com/{i}") for i in range(50)], threading.Event()))
            next(call)
            other.close()
        with socket.create_connection(("127.0.0.1", self.server.port)) as broken:
            broken.sendall(b"GET / HTTP/1.1\r\n\r\n" + b"\0" * 100)
        self.assertEqual(self.frontier.put(discovered("http://b.com/")), [OK])

    def test_many_clients_at_once(self):
        failures = []

        def crawl(number):
            try:
                frontier = Frontier(self.server)
                for turn in range(15):
                    urls = [f"http://h{i}.com/{number}-{turn}" for i in range(20)]
                    if frontier.put(*[discovered(url) for url in urls]) != [OK] * 20:
                        failures.append((number, turn))
                    for got in frontier.get(2, 5, lease=60):
                        frontier.put(completed(got.url))
                frontier.close()
            except Exception as error:  # to be shown by the test
                failures.append(error)

        threads = [threading.Thread(target=crawl, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        stats = self.frontier.stats()
        self.assertEqual(stats.size + stats.counts["completed"], 8 * 15 * 20)
        self.assertEqual(self.frontier.stub.CountURLs(pb.CountUrlParams(filter="h")).value, 8 * 15 * 20)

    def test_the_first_call_after_a_pause_does_not_wait(self):
        self.frontier.put(discovered("http://a.com/"))
        times = []
        for n in range(4):
            time.sleep(1.03)
            start = time.perf_counter()
            self.frontier.stub.GetActive(pb.Local())
            times.append(time.perf_counter() - start)
        self.assertLess(sorted(times)[1], 0.05)


class OutOfFiles(unittest.TestCase):
    """Both ports say so once, do not spin, and take connections again when there are files again."""
    FILES = 200

    def answers(self, server):
        """Whether each port answers a new connection within a second."""
        with server.channel() as channel:
            try:
                pb_grpc.URLFrontierStub(channel).GetActive(pb.Local(), timeout=1)
                rpc = True
            except grpc.RpcError:
                rpc = False
        connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=1)
        try:
            connection.request("GET", "/health")
            return rpc, connection.getresponse().status == 200
        except OSError:
            return rpc, False
        finally:
            connection.close()

    def processor_time(self, server):
        fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @unittest.skipIf(os.environ.get("ESCALONA_SANITIZED"), "a sanitizer needs file handles itself")
    def test_it_is_said_and_passes(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (self.FILES, self.FILES))
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder) / "data", preexec=limit)
            early = Frontier(server)
            self.assertEqual(early.put(discovered("http://a.com/")), [OK])
            holders = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(self.FILES)]
            self.assertEqual(self.answers(server), (False, False))
            before = self.processor_time(server)
            time.sleep(2)
            self.assertLess(self.processor_time(server) - before, 1)
            self.assertEqual(early.stats().size, 1)  # who is connected is served
            for protocol in ("gRPC", "HTTP"):
                complaint = f" error {protocol} cannot take new connections now"
                self.assertTrue(server.says(lambda line: complaint in line), server.log)
                said = [line for line in server.log if complaint in line]
                self.assertEqual(len(said), 1, server.log)
                self.assertIn("Too many open files", said[0])
            for holder in holders:
                holder.close()
            until = time.time() + 30
            while self.answers(server) != (True, True) and time.time() < until:
                time.sleep(0.1)
            self.assertEqual(self.answers(server), (True, True))
            self.assertEqual(early.put(discovered("http://b.com/")), [OK])
            early.close()
            self.assertEqual(server.stop(), 0)


class OutOfThreads(unittest.TestCase):
    @unittest.skipIf(os.environ.get("ESCALONA_SANITIZED"), "a sanitizer needs the memory itself")
    def test_a_list_without_a_thread_is_refused_and_leaves_nothing_behind(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder) / "data", store="memory")
            frontier = Frontier(server)
            self.assertEqual(frontier.put(discovered("http://a.com/")), [OK])
            status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            used = int(re.search(r"VmSize:\s*(\d+) kB", status)[1]) << 10
            limit = lambda most: resource.prlimit(server.process.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
            limit(used + (1 << 20))  # no room for a stack
            with self.assertRaises(grpc.RpcError) as caught:
                frontier.urls()
            limit(resource.RLIM_INFINITY)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertIn("no thread", caught.exception.details())
            self.assertEqual(len(frontier.urls()), 1)
            frontier.close()
            self.assertEqual(server.stop(), 0)


class Shutdown(unittest.TestCase):
    def test_acknowledges_what_it_read_closes_its_port_and_ends_open_streams(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder) / "data")
            frontier = Frontier(server)
            released = threading.Event()
            call = frontier.stub.PutURLs(endless([discovered(f"http://a.com/{i}") for i in range(500)], released))
            acks = [next(call) for _ in range(500)]
            self.assertEqual({ack.status for ack in acks}, {OK})
            port, outcome = server.port, []

            def end():
                try:
                    next(call)
                except grpc.RpcError as error:
                    outcome.append(error.code())
                    with socket.socket() as probe:  # what a reconnecting client would meet
                        outcome.append(probe.connect_ex(("127.0.0.1", port)))

            waiting = threading.Thread(target=end)
            waiting.start()
            start = time.time()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.time() - start, 8)
            waiting.join()
            released.set()
            frontier.close()
            self.assertEqual(outcome[0], grpc.StatusCode.UNAVAILABLE)
            self.assertNotEqual(outcome[1], 0)
            again = Server(pathlib.Path(folder) / "data")
            frontier = Frontier(again)
            self.assertEqual(frontier.stats().size, 500)
            frontier.close()
            self.assertEqual(again.stop(), 0)

    def test_slow_readers_do_not_hold_it_up(self):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(pathlib.Path(folder) / "data")
            frontier = Frontier(server)
            frontier.put_batch(*[info(f"http://a.com/{'z' * 3000}{i}") for i in range(3000)])
            calls = [frontier.stub.ListURLs(pb.ListUrlParams(size=10**6)) for _ in range(16)]
            time.sleep(1)
            start = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - start, 8)
            for call in calls:
                urls = 0
                try:
                    for urls, _ in enumerate(call, 1):
                        pass
                    self.assertEqual(urls, 3000)  # gRPC had read on for the client
                except grpc.RpcError as error:
                    self.assertEqual(error.code(), grpc.StatusCode.UNAVAILABLE)
            frontier.close()

    def test_a_stop_while_a_large_batch_is_read_ends_well(self):
        batch = pb.DiscoveredBatch(ID="large", items=[info(f"http://h{n % 1000}.com/{n}") for n in range(200_000)])
        rng = random.Random(1)
        for _ in range(60 if LONG else 4):
            with tempfile.TemporaryDirectory() as folder:
                server = Server(pathlib.Path(folder) / "data")
                frontier = Frontier(server)
                released = threading.Event()
                call = frontier.stub.PutDiscovered(endless([batch], released))
                time.sleep(rng.uniform(0.02, 0.4))
                self.assertEqual(server.stop(), 0, server.log[-5:])
                released.set()
                call.cancel()
                frontier.close()


if __name__ == "__main__":
    unittest.main()

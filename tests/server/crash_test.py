#!/usr/bin/env python3
"""kill -9 of the server at random moments, compared with what it had acknowledged; and idle crowds."""
import os
import random
import resource
import socket
import tempfile
import threading
import time
import unittest

from association_server import Model, Server

ROUNDS = 12 if os.environ.get("ESCALONA_LONG") else 3
WRITERS = 4
INTERVAL = 1.0  # seconds between two trips to the disk, of `--durability interval`
SLACK = 1.0     # a trip takes time, and the machine may be busy


def step(rng, associator, client, model):
    """One random request on one associator, and the same on the model."""
    what = rng.random()
    key = f"key {rng.randrange(30)}"
    if what < 0.8:
        yield lambda: client.add(associator, key)
        model.add(associator, key)
    elif what < 0.9:
        keys = [f"key {rng.randrange(30)}" for _ in range(5)]
        # All of one associator: such a batch is one record of the log.
        yield lambda: client.json("POST", "/associations/batch", [{"key": associator, "associatedKey": k} for k in keys])
        for other in keys:
            model.add(associator, other)
    elif what < 0.97:
        yield lambda: client.ask("DELETE", f"/associations/{associator}/{key.replace(' ', '%20')}")
        model.delete_pair(associator, key)
    else:
        yield lambda: client.ask("DELETE", f"/associations/{associator}")
        model.delete(associator)


class Writer(threading.Thread):
    """Writes to an associator of its own until the server is gone; knows the state after each request."""

    def __init__(self, server, number, states):
        super().__init__()
        self.client = server.client()
        self.associator = f"associator-{number}"
        self.model = Model()
        for key, count in reversed(states):  # equal counts >= 2: the last written comes first
            if count > 1:
                self.model.add(self.associator, key, count)
        for key, count in states:
            if count == 1:
                self.model.add(self.associator, key)
        self.rng = random.Random()
        self.history = [(0.0, self.state())]  # (when it was acknowledged, the list then)
        self.acknowledged = 0

    def state(self):
        return self.model.top(self.associator, 10**6)

    def run(self):
        while True:
            for send in step(self.rng, self.associator, self.client, self.model):
                try:
                    send()
                    done = True
                except (OSError, AssertionError, Exception):  # the server is gone
                    done = False
            self.history.append((time.monotonic(), self.state()))
            if not done:
                return
            self.acknowledged += 1


class Crash(unittest.TestCase):
    def kill_again_and_again(self, durability, safe_before):
        """safe_before(kill time) -> what was acknowledged until then must be there."""
        rng = random.Random()
        total = 0
        with tempfile.TemporaryDirectory() as folder:
            found = [[] for _ in range(WRITERS)]
            for round_number in range(ROUNDS):
                with Server(folder + "/data", "--durability", durability) as server:
                    writers = [Writer(server, i, found[i]) for i in range(WRITERS)]
                    for writer in writers:
                        writer.start()
                    time.sleep(rng.uniform(0.2, 2.5))
                    server.process.kill()
                    killed = time.monotonic()
                    for writer in writers:
                        writer.join()
                with Server(folder + "/data", "--durability", durability) as server:
                    client = server.client()
                    for i, writer in enumerate(writers):
                        found[i] = client.top(writer.associator, "?k=1000000")
                        total += writer.acknowledged
                        least = max(n for n, (when, _) in enumerate(writer.history[:writer.acknowledged + 1])
                                    if when <= safe_before(killed))
                        possible = [state for _, state in writer.history[least:]]
                        self.assertIn(found[i], possible, f"round {round_number}, {writer.acknowledged} acknowledged")
                    server.kill()
        self.assertGreater(total, 100)

    def test_sync_loses_nothing_acknowledged(self):
        self.kill_again_and_again("sync", lambda killed: killed)

    def test_interval_loses_the_last_second_at_most(self):
        self.kill_again_and_again("interval", lambda killed: killed - INTERVAL - SLACK)

    def test_a_stopped_server_loses_nothing_whatever_the_durability(self):
        for durability in ("none", "interval"):
            with tempfile.TemporaryDirectory() as folder:
                with Server(folder + "/data", "--durability", durability) as server:
                    server.client().add("a", "b", 7)
                    server.stop()
                with Server(folder + "/data", "--durability", durability) as server:
                    self.assertEqual(server.client().top("a"), [("b", 7)])

    def test_a_quota_of_pairs_counts_what_is_in_the_log_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            with Server(folder + "/data", "--durability", "sync") as server:
                client = server.client()
                client.json("PUT", "/ns/small", {"maxPairs": 3}, status=201)
                for key in "xyz":
                    client.add("a", key, space="small")
                server.kill()
            with Server(folder + "/data", "--durability", "sync") as server:
                client = server.client()
                status = client.ask("POST", "/ns/small/associations", '{"key":"b","associatedKey":"w"}')[0]
                self.assertEqual(status, 429)
                client.add("a", "x", space="small")  # a pair that is there
                server.stop()

    def test_ten_thousand_idle_connections_leave_the_server_serving(self):
        wanted = 10000
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most < wanted + 2000:
            self.skipTest("not allowed so many files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        with tempfile.TemporaryDirectory() as folder, Server(folder + "/data") as server:
            crowd = []
            for i in range(wanted):
                crowd.append(socket.create_connection(("127.0.0.1", server.port)))
                if i % 4 == 0:
                    crowd[-1].sendall(b"POST /associations HTTP/1.1\r\nHost: x\r\nContent-Le")  # half a request
            client = server.client()
            start = time.monotonic()
            for i in range(200):
                client.add("a", "b")
            self.assertEqual(client.top("a"), [("b", 200)])
            self.assertLess(time.monotonic() - start, 5)
            for connection in crowd:
                connection.close()
            server.stop()


if __name__ == "__main__":
    unittest.main(warnings="ignore")

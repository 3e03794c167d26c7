"""A running `escalona serve` for tests, a client of it, and a naive model of the order."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import urllib.parse

PROGRAM = os.environ["ESCALONA"]


class Server:
    """A server on a free port. Killed at the end of the block."""

    def __init__(self, data, *options):
        self.data = data
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([PROGRAM, "serve", "--data", data, "--http", "127.0.0.1:0", *options],
                                        stderr=subprocess.PIPE, text=True)
        self.port = None
        for line in self.process.stderr:
            found = re.search(r"http started on http://127.0.0.1:(\d+)", line)
            if found:
                self.port = int(found[1])
                break
        assert self.port, f"the server did not start; exit status {self.process.wait()}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        rest = self.process.stderr.read()
        assert self.process.wait(timeout=20) == 0, rest

    def client(self):
        return Client(self.port)


class Client:
    def __init__(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def ask(self, method, path, body=None, headers=None):
        """(status, body as text, headers)"""
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode()
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers

    def json(self, method, path, body=None, headers=None, status=200):
        got, text, _ = self.ask(method, path, body, headers)
        assert got == status, f"{method} {path}: {got} {text}"
        return json.loads(text) if text else None

    def error(self, method, path, body=None, headers=None):
        """(status, code, field) of a request that must be refused in JSON."""
        status, text, _ = self.ask(method, path, body, headers)
        assert 400 <= status < 500, f"{method} {path}: {status} {text}"
        error = json.loads(text)
        assert error["message"]
        return status, error["code"], error.get("field", "")

    def top(self, key, query="", space="default"):
        path = f"/ns/{space}/associations/{quote(key)}{query}"
        return [(e["associatedKey"], e["frequency"]) for e in self.json("GET", path)]

    def add(self, key, associated, count=1, space="default"):
        body = {"key": key, "associatedKey": associated}
        if count != 1:
            body["count"] = count
        status, text, _ = self.ask("POST", f"/ns/{space}/associations", body)
        assert (status, text) == (204, ""), (status, text)


def quote(text):
    return urllib.parse.quote(text, safe="")


def raw(port, data, half_close=False):
    """Everything the server says to these bytes, until it closes."""
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=20)) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                answer += piece
        return answer


class Model:
    """associator -> list of [key, frequency], as the specification words it: single writes that move keys."""

    def __init__(self, most=2**64 - 1):
        self.lists = {}
        self.most = most

    def add(self, associator, key, count=1):
        entries = self.lists.setdefault(associator, [])
        for _ in range(count):
            place = next((i for i, entry in enumerate(entries) if entry[0] == key), None)
            if place is None:
                entries.append([key, 1])
                continue
            entry = entries.pop(place)
            entry[1] = min(entry[1] + 1, self.most)
            to = next((i for i, other in enumerate(entries) if other[1] <= entry[1]), len(entries))
            entries.insert(to, entry)

    def delete(self, associator):
        self.lists.pop(associator, None)

    def delete_pair(self, associator, key):
        if associator in self.lists:
            self.lists[associator] = [e for e in self.lists[associator] if e[0] != key]
            if not self.lists[associator]:
                del self.lists[associator]

    def delete_everywhere(self, key):
        touched = [a for a, entries in self.lists.items() if any(e[0] == key for e in entries)]
        for associator in touched:
            self.delete_pair(associator, key)
        return len(touched)

    def halve(self):
        for associator in list(self.lists):
            halved = [[key, count // 2] for key, count in self.lists[associator] if count >= 2]
            self.lists[associator] = halved
            if not halved:
                del self.lists[associator]

    def top(self, associator, k=20, offset=0, least=0):
        entries = [tuple(e) for e in self.lists.get(associator, [])[offset:offset + k]]
        return [e for e in entries if e[1] >= least]

"""What the tests of the wire share: stubs made from our .proto, and a server process to talk to."""
import ctypes
import http.client
import importlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

try:
    import grpc
except ImportError:
    print("python3-grpcio is missing: skipped")
    sys.exit(77)

ESCALONA = os.environ["ESCALONA"]
LONG = bool(os.environ.get("ESCALONA_LONG"))
PROTO_ROOT = pathlib.Path(__file__).resolve().parents[2] / "src"


def _make_stubs():
    """A foreign client's way: protoc and the Python plugin, from nothing but the .proto files."""
    out = tempfile.mkdtemp(prefix="escalona-stubs-")
    subprocess.run(["protoc", f"--proto_path={PROTO_ROOT}", f"--python_out={out}", f"--grpc_out={out}",
                    f"--plugin=protoc-gen-grpc={shutil.which('grpc_python_plugin')}",
                    "server/urlfrontier.proto", "server/admin.proto"], check=True)
    sys.path.insert(0, out)
    modules = [importlib.import_module(f"server.{name}") for name in
               ("urlfrontier_pb2", "urlfrontier_pb2_grpc", "admin_pb2", "admin_pb2_grpc")]
    shutil.rmtree(out)
    return modules


pb, pb_grpc, admin_pb, admin_grpc = _make_stubs()
OK, SKIPPED, FAIL = pb.AckMessage.OK, pb.AckMessage.SKIPPED, pb.AckMessage.FAIL


class Server:
    """`escalona serve` on free ports. Its log lines are in `log`."""

    def __init__(self, data=None, *arguments, store=None, preexec=None, wait=True):
        self.arguments = [ESCALONA, "serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        if data is not None:
            self.arguments += ["--data", str(data)]
        if store is not None:
            self.arguments += ["--store", store]
        self.arguments += arguments
        self.log = []
        self.port = self.http_port = None
        def prepare():
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with the test, however that ends
            if preexec:
                preexec()

        self.process = subprocess.Popen(self.arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, preexec_fn=prepare)
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if wait and not self._ready.wait(60):
            self.process.kill()
            raise RuntimeError("the server did not start:\n" + "\n".join(self.log))
        if wait and self.port is None:
            raise RuntimeError("the server ended:\n" + "\n".join(self.log))

    def _read(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.http_port = int(found[1])
            if found := re.search(r"Started URLFrontierServer on 127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                self._ready.set()
        self._ready.set()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def channel(self, **options):
        return grpc.insecure_channel(self.address, options=[("grpc.use_local_subchannel_pool", 1),
                                                            ("grpc.max_receive_message_length", -1),
                                                            *options.items()])

    def says(self, wanted, seconds=20):
        """Whether its log has a line that is wanted; what was written may not have been read yet."""
        end = time.monotonic() + seconds
        while not any(wanted(line) for line in list(self.log)):
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def stop(self):
        """Exit status, after SIGTERM."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self._reader.join()
        self.process.stderr.close()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stderr.close()

    def metrics(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=20)
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        assert response.status == 200, text
        values = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                values[name] = float(value)
        return values


class Frontier:
    """The calls, in few words."""

    def __init__(self, server):
        self.channel = server.channel()
        self.stub = pb_grpc.URLFrontierStub(self.channel)
        self.admin = admin_grpc.AdminStub(self.channel)

    def close(self):
        self.channel.close()

    def put(self, *items):
        """The status of each item, in order; their IDs must differ."""
        acks = {}
        for ack in self.stub.PutURLs(iter(items), timeout=60):
            assert ack.ID not in acks, f"{ack.ID} was acknowledged twice"
            acks[ack.ID] = ack.status
        return [acks[item.ID or url_of(item)] for item in items]

    def put_batch(self, *infos, ID="batch"):
        acks = list(self.stub.PutDiscovered(iter([pb.DiscoveredBatch(ID=ID, items=infos)]), timeout=60))
        assert len(acks) == 1 and acks[0].ID == ID
        return list(acks[0].statuses)

    def get(self, urls=0, queues=0, lease=0, key="", metadata=None, **crawl):
        params = pb.GetParams(max_urls_per_queue=urls, max_queues=queues, delay_requestable=lease, key=key, **crawl)
        return list(self.stub.GetURLs(params, timeout=60, metadata=metadata))

    def get_urls(self, *arguments, **named):
        return [info.url for info in self.get(*arguments, **named)]

    def urls(self, crawl="", **named):
        return list(self.stub.ListURLs(pb.ListUrlParams(crawlID=crawl, **named), timeout=60))

    def stats(self, crawl="", key=""):
        return self.stub.GetStats(pb.QueueWithinCrawlParams(crawlID=crawl, key=key), timeout=60)

    def status(self, url, crawl="", key=""):
        return self.stub.GetURLStatus(pb.URLStatusRequest(url=url, crawlID=crawl, key=key), timeout=60)

    def delay(self, seconds, key="", crawl=""):
        self.stub.SetDelay(pb.QueueDelayParams(key=key, delay_requestable=seconds, crawlID=crawl), timeout=60)

    def block(self, key, until, crawl=""):
        self.stub.BlockQueueUntil(pb.BlockQueueParams(key=key, time=until, crawlID=crawl), timeout=60)

    def delete_crawl(self, crawl):
        return self.stub.DeleteCrawl(pb.DeleteCrawlMessage(value=crawl), timeout=60).value

    def crawls(self):
        return list(self.stub.ListCrawls(pb.Local(), timeout=60).values)

    def clear(self):
        for crawl in self.crawls():
            self.delete_crawl(crawl)


def metadata_of(pairs):
    return {name: pb.StringList(values=values) for name, values in (pairs or {}).items()}


def info(url, key="", crawl="", metadata=None):
    return pb.URLInfo(url=url, key=key, crawlID=crawl, metadata=metadata_of(metadata))


def discovered(url, key="", crawl="", metadata=None, ID=""):
    return pb.URLItem(discovered=pb.DiscoveredURLItem(info=info(url, key, crawl, metadata)), ID=ID)


def known(url, date, key="", crawl="", metadata=None, ID=""):
    return pb.URLItem(known=pb.KnownURLItem(info=info(url, key, crawl, metadata), refetchable_from_date=date), ID=ID)


def url_of(item):
    return item.known.info.url if item.HasField("known") else item.discovered.info.url


def completed(url, **named):
    return known(url, 0, **named)


class WireTest(unittest.TestCase):
    """A class of tests has one server in memory; a test begins with nothing in it and no delay."""
    ARGUMENTS = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="escalona-wire-")
        cls.server = Server(pathlib.Path(cls.folder.name) / "data", *cls.ARGUMENTS, store="memory")
        cls.frontier = Frontier(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.frontier.close()
        status = cls.server.stop()
        cls.folder.cleanup()
        assert status == 0, "\n".join(cls.server.log)

    def setUp(self):
        self.frontier.clear()
        self.frontier.stub.SetActive(pb.Active(state=True))
        self.frontier.delay(0)

    def assert_code(self, code, call, *arguments):
        with self.assertRaises(grpc.RpcError) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code(), code)
        return caught.exception.details()

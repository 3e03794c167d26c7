"""A Scrapy scheduler that keeps its requests in a frontier of the URLFrontier API; docs/scrapy.md tells how to use it.

Spiders of one name share a crawl, in as many processes as you like. A URL is leased when it is handed out, and completed when
its callback has ended and all it yielded is stored: what a spider leaves unfinished comes back when the lease is over.
Requests are kept as URL, callback, cb_kwargs and meta, which must be JSON; bodies and headers are not.
"""
import importlib
import json
import os
import sys
import tempfile
import time
import zlib
from urllib.parse import urlsplit

import grpc
from grpc_tools import protoc
from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from w3lib.url import canonicalize_url


def _stubs(proto):
    out = tempfile.mkdtemp(prefix="urlfrontier-")
    if protoc.main(["", f"-I{os.path.dirname(proto)}", f"--python_out={out}", f"--grpc_python_out={out}", proto]) != 0:
        raise RuntimeError(f"{proto} cannot be compiled")
    sys.path.append(out)
    return [importlib.import_module(f"urlfrontier_pb2{part}") for part in ("", "_grpc")]


class UrlFrontierScheduler(BaseScheduler):
    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.settings, crawler.stats)

    def __init__(self, settings, stats):
        self.stats = stats
        self.pb, services = _stubs(os.path.abspath(settings.get("URLFRONTIER_PROTO", "src/server/urlfrontier.proto")))
        self.stub = services.URLFrontierStub(grpc.insecure_channel(settings.get("URLFRONTIER_ADDRESS", "127.0.0.1:7071")))
        self.delay = settings.getint("URLFRONTIER_DELAY", 1)
        self.lease = settings.getint("URLFRONTIER_LEASE", 36_000)
        self.partitions = settings.getint("URLFRONTIER_PARTITIONS", 10)
        self.turn = 0

    def open(self, spider):
        self.spider = spider
        self.crawls = [f"{spider.name}.{i + 1}" for i in range(self.partitions)]
        self.call(lambda: self.stub.SetDelay(self.pb.QueueDelayParams(delay_requestable=self.delay), wait_for_ready=True))

    def has_pending_requests(self):
        """Also while others have leased what is left: they may find more."""
        return any(self.call(lambda: self.stub.GetStats(self.pb.QueueWithinCrawlParams(crawlID=crawl), wait_for_ready=True)).size
                   for crawl in self.crawls)

    def enqueue_request(self, request):
        if request.method != "GET" or request.body:
            raise ValueError(f"{request}: only GET requests can be kept")
        kept = {"meta": dict(request.meta), "cb_kwargs": request.cb_kwargs}
        kept |= {name: getattr(request, name).__name__ for name in ("callback", "errback") if getattr(request, name)}
        info = self.info(request.url, {"scrapy_request": self.pb.StringList(values=[json.dumps(kept)])})
        if request.dont_filter:  # start URLs, retries
            return self.put(known=self.pb.KnownURLItem(info=info, refetchable_from_date=int(time.time()))) == 0  # OK
        return self.put(discovered=self.pb.DiscoveredURLItem(info=info)) == 0

    def next_request(self):
        for _ in self.crawls:
            self.turn = (self.turn + 1) % len(self.crawls)
            params = dict(max_urls_per_queue=1, max_queues=1, delay_requestable=self.lease, crawlID=self.crawls[self.turn])
            for info in self.call(lambda: list(self.stub.GetURLs(self.pb.GetParams(**params), wait_for_ready=True))):
                kept = json.loads(info.metadata["scrapy_request"].values[0])
                kept |= {name: getattr(self.spider, kept[name]) for name in ("callback", "errback") if name in kept}
                return Request(info.url, dont_filter=True, **kept)
        return None

    def complete(self, request):
        """It is done, and so are the URLs that were redirected to it."""
        for url in {*request.meta.get("redirect_urls", ()), request.url}:
            self.put(known=self.pb.KnownURLItem(info=self.info(url), refetchable_from_date=0))

    def info(self, url, metadata=None):
        url = canonicalize_url(url)
        part = zlib.crc32((urlsplit(url).hostname or "").encode()) % len(self.crawls)  # a host is in one crawl: politeness
        return self.pb.URLInfo(url=url, crawlID=self.crawls[part], metadata=metadata)

    def put(self, **item):
        """What became of it. While the server cannot store it, the spider waits."""
        item = self.pb.URLItem(**item)
        while (status := self.call(lambda: list(self.stub.PutURLs(iter([item]), wait_for_ready=True)))[0].status) == 2:  # FAIL
            self.stats.inc_value("urlfrontier/fail")
            time.sleep(1)
        return status

    def call(self, call):
        """Again while the server is away: it is restarted, or was killed in the middle."""
        while True:
            try:
                return call()
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE:
                    raise
                self.stats.inc_value("urlfrontier/unavailable")
                time.sleep(0.1)


class CompleteUrls:
    """Spider middleware: stores what a callback yields, which Scrapy would do some time later, then completes its URL."""

    from_crawler = classmethod(lambda cls, crawler: cls(crawler))

    def __init__(self, crawler):
        self.crawler = crawler

    async def process_spider_output(self, response, result):
        async for each in result:
            if isinstance(each, Request):
                self.crawler.engine.scheduler.enqueue_request(each)
            else:
                yield each
        self.crawler.engine.scheduler.complete(response.request)

    def process_spider_exception(self, response, exception):
        self.crawler.engine.scheduler.complete(response.request)

"""Every call of the URLFrontier API over the real wire, by a foreign client, and every rule of its semantics."""
import time
import unittest

import grpc
from frontier_server import (FAIL, LONG, OK, SKIPPED, Frontier, Server, WireTest, admin_pb, completed, discovered,
                             info, known, pb)

PAST, FUTURE = 1_000_000_000, 4_000_000_000


class Put(WireTest):
    def test_a_discovered_url_is_stored_once(self):
        self.assertEqual(self.frontier.put(discovered("http://a.com/1")), [OK])
        self.assertEqual(self.frontier.put(discovered("http://a.com/1", metadata={"x": ["y"]})), [SKIPPED])
        self.assertEqual(self.frontier.urls()[0].known.info.metadata, {})  # nothing was merged

    def test_a_discovered_url_is_skipped_in_every_state(self):
        self.frontier.put(discovered("http://leased.com/"), known("http://later.com/", FUTURE),
                          completed("http://done.com/"))
        self.assertEqual(self.frontier.get_urls(lease=600), ["http://leased.com/"])
        self.assertEqual(self.frontier.put(discovered("http://leased.com/"), discovered("http://later.com/"),
                                           discovered("http://done.com/")), [SKIPPED] * 3)
        self.assertEqual(self.frontier.stats().inProcess, 1)

    def test_a_known_url_replaces_metadata_and_ends_the_lease(self):
        self.frontier.put(discovered("http://a.com/1", metadata={"old": ["1"]}))
        self.assertEqual(self.frontier.get_urls(lease=600), ["http://a.com/1"])
        self.assertEqual(self.frontier.put(known("http://a.com/1", PAST, metadata={"new": ["2", "3"]})), [OK])
        self.assertEqual(self.frontier.stats().inProcess, 0)
        got = self.frontier.get()
        self.assertEqual([(g.url, {k: list(v.values) for k, v in g.metadata.items()}) for g in got],
                         [("http://a.com/1", {"new": ["2", "3"]})])

    def test_a_known_url_may_be_unknown(self):
        self.assertEqual(self.frontier.put(known("http://a.com/1", PAST), known("http://a.com/2", FUTURE),
                                           completed("http://a.com/3")), [OK] * 3)
        self.assertEqual(self.frontier.get_urls(), ["http://a.com/1"])
        stats = self.frontier.stats()
        self.assertEqual((stats.size, stats.counts["completed"]), (2, 1))

    def test_a_completed_url_is_never_served_and_keeps_no_metadata(self):
        self.frontier.put(discovered("http://a.com/1", metadata={"m": ["v"]}))
        self.frontier.put(completed("http://a.com/1", metadata={"m": ["v"]}))
        self.assertEqual(self.frontier.get(), [])
        status = self.frontier.status("http://a.com/1")
        self.assertTrue(status.HasField("known"))
        self.assertEqual((status.known.refetchable_from_date, dict(status.known.info.metadata)), (0, {}))

    def test_a_completed_url_can_be_scheduled_again(self):
        self.frontier.put(completed("http://a.com/1"))
        for _ in range(3):  # an at-least-once client sends it again
            self.assertEqual(self.frontier.put(known("http://a.com/1", PAST)), [OK])
        stats = self.frontier.stats()
        self.assertEqual((stats.size, stats.counts["completed"]), (1, 0))
        self.assertEqual(self.frontier.get_urls(), ["http://a.com/1"])
        self.assertEqual(self.frontier.status("http://a.com/1").known.refetchable_from_date, PAST)
        self.assertEqual(len(self.frontier.urls()), 1)

    def test_counters_do_not_drift_when_acknowledgements_are_repeated(self):
        self.frontier.put(discovered("http://a.com/1"), discovered("http://a.com/2"))
        for _ in range(4):
            self.frontier.put(completed("http://a.com/1"))
            self.frontier.put(known("http://a.com/2", FUTURE))
        stats = self.frontier.stats()
        self.assertEqual((stats.size, stats.counts["completed"], stats.counts["active_queues"]), (1, 1, 1))

    def test_ids_come_back_exactly_and_the_url_stands_for_an_empty_one(self):
        items = [discovered("http://a.com/1", ID=" ß\n_%"), discovered("http://a.com/2"), discovered("", ID="no url")]
        acks = {ack.ID: ack.status for ack in self.frontier.stub.PutURLs(iter(items))}
        self.assertEqual(acks, {" ß\n_%": OK, "http://a.com/2": OK, "no url": SKIPPED})

    def test_hopeless_items_are_skipped(self):
        items = [pb.URLItem(ID="nothing"), discovered("http:///x", ID="no host"), discovered("", ID="empty"),
                 discovered("http://a.com/", key="k" * 256, ID="long key"),
                 known("mailto:", 5, ID="mailto:")]  # "mailto" is a key
        self.assertEqual(self.frontier.put(*items), [SKIPPED, SKIPPED, SKIPPED, SKIPPED, OK])

    def test_an_item_that_a_client_could_not_be_served_is_skipped(self):
        most = (4 << 20) - (4 << 10)  # what clients take in one message, less what an answer adds
        def sized(name, size):
            item = discovered(f"http://a.com/{name}", ID=name, metadata={"m": [""]})
            item.discovered.info.metadata["m"].values[0] = "x" * (size - item.ByteSize())
            while item.ByteSize() > size:
                item.discovered.info.metadata["m"].values[0] = item.discovered.info.metadata["m"].values[0][1:]
            return item
        self.assertEqual(self.frontier.put(sized("fits", most), sized("not", most + 1), discovered("http://a.com/small")),
                         [OK, SKIPPED, OK])
        self.assertEqual(self.frontier.get_urls(), ["http://a.com/fits", "http://a.com/small"])
        self.assertEqual(len(self.frontier.urls()), 2)

    def test_a_name_that_is_too_long_is_left_out_of_its_acknowledgement(self):
        items = [discovered("http://a.com/" + "x" * (5 << 20)), discovered("http://a.com/", ID="i" * (5 << 20)),
                 discovered("http://b.com/", ID="b")]
        acks = [(ack.ID, ack.status) for ack in self.frontier.stub.PutURLs(iter(items), timeout=60)]
        self.assertEqual(sorted(acks), [("", SKIPPED), ("", SKIPPED), ("b", OK)])

    def test_the_key_may_have_255_utf16_units(self):
        self.assertEqual(self.frontier.put(discovered("u", key="k" * 255, ID="1"), discovered("u", key="ü" * 255, ID="2"),
                                           discovered("u", key="𝄞" * 127, ID="3"), discovered("u", key="𝄞" * 128, ID="4")),
                         [OK, OK, OK, SKIPPED])

    def test_keys_are_derived_as_the_reference_does(self):
        cases = {"http://host.com/a": "host.com", "http://host.com:8080/a": "host.com", "http://Host.com?q": "Host.com",
                 "http://host.com&x": "host.com", "http://host#frag": "host#frag", "http://user:pw@host/x": "user",
                 "http://[::1]:80/": "[", "mailto:x@y": "mailto", "no-scheme/path": "no-scheme", "//": None, "http:///x": None}
        for url, key in cases.items():
            with self.subTest(url):
                self.frontier.clear()
                self.assertEqual(self.frontier.put(discovered(url)), [SKIPPED if key is None else OK])
                queues = list(self.frontier.stub.ListQueues(pb.Pagination()).values)
                self.assertEqual(queues, [] if key is None else [key])

    def test_any_string_is_a_url_where_there_is_a_key(self):
        self.assertEqual(self.frontier.put(discovered("", key="k", ID="a"), discovered("not a url ü", key="k")), [OK, OK])
        self.assertEqual(sorted(self.frontier.get_urls()), ["", "not a url ü"])

    def test_one_url_under_two_keys_or_crawls_is_two_records(self):
        items = [discovered("http://a.com/", key=k, crawl=c, ID=k + c) for k in ("1", "2") for c in ("x", "y")]
        self.assertEqual(self.frontier.put(*items), [OK] * 4)
        self.assertEqual(self.frontier.stats("x").size, 2)

    def test_metadata_comes_back_whole(self):
        metadata = {"": ["empty key"], "none": [], "many": ["b", "a", "", "ü" * 100], "z": ["\0\n"]}
        self.frontier.put(discovered("http://a.com/", metadata=metadata))
        wanted = {key: values for key, values in metadata.items()}
        for found in (self.frontier.status("http://a.com/").known.info, self.frontier.urls()[0].known.info,
                      self.frontier.get()[0]):
            self.assertEqual({key: list(v.values) for key, v in found.metadata.items()}, wanted)

    def test_creation_date_is_ours_and_stays(self):
        before = int(time.time())
        item = discovered("http://a.com/")
        item.creation_date = 5
        self.frontier.put(item)
        self.frontier.put(known("http://a.com/", FUTURE))
        created = self.frontier.status("http://a.com/").creation_date
        self.assertTrue(before <= created <= time.time())
        self.assertEqual(self.frontier.urls()[0].creation_date, created)

    def test_a_date_far_away_is_not_now(self):
        self.assertEqual(self.frontier.put(known("http://a.com/", 2**63), known("http://b.com/", 2**64 - 1)), [OK, OK])
        self.assertEqual(self.frontier.get(), [])

    def test_a_message_that_is_none_is_skipped_and_harms_nobody(self):
        call = self.frontier.channel.stream_stream("/urlfrontier.URLFrontier/PutURLs", lambda b: b,
                                                   pb.AckMessage.FromString)
        good = discovered("http://a.com/1").SerializeToString()
        acks = list(call(iter([b"\xff\xff\xff", good, b"\x0a\x05\xff"])))
        self.assertEqual([ack.status for ack in acks], [SKIPPED, OK, SKIPPED])

    def test_a_text_that_is_not_utf8_is_skipped_and_acknowledged_in_utf8(self):
        call = self.frontier.channel.stream_stream("/urlfrontier.URLFrontier/PutURLs", lambda b: b,
                                                   pb.AckMessage.FromString)
        items = [discovered("http://a.com/1", ID="i-XX"), discovered("http://a.com/XX", ID="a good id"), discovered("http://a.com/2")]
        acks = call(item.SerializeToString().replace(b"XX", b"\xff\xfe") for item in items)
        self.assertEqual([(ack.ID, ack.status) for ack in acks],
                         [("i-\ufffd\ufffd", SKIPPED), ("a good id", SKIPPED), ("http://a.com/2", OK)])
        for line in self.server.log:  # nobody but the server writes there
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\S+ (info|warning|error) ")

    def test_unknown_fields_are_accepted(self):
        call = self.frontier.channel.stream_stream("/urlfrontier.URLFrontier/PutURLs", lambda b: b,
                                                   pb.AckMessage.FromString)
        later = discovered("http://a.com/1", ID="x").SerializeToString() + b"\xa2\x06\x03abc\xa8\x06\x01"
        self.assertEqual([(ack.ID, ack.status) for ack in call(iter([later]))], [("x", OK)])


class PutDiscovered(WireTest):
    def test_statuses_stand_in_the_order_of_the_items(self):
        self.frontier.put(discovered("http://known.com/"))
        self.assertEqual(self.frontier.put_batch(info("http://a.com/"), info("http://known.com/"), info("http:///"),
                                                 info("http://b.com/"), info("http://a.com/")),
                         [OK, SKIPPED, SKIPPED, OK, SKIPPED])

    def test_an_empty_batch_is_acknowledged(self):
        self.assertEqual(self.frontier.put_batch(ID="probe"), [])
        self.assertEqual(self.frontier.put_batch(ID=""), [])

    def test_metadata_belongs_to_its_item(self):
        self.frontier.put_batch(info("http://a.com/"), info("http://b.com/", metadata={"b": ["1"], "a": ["2"]}),
                                info("http://c.com/"), info("http://d.com/", metadata={"d": ["3"]}))
        found = {g.url: {k: list(v.values) for k, v in g.metadata.items()} for g in self.frontier.get()}
        self.assertEqual(found, {"http://a.com/": {}, "http://b.com/": {"b": ["1"], "a": ["2"]}, "http://c.com/": {},
                                 "http://d.com/": {"d": ["3"]}})

    def test_a_text_that_is_not_utf8_costs_its_item_alone(self):
        call = self.frontier.channel.stream_stream("/urlfrontier.URLFrontier/PutDiscovered", lambda b: b, pb.BatchAck.FromString)
        batch = pb.DiscoveredBatch(ID="b-XX", items=[info("http://a.com/"), info("http://XX/"), info("http://b.com/")])
        ack, = call(iter([batch.SerializeToString().replace(b"XX", b"\xff\xfe")]))
        self.assertEqual((ack.ID, list(ack.statuses)), ("b-\ufffd\ufffd", [OK, SKIPPED, OK]))

    def test_a_batch_above_4_mib(self):
        infos = [info(f"http://h{i % 50}.com/" + "x" * 200 + str(i)) for i in range(25_000)]
        batch = pb.DiscoveredBatch(ID="big", items=infos)
        self.assertGreater(batch.ByteSize(), 5 << 20)
        ack, = self.frontier.stub.PutDiscovered(iter([batch]), timeout=60)
        self.assertEqual(list(ack.statuses), [OK] * len(infos))

    def test_an_item_above_4_mib_costs_itself_alone(self):
        self.assertEqual(self.frontier.put_batch(info("http://a.com/1"), info("http://a.com/" + "x" * (4 << 20)),
                                                 info("http://a.com/2")), [OK, SKIPPED, OK])

    def test_many_batches_on_one_stream(self):
        batches = [pb.DiscoveredBatch(ID=f"batch-{n}", items=[info(f"http://h{i}.com/{n}") for i in range(20)])
                   for n in range(100)]
        acks = list(self.frontier.stub.PutDiscovered(iter(batches), timeout=60))
        self.assertEqual(sorted(ack.ID for ack in acks), sorted(b.ID for b in batches))
        self.assertTrue(all(list(ack.statuses) == [OK] * 20 for ack in acks))


class Get(WireTest):
    def without_delay(self):
        self.frontier.stub.SetDelay(pb.QueueDelayParams(delay_requestable=0))
        self.addCleanup(lambda: self.frontier.stub.SetDelay(pb.QueueDelayParams(delay_requestable=1)))

    def test_bounds(self):
        self.frontier.put(*[discovered(f"http://h{q}.com/{u}") for q in range(5) for u in range(4)])
        for urls, queues, wanted in ((1, 1, 1), (3, 2, 6)):
            self.assertEqual(len(self.frontier.get(urls, queues)), wanted)
        self.frontier.clear()
        self.frontier.put(*[discovered(f"http://h{q}.com/{u}") for q in range(5) for u in range(4)])
        self.assertEqual(len(self.frontier.get()), 20)  # 0: no limit

    def test_values_above_2_to_the_31(self):
        self.frontier.put(discovered("http://a.com/"), discovered("http://b.com/"))
        self.assertEqual(len(self.frontier.get(2**32 - 1, 2**31 + 5, lease=2**32 - 1)), 2)
        self.assertEqual(self.frontier.stats().inProcess, 2)

    def test_the_oldest_date_first_then_by_bytes(self):
        self.frontier.put(known("http://a.com/2", 20), known("http://a.com/1", 20), known("http://a.com/9", 10),
                          known("http://a.com/later", FUTURE))
        self.assertEqual(self.frontier.get_urls(10, 1), [f"http://a.com/{n}" for n in (9, 1, 2)])

    def test_rotation(self):
        self.frontier.put(*[discovered(f"http://h{q}.com/{u}") for u in range(2) for q in range(3)])
        keys = [self.frontier.get(1, 1, lease=1)[0].key for _ in range(3)]
        self.assertEqual(keys, ["h0.com", "h1.com", "h2.com"])

    def test_new_queues_go_behind_the_others(self):
        self.without_delay()
        self.frontier.put(*[discovered(f"http://h{q}.com/{u}") for u in range(5) for q in range(3)])
        keys = [self.frontier.get(5, 1)[0].key]
        self.frontier.put(discovered("http://new.com/"))
        keys += [self.frontier.get(9, 1)[0].key for _ in range(3)]
        self.assertEqual(keys, ["h0.com", "h1.com", "h2.com", "new.com"])

    def test_without_a_limit_leases_hold_nothing_up(self):
        self.without_delay()
        self.frontier.put_batch(*[info(f"http://a.com/{i:05}") for i in range(20_000)])
        self.assertEqual([len(self.frontier.get()) for _ in range(3)], [16_384, 3_616, 0])
        self.frontier.clear()
        self.frontier.put_batch(*[info(f"http://a.com/{i:05}") for i in range(20_000)])
        self.assertEqual([len(self.frontier.get(urls=17_000)) for _ in range(3)], [16_384, 3_616, 0])

    def test_answers_carry_key_and_crawl(self):
        self.frontier.put(discovered("http://a.com/"), discovered("x", key="k", crawl="c"), discovered("y", key="k", crawl=" "))
        found = sorted((g.url, g.key, g.crawlID) for g in self.frontier.get())
        self.assertEqual(found, [("http://a.com/", "a.com", "DEFAULT"), ("x", "k", "c"), ("y", "k", "DEFAULT")])

    def test_which_crawl(self):
        self.frontier.put(discovered("http://a.com/", crawl="c"), discovered("http://b.com/"))
        self.frontier.delay(0)
        self.assertEqual(self.frontier.get_urls(lease=1, crawlID="c"), ["http://a.com/"])
        self.assertEqual(self.frontier.get_urls(lease=1, crawlID=""), ["http://b.com/"])  # DEFAULT
        self.assertEqual(self.frontier.get_urls(crawlID="nobody"), [])
        self.frontier.clear()
        self.frontier.put(discovered("http://a.com/", crawl="c"), discovered("http://b.com/"))
        self.assertEqual(len(self.frontier.get(anyCrawlID=pb.AnyCrawlID())), 2)

    def test_one_queue(self):
        self.frontier.put(discovered("http://a.com/1"), discovered("http://b.com/1"))
        self.assertEqual(self.frontier.get(key="a.com"), [])  # a key needs a crawl
        self.assertEqual(self.frontier.get(key="a.com", anyCrawlID=pb.AnyCrawlID()), [])
        self.assertEqual(self.frontier.get_urls(key="a.com", crawlID=""), ["http://a.com/1"])
        self.assertEqual(self.frontier.get(key="nobody", crawlID="DEFAULT"), [])

    def test_a_lease_ends_and_gives_the_url_back(self):
        self.frontier.put(discovered("http://a.com/1"))
        self.assertEqual(len(self.frontier.get(lease=1)), 1)
        self.assertEqual(self.frontier.get(), [])
        time.sleep(1.1)
        self.assertEqual(self.frontier.stats().inProcess, 0)
        self.assertEqual(len(self.frontier.get()), 1)

    def test_a_queue_with_as_many_leases_as_asked_for_waits(self):
        self.frontier.put(*[discovered(f"http://a.com/{i}") for i in range(6)])
        self.assertEqual(len(self.frontier.get(1, 1)), 1)
        self.assertEqual(self.frontier.get(1, 1), [])
        self.assertEqual(self.frontier.get(1, 1, key="a.com", crawlID="DEFAULT"), [])
        self.assertEqual(len(self.frontier.get(2, 1)), 2)  # only a gate: one leased is fewer than two

    def test_at_most_one_serving_in_the_delay(self):
        self.frontier.delay(1)
        self.frontier.put(*[discovered(f"http://a.com/{i}") for i in range(6)])
        times, end = [], time.time() + 2.6
        while time.time() < end:
            if self.frontier.get(5, 1, lease=1):
                times.append(time.time())
            time.sleep(0.02)
        self.assertGreaterEqual(len(times), 2)
        for before, after in zip(times, times[1:]):
            self.assertGreater(after - before, 0.95)

    def test_nothing_is_served_while_inactive(self):
        self.frontier.put(discovered("http://a.com/"))
        calls = self.server.metrics()["frontier_getURLs_calls_total"]
        self.frontier.stub.SetActive(pb.Active(state=False))
        self.assertFalse(self.frontier.stub.GetActive(pb.Local()).state)
        self.assertEqual(self.frontier.get(), [])
        self.assertEqual(self.frontier.put(discovered("http://b.com/")), [OK])
        self.assertEqual(self.server.metrics()["frontier_getURLs_calls_total"], calls)
        self.frontier.stub.SetActive(pb.Active(state=True))
        self.assertTrue(self.frontier.stub.GetActive(pb.Local()).state)
        self.assertEqual(len(self.frontier.get()), 2)

    def test_more_queues_than_one_round_holds(self):
        for crawl in range(3):
            self.frontier.put_batch(*[info(f"http://h{i}.com/", crawl=f"c{crawl}") for i in range(7000)])
        urls = self.frontier.get_urls()
        self.assertEqual((len(urls), len(self.frontier.get())), (21000, 0))

    def test_a_malformed_request_of_a_unary_call_gets_the_answer_of_grpc(self):
        call = self.frontier.channel.unary_unary("/urlfrontier.URLFrontier/GetStats")
        self.assertEqual(self.assert_code(grpc.StatusCode.UNIMPLEMENTED, call, b"\xff\xff"), "")

    def test_a_malformed_request_is_told(self):
        for name in ("GetURLs", "ListURLs"):
            call = self.frontier.channel.unary_stream(f"/urlfrontier.URLFrontier/{name}")
            self.assert_code(grpc.StatusCode.INVALID_ARGUMENT, lambda: list(call(b"\xff\xff")))


class Leases(WireTest):
    def tokens(self, **named):
        return self.frontier.get(metadata=[("escalona-lease", "1")], **named)

    def test_no_token_unless_asked_for(self):
        self.frontier.put(discovered("http://a.com/"))
        self.assertEqual(dict(self.frontier.get()[0].metadata), {})

    def test_an_update_under_its_lease_is_taken_and_one_after_it_is_not(self):
        self.frontier.put(discovered("http://a.com/", metadata={"m": ["1"]}))
        first, = self.tokens(lease=1)
        self.assertEqual(set(first.metadata), {"m", "escalona-lease"})
        time.sleep(1.1)
        second, = self.tokens(lease=600)
        self.assertNotEqual(first.metadata["escalona-lease"], second.metadata["escalona-lease"])
        late = pb.URLItem(known=pb.KnownURLItem(info=first))
        self.assertEqual(self.frontier.put(late), [SKIPPED])
        self.assertEqual(self.frontier.stats().inProcess, 1)  # the second lease is untouched
        current = pb.URLItem(known=pb.KnownURLItem(info=second, refetchable_from_date=FUTURE))
        self.assertEqual(self.frontier.put(current), [OK])
        self.assertEqual(set(self.frontier.status("http://a.com/").known.info.metadata), {"m"})  # tokens are not kept
        self.assertEqual(self.frontier.put(current), [SKIPPED])  # the lease ended with the first
        self.assertGreaterEqual(self.server.metrics()["frontier_putURLs_stale_total"], 2)

    def test_a_token_that_is_no_number_is_none_and_is_not_stored(self):
        self.frontier.put(discovered("http://a.com/"))
        self.frontier.get()
        item = known("http://a.com/", 4000000000, metadata={"m": ["v"], "escalona-lease": ["no number"]})
        self.assertEqual(self.frontier.put(item), [OK])
        self.assertEqual(set(self.frontier.status("http://a.com/").known.info.metadata), {"m"})

    def test_a_discovered_url_that_inherited_a_token_is_taken(self):
        self.frontier.put(discovered("http://a.com/"))
        token = self.tokens()[0].metadata["escalona-lease"].values[0]
        self.assertEqual(self.frontier.put(discovered("http://a.com/link", metadata={"escalona-lease": [token]})), [OK])
        self.assertEqual(dict(self.frontier.status("http://a.com/link").known.info.metadata), {})


class Control(WireTest):
    def test_block_and_unblock(self):
        self.frontier.put(discovered("http://a.com/"), discovered("http://b.com/"))
        self.frontier.block("a.com", int(time.time()) + 1000)
        self.assertEqual(self.frontier.get_urls(), ["http://b.com/"])
        self.frontier.block("a.com", 0)
        self.assertEqual(self.frontier.get_urls(), ["http://a.com/"])

    def test_a_block_ends(self):
        self.frontier.put(discovered("http://a.com/"))
        self.frontier.block("a.com", int(time.time()) + 1)
        self.assertEqual(self.frontier.get(), [])
        time.sleep(2.05)
        self.assertEqual(len(self.frontier.get()), 1)

    def test_a_block_holds_for_the_whole_of_its_last_second(self):
        self.frontier.put(discovered("http://a.com/"))
        until = int(time.time()) + 1
        self.frontier.block("a.com", until)
        while True:
            urls = self.frontier.get_urls()
            if time.time() >= until + 1 or urls:
                break
            time.sleep(0.02)
        self.assertGreaterEqual(time.time(), until + 1)

    def test_a_block_for_ever(self):
        self.frontier.put(discovered("http://a.com/"))
        self.frontier.block("a.com", 2**64 - 1)
        self.assertEqual(self.frontier.get(), [])

    def test_what_is_told_of_a_queue_not_yet_seen_is_remembered(self):
        self.frontier.block("a.com", int(time.time()) + 1000)
        self.frontier.delay(1000, key="b.com")
        self.assertEqual(self.frontier.crawls(), [])
        self.frontier.put(discovered("http://a.com/"), *[discovered(f"http://b.com/{i}") for i in range(2)])
        self.assertEqual(self.frontier.get_urls(1), ["http://b.com/0"])
        self.frontier.put(completed("http://b.com/0"))
        self.assertEqual(self.frontier.get(), [])
        self.frontier.block("a.com", 0)
        self.frontier.delay(0, key="b.com")

    def test_delay_of_one_queue(self):
        self.frontier.put(*[discovered(f"http://{h}.com/{i}") for h in "ab" for i in range(2)])
        self.frontier.delay(1000, key="a.com")
        self.assertEqual(len(self.frontier.get(1)), 2)
        self.frontier.put(completed("http://a.com/0"), completed("http://b.com/0"))
        self.assertEqual(self.frontier.get_urls(1), ["http://b.com/1"])

    def test_limit_of_completed_urls(self):
        limit = lambda n, key="a.com": self.frontier.stub.SetCrawlLimit(pb.CrawlLimitParams(key=key, limit=n))
        self.assert_code(grpc.StatusCode.NOT_FOUND, limit, 5, "nobody.com")
        self.frontier.put(*[discovered(f"http://a.com/{i}") for i in range(4)])
        limit(2)
        self.frontier.put(completed("http://a.com/0"))
        self.assertEqual(len(self.frontier.get(1, lease=1)), 1)
        self.frontier.put(completed("http://a.com/1"), discovered("http://a.com/new"))  # puts still work
        self.assertEqual(self.frontier.get(), [])
        limit(0)
        self.assertEqual(len(self.frontier.get()), 3)

    def test_log_level(self):
        for level in pb.LogLevelParams.Level.values():
            self.frontier.stub.SetLogLevel(pb.LogLevelParams(package="crawlercommons", level=level))
        self.frontier.stub.SetLogLevel(pb.LogLevelParams(level=pb.LogLevelParams.INFO))

    def test_nodes(self):
        self.assertEqual(list(self.frontier.stub.ListNodes(pb.Empty()).values), [self.server.address])


class Inspection(WireTest):
    def queues(self, **named):
        return self.frontier.stub.ListQueues(pb.Pagination(**named))

    def test_list_queues(self):
        self.frontier.put(*[discovered(f"http://h{i:03}.com/") for i in range(150)], completed("http://done.com/"),
                          discovered("http://blocked.com/"))
        self.frontier.block("blocked.com", FUTURE)
        page = self.queues()
        self.assertEqual((len(page.values), page.size, page.start, page.crawlID), (100, 100, 0, "DEFAULT"))
        active = {f"h{i:03}.com" for i in range(150)}
        first, second = self.queues(size=90).values, self.queues(start=90, size=90).values
        self.assertEqual((len(first), len(second), set(first) | set(second)), (90, 60, active))
        everything = self.queues(size=1000, include_inactive=True)
        self.assertEqual(set(everything.values), active | {"done.com", "blocked.com"})
        self.assertEqual(everything.total, 152)
        self.assertEqual(list(self.queues(crawlID="nobody").values), [])
        self.frontier.block("blocked.com", 0)

    def test_stats(self):
        self.frontier.put(*[discovered(f"http://a.com/{i}") for i in range(3)], discovered("http://b.com/"),
                          completed("http://a.com/done"), completed("http://c.com/done"), discovered("x", key="k", crawl="other"))
        self.assertEqual(len(self.frontier.get(2, 1, key="a.com", crawlID="")), 2)
        stats = self.frontier.stats()
        self.assertEqual((stats.size, stats.inProcess, dict(stats.counts), stats.numberOfQueues, stats.crawlID),
                         (4, 2, {"completed": 2, "active_queues": 2}, 3, "DEFAULT"))
        stats = self.frontier.stats(key="a.com")
        self.assertEqual((stats.size, stats.inProcess, stats.counts["completed"], stats.numberOfQueues), (3, 2, 1, 1))
        unknown = self.frontier.stats(key="nobody")
        self.assertEqual((unknown.size, unknown.inProcess, unknown.numberOfQueues, set(unknown.counts.values())), (0, 0, 0, {0}))

    def test_status_of_a_url(self):
        self.frontier.put(known("http://a.com/", FUTURE, metadata={"m": ["v"]}, crawl="c"))
        found = self.frontier.status("http://a.com/", "c")
        self.assertEqual((found.known.info.url, found.known.info.key, found.known.info.crawlID,
                          found.known.refetchable_from_date, found.ID), ("http://a.com/", "a.com", "c", FUTURE, ""))
        self.assert_code(grpc.StatusCode.NOT_FOUND, self.frontier.status, "http://a.com/")
        self.assert_code(grpc.StatusCode.NOT_FOUND, self.frontier.status, "http://a.com/x", "c")
        self.assertTrue(self.assert_code(grpc.StatusCode.INVALID_ARGUMENT, self.frontier.status, "http:///x"))

    def test_list_and_count_urls(self):
        self.frontier.put(*[discovered(f"http://{h}.com/Page{i}") for h in "ab" for i in range(70)], completed("http://a.com/done"))
        listed = lambda **named: sorted(item.known.info.url for item in self.frontier.urls(**named))
        count = lambda **named: self.frontier.stub.CountURLs(pb.CountUrlParams(**named)).value
        self.assertEqual(len(listed()), 100)
        self.assertEqual(len(listed(size=2**32 - 1)), 141)
        self.assertEqual(count(), 141)
        self.assertEqual((len(listed(key="a.com")), count(key="a.com")), (71, 71))
        self.assertEqual((listed(key="nobody"), count(key="nobody")), ([], 0))
        self.assertEqual((listed(filter="com/page1"), count(filter="com/page1")), ([], 0))
        self.assertEqual((len(listed(filter="com/page1", ignoreCase=True)), count(filter="com/page1", ignoreCase=True)), (22, 22))
        self.assertEqual(count(filter="  "), 141)
        pages = [url for start in range(0, 150, 50) for url in listed(start=start, size=50)]
        self.assertEqual(sorted(pages), listed(size=1000))
        dates = {item.known.info.url: item.known.refetchable_from_date for item in self.frontier.urls(size=1000)}
        self.assertEqual(dates["http://a.com/done"], 0)
        self.assertTrue(all(date > 0 for url, date in dates.items() if not url.endswith("done")))

    def test_purge_spares_what_was_created_in_this_second(self):
        time.sleep(1 - time.time() % 1)
        self.frontier.put(discovered("http://a.com/"))
        purge = lambda: self.frontier.stub.PurgeURLs(pb.PurgeUrlParams(days=0)).value
        self.assertEqual(purge(), 0)
        time.sleep(1.05)
        self.assertEqual(purge(), 1)

    def test_purge(self):
        purge = lambda **named: self.frontier.stub.PurgeURLs(pb.PurgeUrlParams(**named)).value
        self.frontier.put(*[discovered(f"http://{h}.com/{i}") for h in "ab" for i in range(3)], completed("http://a.com/done"))
        time.sleep(1.05)
        self.assertEqual(purge(days=1), 0)
        self.assertEqual(purge(days=2**32 - 1), 0)
        self.assertEqual(purge(key="a.com", days=0), 4)
        self.assertEqual(purge(days=0, crawlID="nobody"), 0)
        self.assertEqual(purge(days=0), 3)
        self.assertEqual(set(self.queues(include_inactive=True).values), {"a.com", "b.com"})  # queues stay
        stats = self.frontier.stats()
        self.assertEqual((stats.size, stats.counts["completed"], stats.numberOfQueues), (0, 0, 2))
        self.assertEqual(self.frontier.put(discovered("http://a.com/1")), [OK])

    def test_delete_queue(self):
        delete = lambda key: self.frontier.stub.DeleteQueue(pb.QueueWithinCrawlParams(key=key)).value
        self.frontier.put(discovered("http://a.com/1"), completed("http://a.com/2"), discovered("http://b.com/"))
        self.assertEqual((delete("nobody"), delete("a.com"), delete("a.com")), (0, 2, 0))
        self.assertEqual(self.frontier.put(discovered("http://a.com/1")), [OK])
        self.assertEqual(self.frontier.stats().size, 2)

    def test_delete_crawl_touches_no_other_one(self):
        names = ["example", "example.1", "example.10", "DEFAULT", "DEFAULT2", "X", "my_crawl", "my%5Fcrawl", "a-b", "日本", "_", "%"]
        for crawl in names:
            self.frontier.put(discovered("http://my_host.com/1", key="_DEFAULT_", crawl=crawl), completed("http://my_host.com/2", crawl=crawl))
        self.assertEqual(sorted(self.frontier.crawls()), sorted(names))
        for n, crawl in enumerate(sorted(names, key=hash)):
            self.assertEqual(self.frontier.delete_crawl(crawl), 2)
            self.assertEqual(self.frontier.delete_crawl(crawl), 0)
            self.assertEqual(len(self.frontier.crawls()), len(names) - n - 1)
            self.assertEqual(self.frontier.put(discovered("http://new.com/", crawl="Y")), [OK if n == 0 else SKIPPED])
            for other in self.frontier.crawls():
                self.assertEqual(self.frontier.stats(other).size, 1)
            if n == 0:
                names.append("Y")

    def test_names_with_underscores_are_served(self):
        for key, crawl in (("my_host.com", "c"), ("h", "my_crawl"), ("_DEFAULT_", "DEFAULT"), ("a%5Fb", "%"), ("ключ", "краул")):
            self.frontier.put(discovered("u", key=key, crawl=crawl))
            got = self.frontier.get(crawlID=crawl)
            self.assertEqual([(g.key, g.crawlID) for g in got], [(key, crawl)])

    def test_blank_crawls_are_the_default_one(self):
        for n, crawl in enumerate(("", " ", "\t\n", "DEFAULT")):
            self.frontier.put(discovered(f"http://a.com/{n}", crawl=crawl))
            self.assertEqual(self.frontier.stats(crawl).size, n + 1)
        self.assertEqual(self.frontier.crawls(), ["DEFAULT"])
        self.frontier.put(discovered("http://a.com/", crawl=" x "), discovered("http://b.com/", crawl="\u2003"))
        self.assertEqual(self.frontier.crawls(), [" x ", "DEFAULT", "\u2003"])
        self.assertEqual(self.frontier.delete_crawl(" "), 4)

    def test_a_server_whose_crawls_are_deleted_is_empty(self):
        self.frontier.put(discovered("http://a.com/", crawl="one"), discovered("http://a.com/", crawl="two", ID="2"))
        self.assertEqual((self.frontier.delete_crawl("one"), self.frontier.delete_crawl("two")), (1, 1))
        self.assertEqual(self.frontier.crawls(), [])


class Admin(WireTest):
    def explain(self, url, **named):
        reply = self.frontier.admin.Explain(admin_pb.ExplainRequest(url=url, **named))
        return [admin_pb.ExplainReply.Reason.Name(r) for r in reply.reasons], reply

    def test_explain(self):
        self.assertEqual(self.explain("http://a.com/1")[0], ["UNKNOWN_URL"])
        self.assertTrue(self.assert_code(grpc.StatusCode.INVALID_ARGUMENT, self.explain, "http:///"))
        self.frontier.put(discovered("http://a.com/1"), completed("http://a.com/2"), known("http://a.com/3", FUTURE))
        self.assertEqual(self.explain("http://a.com/1")[0], ["SERVABLE"])
        self.assertEqual(self.explain("http://a.com/2")[0], ["COMPLETED"])
        reasons, reply = self.explain("http://a.com/3")
        self.assertEqual((reasons, reply.when, reply.key), (["NOT_DUE"], FUTURE, "a.com"))
        self.frontier.delay(100, key="a.com")
        self.frontier.get(lease=1000)
        reasons, reply = self.explain("http://a.com/1")
        self.assertEqual(set(reasons), {"LEASED", "DELAY"})
        self.assertAlmostEqual(reply.when - reply.now, 1000, delta=5)
        self.frontier.block("a.com", FUTURE)
        self.frontier.stub.SetActive(pb.Active(state=False))
        reasons, reply = self.explain("http://a.com/1")
        self.assertTrue({"INACTIVE", "BLOCKED"} <= set(reasons))
        self.assertFalse(reply.HasField("when"))

    def test_strategy(self):
        for _ in range(2):
            self.frontier.put(*[discovered(f"http://{h}.com/{i}", crawl="s") for h in "ab" for i in range(3)])
        self.frontier.admin.SetStrategy(admin_pb.StrategyRequest(crawl="s", strategy=admin_pb.StrategyRequest.DEPTH_FIRST))
        keys = []
        for _ in range(6):
            got, = self.frontier.get(1, 1, crawlID="s")
            keys.append(got.key)
            self.frontier.put(completed(got.url, crawl="s"))
        self.assertEqual(keys, ["a.com"] * 3 + ["b.com"] * 3)


class Services(WireTest):
    def test_health(self):
        call = self.frontier.channel.unary_unary("/grpc.health.v1.Health/Check", lambda b: b, lambda b: b)
        for service in (b"", b"urlfrontier.URLFrontier"):
            request = b"\x0a" + bytes([len(service)]) + service if service else b""
            self.assertEqual(call(request), b"\x08\x01")  # SERVING

    def test_reflection(self):
        call = self.frontier.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                                   lambda b: b, lambda b: b)
        reply = b"".join(call(iter([b"\x3a\x01*"])))
        for name in (b"urlfrontier.URLFrontier", b"escalona.Admin", b"grpc.health.v1.Health"):
            self.assertIn(name, reply)

    def test_metrics_under_the_names_of_the_reference(self):
        before = self.server.metrics()
        self.frontier.put(discovered("http://a.com/1"), discovered("http://a.com/2"), completed("http://a.com/3"))
        self.frontier.put(discovered("http://a.com/1"))
        self.frontier.put_batch(info("http://b.com/"), info("http://b.com/"))
        self.frontier.get(1, 1)
        after = self.server.metrics()
        grown = {name: after[name] - before.get(name, 0) for name in after}
        wanted = {"frontier_getURLs_calls_total": 1, "frontier_getURLs_total": 1, "frontier_getURLs_latency_seconds_count": 1,
                  "frontier_putURLs_calls_total": 2, "frontier_putDiscovered_calls_total": 1, "frontier_putURLs_total": 6,
                  'frontier_putURLs_discovered_total{discovered="true"}': 5,
                  'frontier_putURLs_discovered_total{discovered="false"}': 1,
                  "frontier_putURLs_ignored_total": 2, "frontier_putURLs_completed_total": 1}
        self.assertEqual({name: grown[name] for name in wanted}, wanted)
        self.assertGreater(grown["frontier_getURLs_latency_seconds_sum"], 0)
        gauges = {"frontier_crawls": 1, "frontier_queues": 2, "frontier_active_queues": 2, 'frontier_urls{state="waiting"}': 2,
                  'frontier_urls{state="leased"}': 1, 'frontier_urls{state="completed"}': 1, "frontier_active": 1}
        self.assertEqual({name: after[name] for name in gauges}, gauges)
        self.assertIn("frontier_store_bytes", after)

    def test_which_calls_of_get_are_counted(self):
        self.frontier.put(discovered("http://a.com/"))
        names = ("frontier_getURLs_calls_total", "frontier_getURLs_latency_seconds_count")
        counts = lambda: [self.server.metrics()[name] for name in names]
        before = counts()
        self.assertEqual(self.frontier.get(key="a.com"), [])  # without a crawl: nothing, but a call
        self.assertEqual(counts(), [count + 1 for count in before])
        self.frontier.stub.SetActive(pb.Active(state=False))
        self.assertEqual(self.frontier.get(), [])
        malformed = self.frontier.channel.unary_stream("/urlfrontier.URLFrontier/GetURLs")
        self.assert_code(grpc.StatusCode.INVALID_ARGUMENT, lambda: list(malformed(b"\xff\xff")))
        self.assertEqual(counts(), [count + 1 for count in before])


if __name__ == "__main__":
    unittest.main()

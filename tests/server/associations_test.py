#!/usr/bin/env python3
"""The association service over HTTP beside a naive model, and what it answers to everything else."""
import contextlib
import gzip
import json
import os
import random
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from association_server import PROGRAM, Model, Server, quote, raw

KEYS = ["shoes", "hats", "a/b c?d=e%", "ключ", "🍺", "é" * 512, "123e4567-e89b-12d3-a456-426614174000",
        "123E4567-E89B-12D3-A456-426614174000", "sixteen bytes!!!", "batch", "import", "\"quoted\\\"", "line\nend", "x,y"]


class Associations(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def serve(self, *options):
        server = Server(self.folder.name + "/data", *options)
        self.addCleanup(server.kill)
        return server

    def check_all(self, client, model, space="default"):
        for key in KEYS:
            self.assertEqual(client.top(key, "?k=1000", space), model.top(key, 1000), key)

    def random_step(self, rng, client, model, space):
        base = f"/ns/{space}"
        key, other = rng.choice(KEYS), rng.choice(KEYS)
        what = rng.random()
        if what < 0.45:
            count = rng.choice([1, 1, 1, 2, 5])
            client.add(key, other, count, space)
            model.add(key, other, count)
        elif what < 0.6:
            items = [(rng.choice(KEYS), rng.choice(KEYS), rng.choice([1, 1, 3])) for _ in range(rng.randrange(12))]
            objects = [{"key": k, "associatedKey": a, "count": n} for k, a, n in items]
            body = json.dumps(objects) if what < 0.53 else "\n".join(
                json.dumps(o, ensure_ascii=what < 0.56) for o in objects)
            answer = client.json("POST", base + "/associations/batch", body)
            self.assertEqual(answer, {"accepted": len(items), "errors": []})
            for item in items:
                model.add(*item)
        elif what < 0.65:
            keys = rng.sample(KEYS, 3)
            client.json("POST", base + "/associations/baskets", {"keys": keys})
            for a in keys:
                for b in keys:
                    if a != b:
                        model.add(a, b)
        elif what < 0.7:
            self.assertEqual(client.ask("DELETE", f"{base}/associations/{quote(key)}")[:2], (200, ""))
            model.delete(key)
        elif what < 0.75:
            self.assertEqual(client.ask("DELETE", f"{base}/associations/{quote(key)}/{quote(other)}")[:2], (200, ""))
            model.delete_pair(key, other)
        elif what < 0.77:
            answer = client.json("DELETE", f"{base}/associations?associatedKey={quote(other)}")
            self.assertEqual(answer, {"lists": model.delete_everywhere(other)})
        elif what < 0.9:
            k, offset, least = rng.randrange(1, 8), rng.randrange(4), rng.randrange(4)
            self.assertEqual(client.top(key, f"?k={k}&offset={offset}&min={least}", space), model.top(key, k, offset, least))
        else:
            ranks = {e[0]: (i + 1, e[1]) for i, e in enumerate(model.lists.get(key, []))}
            status, text, _ = client.ask("GET", f"{base}/associations/{quote(key)}/{quote(other)}")
            if other in ranks:
                rank, count = ranks[other]
                self.assertEqual(json.loads(text), {"associatedKey": other, "frequency": count, "rank": rank})
            else:
                self.assertEqual(status, 404)

    def test_random_requests_and_restarts_agree_with_the_model(self):
        rng = random.Random(7)
        models = {"default": Model(), "other": Model()}
        for options, how in [((), "stop"), (("--assoc-memory", "64KiB"), "stop"), (("--durability", "sync"), "kill"),
                             (("--durability", "none"), "stop")]:
            server = self.serve(*options)
            client = server.client()
            client.ask("PUT", "/ns/other")
            for _ in range(400):
                space = rng.choice(list(models))
                self.random_step(rng, client, models[space], space)
            for space, model in models.items():
                self.check_all(client, model, space)
            server.stop() if how == "stop" else server.kill()
        client = self.serve().client()
        for space, model in models.items():
            self.check_all(client, model, space)
            totals = client.json("GET", f"/ns/{space}/totals")
            self.assertEqual(totals["pairs"], sum(map(len, model.lists.values())))

    def test_the_three_endpoints_of_the_thesis(self):
        client = self.serve().client()
        self.assertEqual(client.ask("POST", "/associations", '{"Key": "u", "AssociatedKey": "c"}')[:2], (204, ""))
        self.assertEqual(client.ask("POST", "/associations", '{"key": "u", "associatedKey": "c"}')[:2], (204, ""))
        self.assertEqual(client.ask("GET", "/associations/u")[:2], (200, '[{"associatedKey":"c","frequency":2}]'))
        self.assertEqual(client.ask("GET", "/associations/unknown")[:2], (200, "[]"))
        self.assertEqual(client.ask("DELETE", "/associations/u")[:2], (200, ""))
        self.assertEqual(client.ask("DELETE", "/associations/u")[:2], (200, ""))
        for i in range(30):
            client.add("many", str(i))
        self.assertEqual(len(client.top("many")), 20)
        self.assertEqual(client.top("many", "?k=3"), [("0", 1), ("1", 1), ("2", 1)])

    def test_what_is_wrong_is_named(self):
        client = self.serve().client()
        long_key = "k" * 1025
        for body, field in [
                ("", "body"), ("nonsense", "body"), ("[]", "body"), ("7", "body"), ("null", "body"), ("{", "body"),
                ('{"key":"a","associatedKey":"b"', "body"), ('{"key":"a","associatedKey":"b"}x', "body"),
                ('{"key":"a\xff","associatedKey":"b"}'.encode("latin-1"), "body"), ("{}", "key"), ('{"key":"a"}', "associatedKey"),
                ('{"associatedKey":"a"}', "key"), ('{"key":1,"associatedKey":"b"}', "key"),
                ('{"key":"a","associatedKey":null}', "associatedKey"), ('{"key":"a","associatedKey":["b"]}', "associatedKey"),
                ('{"key":"","associatedKey":"b"}', "key"), ('{"key":"a","associatedKey":""}', "associatedKey"),
                (json.dumps({"key": long_key, "associatedKey": "b"}), "key"),
                (json.dumps({"key": "a", "associatedKey": long_key}), "associatedKey"),
                (json.dumps({"key": "a", "associatedKey": "b", "count": 0}), "count"),
                ('{"key":"a","associatedKey":"b","count":-1}', "count"), ('{"key":"a","associatedKey":"b","count":1.5}', "count"),
                ('{"key":"a","associatedKey":"b","count":"1"}', "count"),
                ('{"key":"a","associatedKey":"b","count":18446744073709551616}', "count"),
                ('{"key":"a","associatedKey":"b","eventId":7}', "eventId"), ('{"key":"a","associatedKey":"b","eventId":""}', "eventId"),
                ("[" * 100000, "body")]:
            status, _, got = client.error("POST", "/associations", body)
            self.assertIn(status, (400, 413), body)
            if status == 400:
                self.assertEqual(got, field, body)
            self.assertEqual(client.ask("GET", "/totals")[1], '{"associators":0,"pairs":0,"count":0}')
        for path, field in [("?k=0", "k"), ("?k=-1", "k"), ("?k=x", "k"), ("?k=", "k"), ("?k=1.5", "k"), ("?offset=-1", "offset"),
                            ("?min=x", "min"), ("?k=99999999999999999999", "k")]:
            self.assertEqual(client.error("GET", "/associations/a" + path), (400, "invalid_argument", field))
        for method, path, field in [("GET", "/associations/", "key"), ("GET", "/associations/a/", "associatedKey"),
                                    ("GET", "/associations/" + long_key, "key"), ("DELETE", "/associations/%FF", "key"),
                                    ("GET", "/associations/%zz", "path"), ("DELETE", "/associations", "associatedKey"),
                                    ("GET", "/associations?format=xml", "format"),
                                    ("POST", "/associations/import?mode=x", "mode")]:
            self.assertEqual(client.error(method, path), (400, "invalid_argument", field), path)
        self.assertEqual(client.error("GET", "/ns/none/associations/a"), (404, "not_found", "namespace"))
        self.assertEqual(client.error("PATCH", "/associations/a")[0], 405)

    def test_errors_say_what_would_be_right(self):
        client = self.serve().client()
        message = lambda *request: json.loads(client.ask(*request)[1])["message"]
        for query, least, most in [("k", 1, 2**63 - 1), ("offset", 0, 2**63 - 1), ("min", 0, 2**64 - 1)]:
            for value in (most + 1, "x", least - 1):
                self.assertEqual(message("GET", f"/associations/a?{query}={value}"), f"{query} must be a whole number from {least} to {most}")
        quota = "must be a whole number from 0 (no quota) to 18446744073709551615"
        for setting, values, right in [
                ("k", (-1, 0, 1000001, 2**64, "x", 1.5), "must be a whole number from 1 to 1000000"),
                ("maxPairs", (-1, 2**64, None), quota), ("writesPerSecond", (-1, 2**64, True), quota),
                ("eventWindow", (-1, 10**8 + 1, 2**64), "must be a whole number from 0 to 100000000"),
                ("halfLifeSeconds", (-1, 0.5, 1e11, 3153600001, "x"), "must be 0 (none), or a number from 1 to 3153600000 (100 years)"),
                ("saturate32Bit", (1, None), "must be true or false"), ("half_life", (1,), "is no setting of a namespace")]:
            for value in values:
                self.assertEqual(message("PUT", "/ns/x", {setting: value}), f"{setting} {right}")
        for body, words in [(b'{"key":"a\xff","associatedKey":"b"}', "is not UTF-8, as JSON must be, at byte 10"),
                            (b'{"key":x}', "is not JSON: syntax error at byte 8"), (b'{"key":"a"', "is not JSON: incomplete JSON at byte 11"),
                            (b'{"key":"a"}x', "is not JSON: extra data at byte 12"), (b"", "is empty, and should be JSON")]:
            self.assertEqual(message("POST", "/associations", body), "body " + words)
            if body:
                self.assertEqual(message("PUT", "/ns/x", body), "body " + words)
                self.assertEqual(client.json("POST", "/associations/batch", body)["errors"], [{"index": 0, "message": words}])

    def test_a_member_that_is_there_twice_is_refused_and_not_chosen(self):
        client = self.serve().client()
        wrong = ['{"key":"a","key":"b","associatedKey":"x"}', '{"key":"a","Key":"b","associatedKey":"x"}', '{"key":"a","k\\u0065y":"b","associatedKey":"x"}',
                 '{"key":"a","associatedKey":"x","count":1,"frequency":2}', '{"key":"a","associatedKey":"x","more":{"y":1,"y":2}}']
        good = '{"key":"a","associatedKey":"x","more":[{"key":1},{"key":{"key":2}}]}'
        for item in wrong:
            self.assertEqual(client.error("POST", "/associations", item)[0], 400, item)
        answer = client.json("POST", "/associations/batch", "\n".join([*wrong, good]))
        self.assertEqual((answer["accepted"], [e["index"] for e in answer["errors"]]), (1, list(range(len(wrong)))))
        self.assertEqual(answer["errors"][0]["message"], "has 'key' twice in one object")
        for path, body in [("/associations/batch", f"[{good},{wrong[0]}]"), ("/associations/baskets", '{"keys":["a","b"],"keys":["c","d"]}')]:
            status, text, _ = client.ask("POST", path, body)
            self.assertEqual((status, json.loads(text)["field"]), (400, "body"), text)
        self.assertEqual(client.error("PUT", "/ns/x", '{"k":1,"k":2}'), (400, "invalid_argument", "body"))
        self.assertEqual(client.json("GET", "/totals"), {"associators": 1, "pairs": 1, "count": 1})

    def test_batches_name_wrong_items_and_count_the_others(self):
        client = self.serve().client()
        wrong = [{"key": "a"}, 7, {"key": "", "associatedKey": "b"}, {"key": "a", "associatedKey": "b", "count": 0}]
        items = [{"key": "a", "associatedKey": "x"}, *wrong, {"key": "a", "associatedKey": "y\u00e9\n", "count": 2}]
        fields = [(1, "associatedKey"), (2, ""), (3, "key"), (4, "count")]
        for body in (json.dumps(items), "\n".join(map(json.dumps, items)), "\r\n".join(map(json.dumps, items)) + "\r\n\r\n"):
            answer = client.json("POST", "/associations/batch", body)
            self.assertEqual(answer["accepted"], 2)
            self.assertEqual([(e["index"], e.get("field", "")) for e in answer["errors"]], fields)
        self.assertEqual(client.top("a"), [("y\u00e9\n", 6), ("x", 3)])
        self.assertEqual(client.error("POST", "/associations/batch", json.dumps(items)[:-1]), (400, "invalid_argument", "body"))
        self.assertEqual(client.top("a"), [("y\u00e9\n", 6), ("x", 3)])
        answer = client.json("POST", "/associations/batch", "x\n" * 1500)
        self.assertEqual((len(answer["errors"]), answer["moreErrors"]), (1000, 500))
        answer = client.json("POST", "/associations/batch", "y" * 100000 + '\n{"key": "long", "associatedKey": "line"}')
        self.assertEqual((answer["accepted"], [e["index"] for e in answer["errors"]]), (1, [0]))
        blanks = '{"key": "long", "associatedKey": "line"' + " " * 40000 + "}\n"  # refused, however it is cut
        answer = client.json("POST", "/associations/batch", blanks + '{"key": "long", "associatedKey": "line"}')
        self.assertEqual((answer["accepted"], [e["index"] for e in answer["errors"]]), (1, [0]))
        answer = client.json("POST", "/associations/batch", '\r\r\n\r \n{"key": "long"}\n\r\t\r\n\r\n{}')  # blank lines are no items
        self.assertEqual([e["index"] for e in answer["errors"]], [0, 1])
        answer = client.json("POST", "/associations/batch", 'a,"b ""c"", d"\na,e,3\na\n"a,b\na,f,0\n', {"Content-Type": "text/csv"})
        self.assertEqual(answer["accepted"], 2)
        status, _, _ = client.error("POST", "/associations/batch", b"[" + b" " * (65 << 20))
        self.assertEqual(status, 413)

    def test_baskets_count_all_ordered_pairs(self):
        client = self.serve().client()
        body = [{"keys": ["a", "b", "c", "a"], "count": 2}, {"keys": ["a"]}, {"keys": "a"}, {"keys": [str(i) for i in range(257)]},
                {"keys": ["a", "b"], "eventId": "e"}, {"keys": ["a", "b"], "eventId": "e"}]
        answer = client.json("POST", "/associations/baskets", body)
        self.assertEqual((answer["accepted"], answer["duplicates"]), (8, 1))
        self.assertEqual([e["index"] for e in answer["errors"]], [1, 2, 3])
        self.assertEqual(client.top("a"), [("b", 3), ("c", 2)])
        self.assertEqual(client.error("POST", "/associations/baskets", "x"), (400, "invalid_argument", "body"))

    def test_a_quote_within_a_value_of_csv_is_one(self):
        client = self.serve().client()
        rows = 'key,associatedKey2,4\na,5" nail,3\na,6"" nail,2\nb,"x\n""y,""",7\n"",z\na,w\n'
        answer = client.json("POST", "/associations/batch", rows, {"Content-Type": "Text/CSV; charset=utf-8"})
        self.assertEqual((answer["accepted"], [e["index"] for e in answer["errors"]]), (5, [4]))
        self.assertEqual(client.top("key"), [("associatedKey2", 4)])
        self.assertEqual(client.top("a"), [('5" nail', 3), ('6"" nail', 2), ("w", 1)])
        self.assertEqual(client.top("b"), [('x\n"y,"', 7)])

    def test_a_header_of_csv_says_what_the_columns_are(self):
        client = self.serve().client()
        csv = {"Content-Type": "text/csv"}
        space = lambda i: f"/ns/csv{i}/associations"
        headers = [("key,associatedKey", "a,b"), ("Key,AssociatedKey", "a,b"), ('"key","associatedKey"', "a,b"),
                   ('"key","associatedKey","count"', "a,b,1"), ("\ufeffkey,associatedKey", "a,b"), ("\ufeff", "a,b"),
                   ('\ufeff"key","associatedKey"', "a,b"), (" key ,\tassociatedKey ", "a,b"), ('key, "associatedKey"', "a,b"),
                   ("associatedKey,key", "b,a"), ("KEY,ASSOCIATEDKEY,COUNT", "a,b,1"), ("key,associatedKey,frequency", "a,b"),
                   ("count,eventId,associatedKey,key", "1,e,b,a"), ("key,associatedKey,count,eventId", "a,b,1,e")]
        for i, (header, row) in enumerate(headers):
            client.json("PUT", f"/ns/csv{i}", status=201)
            self.assertEqual(client.json("POST", space(i) + "/batch", f"{header}\r\n{row}\r\n", csv), {"accepted": 1, "errors": []}, header)
            self.assertEqual(client.ask("GET", space(i))[1], '{"key":"a","associatedKey":"b","frequency":1}\n', header)
        known = client.json("POST", space(i) + "/batch", "associatedKey,key,eventId\nc,a,e\nc,a,f\nc,a\n", csv)
        self.assertEqual((known["accepted"], known["duplicates"], known["errors"]), (2, 1, []))
        client.json("PUT", "/ns/wrong", status=201)
        for header, words in [("key,associatedKey,weight", "an unknown column: 'weight'"), ("key,associatedKey,", "an unknown column: ''"),
                              ("key,associatedKey,Key", "a column twice: 'Key'"), ("key,count,associatedKey,frequency", "a column twice: 'frequency'")]:
            for path in ("batch", "import?mode=replace"):
                for end in ("\na,b,1\n", ""):
                    status, text, _ = client.ask("POST", "/ns/wrong/associations/" + path, header + end, csv)
                    self.assertEqual((status, json.loads(text)["field"]), (400, "header"), text)
                    self.assertIn("header names " + words, text)
        rows = "q,w,\na,b,1,e\nkey\nq,w,x\n,w\n"
        answer = client.json("POST", "/ns/wrong/associations/batch", rows, csv)
        self.assertEqual([(e["index"], e.get("field", "")) for e in answer["errors"]],
                         [(0, "count"), (1, ""), (2, "associatedKey"), (3, "count"), (4, "key")])
        self.assertEqual(answer["errors"][1]["message"], "has more values than there are columns, which are key,associatedKey,count")
        self.assertEqual(client.json("GET", "/ns/wrong/totals")["pairs"], 0)

    def test_a_basket_there_is_no_room_for_may_be_sent_again(self):
        client = self.serve().client()
        client.json("PUT", "/ns/small", {"maxPairs": 2}, status=201)
        client.add("a", "x", 1, "small")
        client.add("a", "y", 1, "small")
        basket = {"keys": ["p", "q"], "eventId": "e"}
        answer = client.json("POST", "/ns/small/associations/baskets", [{"keys": []}, basket])
        self.assertEqual((answer["accepted"], [e["index"] for e in answer["errors"]]), (0, [0, 1]))
        client.ask("DELETE", "/ns/small/associations/a")
        self.assertEqual(client.json("POST", "/ns/small/associations/baskets", basket), {"accepted": 2, "errors": []})
        answer = client.json("POST", "/ns/small/associations/baskets", basket)
        self.assertEqual((answer["accepted"], answer["duplicates"]), (0, 1))

    def test_a_known_event_counts_once(self):
        client = self.serve().client()
        event = {"key": "a", "associatedKey": "b", "eventId": "e1"}
        for _ in range(3):
            self.assertEqual(client.ask("POST", "/associations", event)[0], 204)
        answer = client.json("POST", "/associations/batch", [event, {**event, "eventId": "e2"}])
        self.assertEqual((answer["accepted"], answer["duplicates"]), (1, 1))
        self.assertEqual(client.top("a"), [("b", 2)])

    def test_events_that_are_sent_again_after_a_crash_count_once(self):
        server = self.serve("--durability", "sync")
        events = [{"key": "a", "associatedKey": "b", "eventId": f"e{i}"} for i in range(20)]
        basket = {"keys": ["p", "q", "r"], "eventId": "basket"}
        def send_all(client):
            duplicates = client.json("POST", "/associations/batch", events).get("duplicates", 0)
            return duplicates + client.json("POST", "/associations/baskets", basket).get("duplicates", 0)
        self.assertEqual(send_all(server.client()), 0)
        server.kill()  # the ids are in the log
        server = self.serve("--durability", "sync")
        self.assertEqual(send_all(server.client()), 21)
        server.stop()  # and at a stop they go to rows of their own
        client = self.serve().client()
        self.assertEqual(send_all(client), 21)
        self.assertEqual(client.ask("POST", "/associations", events[0])[0], 204)
        self.assertEqual((client.top("a"), client.top("p")), ([("b", 20)], [("q", 1), ("r", 1)]))

    def test_another_event_window_keeps_the_newest_ids(self):
        client = self.serve().client()
        count = lambda event: client.json("POST", "/ns/events/associations/batch", [{"key": "a", "associatedKey": "b", "eventId": event}])["accepted"]
        client.json("PUT", "/ns/events", {"eventWindow": 2}, status=201)
        self.assertEqual([count("1"), count("2"), count("3")], [1, 1, 1])
        client.json("PUT", "/ns/events", {"eventWindow": 1000})
        self.assertEqual([count("2"), count("3"), count("4")], [0, 0, 1])
        client.json("PUT", "/ns/events", {"k": 5})
        client.json("PUT", "/ns/events", {"eventWindow": 1})
        self.assertEqual([count("4"), count("3")], [0, 1])

    def test_an_item_that_is_refused_takes_its_event_id_from_nobody(self):
        client = self.serve().client()
        client.json("PUT", "/ns/full", {"maxPairs": 1}, status=201)
        client.add("a", "x", 1, "full")
        items = [("b", "1"), ("x", "1"), ("x", "1"), ("c", "2"), ("d", "2"), ("x", "3"), ("x", "3")]
        items = [{"key": "a", "associatedKey": key, "eventId": event} for key, event in items]
        answer = client.json("POST", "/ns/full/associations/batch", items)
        self.assertEqual((answer["accepted"], answer["duplicates"], [e["index"] for e in answer["errors"]]), (2, 2, [0, 3, 4]))
        self.assertEqual(client.top("a", "", "full"), [("x", 3)])

    def test_namespaces_are_separate_limited_and_durable(self):
        server = self.serve()
        client = server.client()
        made = client.json("PUT", "/ns/shop", {"maxPairs": 2, "k": 1, "saturate32Bit": True}, status=201)
        self.assertEqual(made["settings"]["maxPairs"], 2)
        client.add("u", "a", 2**32 + 5, "shop")
        client.add("u", "b", 1, "shop")
        self.assertEqual(client.top("u", "?k=5", "shop"), [("a", 2**32 - 1), ("b", 1)])
        self.assertEqual(len(client.top("u", "", "shop")), 1)
        self.assertEqual(client.top("u"), [])
        status, text, headers = client.ask("POST", "/ns/shop/associations", {"key": "u", "associatedKey": "c"})
        self.assertEqual((status, json.loads(text)["code"]), (429, "resource_exhausted"))
        self.assertGreater(int(headers["Retry-After"]), 0)
        client.add("u", "b", 1, "shop")  # what is there goes on counting
        answer = client.json("POST", "/ns/shop/associations/batch",
                             [{"key": "u", "associatedKey": "c"}, {"key": "u", "associatedKey": "b"}])
        self.assertEqual((answer["accepted"], answer["errors"][0]["index"]), (1, 0))
        for body, field in [({"k": 0}, "k"), ({"k": "x"}, "k"), ({"eventWindow": 10**9}, "eventWindow"), ({"nonsense": 1}, "nonsense"), ("[]", "body"),
                            ({"halfLifeSeconds": -1}, "halfLifeSeconds"), ({"halfLifeSeconds": 0.5}, "halfLifeSeconds")]:
            self.assertEqual(client.error("PUT", "/ns/shop", body), (400, "invalid_argument", field))
        for field, value in (("saturate32Bit", False), ("internIds", True)):
            self.assertEqual(client.error("PUT", "/ns/shop", {field: value}), (409, "failed_precondition", field))
        self.assertEqual(client.error("PUT", "/ns/a%20b")[0], 400)
        usage = client.json("GET", "/ns/shop")["usage"]
        self.assertEqual((usage["pairs"], usage["writes"], usage["refused"]), (2, 4, 2))
        server.stop()
        server = self.serve()
        client = server.client()
        again = client.json("GET", "/ns/shop")
        self.assertEqual(again["settings"], made["settings"])
        self.assertEqual((again["usage"]["pairs"], again["usage"]["writes"]), (2, 4))
        self.assertEqual([n["namespace"] for n in client.json("GET", "/ns")], ["default", "shop"])
        self.assertEqual(client.ask("DELETE", "/ns/shop")[0], 200)
        self.assertEqual(client.error("DELETE", "/ns/shop")[0], 404)
        self.assertEqual(client.error("DELETE", "/ns/default")[0], 409)
        client.ask("PUT", "/ns/shop")
        self.assertEqual(client.top("u", "", "shop"), [])
        server.kill()
        self.assertEqual(self.serve().client().top("u", "", "shop"), [])

    def test_settings_that_are_put_at_the_same_time_are_all_kept(self):
        server = self.serve()
        server.client().json("PUT", "/ns/busy", status=201)
        names = ("k", "maxPairs", "writesPerSecond", "eventWindow")

        def put(name):
            client = server.client()
            for value in range(1, 51):
                client.json("PUT", "/ns/busy", {name: value})

        threads = [threading.Thread(target=put, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        settings = server.client().json("GET", "/ns/busy")["settings"]
        self.assertEqual([settings[name] for name in names], [50] * 4)

    def test_a_namespace_is_dropped_at_once_whoever_stalls_in_it(self):
        server = self.serve()
        client = server.client()
        line = b'{"key":"a","associatedKey":"b"}\n'
        for path in ("batch", "import?mode=add", "import?mode=replace"):
            client.json("PUT", "/ns/gone", status=201)
            with contextlib.closing(socket.create_connection(("127.0.0.1", server.port), timeout=20)) as upload:
                upload.sendall(b"POST /ns/gone/associations/%s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n" % path.encode())
                self.assertTrue(upload.recv(4096).startswith(b"HTTP/1.1 100 "))  # it is under way
                upload.sendall(line)
                started = time.monotonic()
                self.assertEqual(client.ask("DELETE", "/ns/gone")[0], 200)
                self.assertLess(time.monotonic() - started, 10)
                upload.sendall(line)
                answer = upload.recv(65536)
                self.assertTrue(answer.startswith(b"HTTP/1.1 404 "), answer)
                self.assertIn(b"the namespace was dropped meanwhile", answer)

    def test_a_namespace_is_dropped_at_once_whoever_does_not_read_its_export(self):
        server = self.serve()
        client = server.client()
        client.json("PUT", "/ns/gone", status=201)
        rows = "".join(f"key-{i % 100},{i:01000}\n" for i in range(30000))
        client.json("POST", "/ns/gone/associations/batch", rows, {"Content-Type": "text/csv"})
        with contextlib.closing(socket.socket()) as export:
            export.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            export.connect(("127.0.0.1", server.port))
            export.sendall(b"GET /ns/gone/associations HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertTrue(export.recv(100).startswith(b"HTTP/1.1 200 "))
            time.sleep(1)  # until the buffers between are full
            started = time.monotonic()
            self.assertEqual(client.ask("DELETE", "/ns/gone")[0], 200)
            self.assertLess(time.monotonic() - started, 10)
        self.assertEqual(client.json("GET", "/health"), {"status": "ok"})

    def test_too_many_writes_a_second_are_told_when_to_come_back(self):
        client = self.serve().client()
        client.json("PUT", "/ns/slow", {"writesPerSecond": 5}, status=201)
        statuses = [client.ask("POST", "/ns/slow/associations", {"key": "a", "associatedKey": "b"})[0] for _ in range(20)]
        self.assertEqual(statuses[:5], [204] * 5)
        self.assertIn(429, statuses)
        # A large batch is let through once and then owed.
        client.json("PUT", "/ns/slow", {"writesPerSecond": 1000})
        items = [{"key": "a", "associatedKey": "b"}] * 20000
        self.assertEqual(client.json("POST", "/ns/slow/associations/batch", items)["accepted"], 20000)
        status, _, headers = client.ask("POST", "/ns/slow/associations", {"key": "a", "associatedKey": "b"})
        self.assertEqual(status, 429)
        self.assertGreater(int(headers["Retry-After"]), 10)

    def test_what_streams_refuse_for_a_quota_is_counted(self):
        client = self.serve().client()
        refused = lambda: client.json("GET", "/ns/small")["usage"]["refused"]
        client.json("PUT", "/ns/small", {"maxPairs": 2}, status=201)
        rows = {"Content-Type": "text/csv"}
        client.json("POST", "/ns/small/associations/batch", "a,x\na,y\nb,x\nb,y\nwrong\n", rows)
        self.assertEqual(refused(), 2)
        client.json("POST", "/ns/small/associations/import?mode=replace", "c,x,3\nc,y,2\nc,z,1\n", rows)
        self.assertEqual(refused(), 5)
        client.json("PUT", "/ns/small", {"maxPairs": 0, "writesPerSecond": 1})
        status, text, headers = client.ask("POST", "/ns/small/associations/batch", "key,associatedKey\n" + "a,x\n" * 100000, rows)
        answer = json.loads(text)
        self.assertEqual((status, answer["next"], answer["accepted"], answer["errors"]), (429, 4096, 4096, []))
        self.assertEqual(answer["message"], "the namespace may make 1 writes a second; the first 4096 items were looked at, and 4096 of them counted")
        self.assertGreater(int(headers["Retry-After"]), 4000)
        self.assertEqual(refused(), 6)
        for path in ("batch", "import?mode=replace"):
            self.assertEqual(client.ask("POST", "/ns/small/associations/" + path, "a,x\n", rows)[0], 429)
        self.assertEqual(refused(), 8)
        client.json("PUT", "/ns/small", {"k": 7})  # pays nothing
        self.assertEqual(client.ask("POST", "/ns/small/associations", {"key": "a", "associatedKey": "x"})[0], 429)

    def test_the_rate_of_a_namespace_limits_nobody_who_has_the_folder(self):
        server = self.serve()
        server.client().json("PUT", "/ns/default", {"writesPerSecond": 1})
        server.stop()
        done = subprocess.run([PROGRAM, "assoc", "import", "--data", server.data, "--format", "csv"], input="a,x\n" * 10000,
                              capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("10000 associations imported\n", ""))
        self.assertEqual(self.serve().client().json("GET", "/ns/default")["settings"]["writesPerSecond"], 1)

    def test_counts_fade_by_half(self):
        client = self.serve().client()
        client.json("PUT", "/ns/fading", {"halfLifeSeconds": 1}, status=201)
        client.add("a", "b", 2**40, "fading")
        before = client.top("a", "", "fading")[0][1]
        for _ in range(200000):
            now = client.top("a", "", "fading")[0][1]
            if now < before:
                break
        self.assertEqual(2**40 % now, 0)
        self.assertIn(2**40 // now, (2, 4, 8))

    def test_an_export_imported_gives_the_same_lists(self):
        server = self.serve()
        client = server.client()
        rng = random.Random(3)
        model = Model()
        for _ in range(600):
            key, other = rng.choice(KEYS), rng.choice(KEYS)
            client.add(key, other)
            model.add(key, other)
        for space, form in (("n", "ndjson"), ("c", "csv")):
            text = client.ask("GET", f"/associations?format={form}")[1]
            self.assertEqual(len(text), len(client.ask("GET", f"/associations?format={form}")[1]))
            client.ask("PUT", f"/ns/{space}")
            answer = client.json("POST", f"/ns/{space}/associations/import?mode=replace&format={form}", text)
            self.assertEqual(answer, {"accepted": sum(map(len, model.lists.values())), "errors": []})
            self.check_all(client, model, space)
            # Added once more, everything counts double.
            client.json("POST", f"/ns/{space}/associations/import?format={form}", text)
            self.assertEqual(dict(client.top("shoes", "?k=99", space)), {k: 2 * n for k, n in model.top("shoes", 99)})
            client.json("POST", f"/ns/{space}/associations/import?mode=replace&format={form}", text)
        server.kill()  # the log says it as well
        client = self.serve().client()
        answer = client.json("POST", "/associations/import?mode=replace", '{"key":"a","associatedKey":"b","count":1}\n'
                             '{"key":"a","associatedKey":"c","count":2}\n{"key":"d","associatedKey":"b"}')
        self.assertEqual((answer["accepted"], [e["index"] for e in answer["errors"]]), (1, [0, 1]))
        for array in ('[{"key":"a","associatedKey":"b"}]', ' \n\t[\n{"key":"a","associatedKey":"b"}\n]\n', "[]"):
            status, text, _ = client.ask("POST", "/associations/import?mode=replace", array)
            self.assertEqual((status, json.loads(text)["field"]), (400, "body"), text)
            self.assertIn("mode=replace takes one object per line, or CSV", text)

    def test_a_list_that_cannot_be_replaced_is_refused_as_a_whole_and_the_wrong_line_is_named(self):
        client = self.serve().client()
        client.json("PUT", "/ns/few", {"maxPairs": 5, "saturate32Bit": True}, status=201)
        replace = lambda rows: client.json("POST", "/ns/few/associations/import?mode=replace", rows, {"Content-Type": "text/csv"})
        other = lambda wrong: ("", f"is of the list of item {wrong}, which is refused as a whole")
        rising = ("count", "must not be greater than that of the line before, 1: counts fall within a list")
        for rows, accepted, errors in [
                ("a,x,1\na,y,5\n", 0, [(0, *other(1)), (1, *rising)]),
                ("b,x,2\nb,y,2\na,x,3\na,y,1\na,z,2\nc,x,9\n", 3, [(2, *other(4)), (3, *other(4)), (4, *rising)]),
                ("a,x,3\n,wrong\na,x,2\n", 0, [(1, "key", "must not be empty"), (0, *other(2)), (2, "associatedKey", "is in the list twice")]),
                ("d,x,1\nd,y,1\nd,z,1\n", 0, [(i, "", "the namespace is full: it may have 5 pairs") for i in range(3)])]:
            answer = replace(rows)
            got = [(e["index"], e.get("field", ""), e["message"]) for e in answer["errors"]]
            self.assertEqual((answer["accepted"], got), (accepted, errors), rows)
        answer = replace(f"c,x,{2**32}\nc,y,7\n")
        self.assertEqual([(e["index"], e.get("field", "")) for e in answer["errors"]], [(0, "count"), (1, "")])
        self.assertIn("4294967295", answer["errors"][0]["message"])

    def test_the_command_line_works_on_a_server_and_on_a_folder(self):
        def run(*arguments, status=0, text=None):
            done = subprocess.run([PROGRAM, "assoc", *arguments], input=text, capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stderr)
            return done.stdout if status == 0 else done.stderr

        data = self.folder.name + "/data"
        server = self.serve()
        at = ("--server", f"http://127.0.0.1:{server.port}/")
        run("add", *at, "user/7", "shoes")
        run("add", *at, "user/7", "hats", "--count", "3")
        self.assertEqual(run("top", *at, "user/7"), "3\thats\n1\tshoes\n")
        self.assertEqual(run("top", *at, "user/7", "-k", "1", "--offset", "1"), "1\tshoes\n")
        self.assertIn("pairs            2\n", run("stats", *at))
        client = server.client()
        client.json("PUT", "/ns/one", {"k": 1}, status=201)
        client.add("u", "a\0b", 2, "one")
        client.add("u", "c", 1, "one")
        self.assertEqual(run("top", *at, "--namespace", "one", "u"), "2\ta\0b\n")
        self.assertEqual(run("top", *at, "--namespace", "one", "u", "-k", "5"), "2\ta\0b\n1\tc\n")
        self.assertIn("in use by another process", run("stats", "--data", data, status=2))
        self.assertIn("key", run("add", *at, "", "x", status=2))
        exported = self.folder.name + "/export.csv"
        run("export", *at, exported)
        server.stop()
        refused = run("stats", *at, status=2)
        self.assertIn(f"cannot connect (127.0.0.1:{server.port}): Connection refused; is the server running", refused)
        self.assertIn("HTTP on 127.0.0.1:8080 unless its --http says otherwise; --server HOST:PORT names another", refused)
        self.assertEqual(run("top", "--data", data, "user/7"), "3\thats\n1\tshoes\n")
        self.assertEqual(run("import", "--data", data, exported), "2 associations imported\n")
        self.assertEqual(run("top", "--data", data, "user/7"), "6\thats\n2\tshoes\n")
        run("import", "--data", data, "--replace", exported)
        self.assertEqual(run("export", "--data", data, "--format", "csv"), open(exported).read())
        self.assertIn("item 1: associatedKey is missing", run("import", "--data", data, status=1, text='{"key": "a"}'))
        self.assertIn("no folder", run("stats", "--data", data + "x", status=2))
        self.assertIn("the folder has no namespace 'nope'; it has default, one\n", run("top", "--data", data, "--namespace", "nope", "u", status=2))
        self.assertIn("/dev/full: cannot be written: No space left on device; free some space or choose another place\n",
                      run("export", "--data", data, "/dev/full", status=2))
        self.assertIn("none.csv: cannot be opened: No such file", run("import", "--data", data, "none.csv", status=2))

    def test_the_command_line_reads_and_writes_gzip(self):
        def run(*arguments, text=None):
            return subprocess.run([PROGRAM, "assoc", *arguments], input=text, capture_output=True)

        server = self.serve()
        at = ("--server", f"127.0.0.1:{server.port}")
        rows = "".join(f"k{i % 100},a{i},{i + 1}\n" for i in range(30000)).encode()
        done = run("import", *at, "--format", "csv", text=gzip.compress(rows[:5]) + gzip.compress(rows[5:]))
        self.assertEqual((done.returncode, done.stdout), (0, b"30000 associations imported\n"), done.stderr)
        for name in ("export.csv", "export.ndjson"):
            plain, packed = f"{self.folder.name}/{name}", f"{self.folder.name}/{name}.gz"
            for file in (plain, packed):
                self.assertEqual(run("export", *at, file).returncode, 0)
            with open(plain, "rb") as file, gzip.open(packed) as unpacked:
                self.assertEqual(file.read(), unpacked.read())
            server.client().ask("DELETE", "/associations/k0")
            self.assertEqual(run("import", *at, "--replace", packed).stdout, b"30000 associations imported\n")
            self.assertEqual(run("export", *at, "--format", name[7:]).stdout, open(plain, "rb").read())
        with open(packed, "r+b") as file:
            file.truncate(1000)
        done = run("import", *at, "--replace", packed)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{packed}: the compressed file ends too early".encode(), done.stderr)

    def test_the_load_generator_counts_every_pair_as_often_as_told(self):
        server = self.serve()
        for batch in ("1", "7"):
            done = subprocess.run([PROGRAM, "bench", "assoc", "--server", f"127.0.0.1:{server.port}", "--associators", "10", "--keys",
                                   "9", "--repetitions", "3", "--batch", batch, "--reads", "50"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("writes            270", done.stdout)
        self.assertEqual(server.client().json("GET", "/totals"), {"associators": 10, "pairs": 90, "count": 540})

    def test_the_stats_of_a_folder_have_what_a_crash_left_in_the_log(self):
        server = self.serve("--durability", "sync")
        server.client().add("a", "b", 3)
        server.kill()
        done = subprocess.run([PROGRAM, "assoc", "stats", "--data", server.data], capture_output=True, text=True)
        self.assertIn("pairs            1\ncount            3\n", done.stdout)

    def test_what_could_not_be_written_is_not_said_to_be_imported(self):
        data = self.folder.name + "/data"
        os.mkdir(data)
        rows = "".join(f"key-{i},associated-{i},{i + 1}\n" for i in range(30000))

        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))

        done = subprocess.run([PROGRAM, "assoc", "import", "--data", data, "--format", "csv"], input=rows, capture_output=True,
                              text=True, preexec_fn=little_room)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("escalona assoc import: ", done.stderr)

    def test_nonsense_and_broken_requests_leave_the_server_serving(self):
        server = self.serve()
        rng = random.Random(1)
        good = b'POST /associations HTTP/1.1\r\nHost: x\r\nContent-Length: 32\r\n\r\n{"key": "a","associatedKey":"b"}'
        for i in range(300):
            broken = bytearray(good)
            for _ in range(rng.randrange(1, 6)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            if i % 3 == 0:
                broken = broken[:rng.randrange(len(broken))]
            answer = raw(server.port, bytes(broken), half_close=True)
            self.assertTrue(answer == b"" or answer.startswith(b"HTTP/1.1 "), answer)
        self.assertEqual(server.client().json("GET", "/health"), {"status": "ok"})


if __name__ == "__main__":
    unittest.main(warnings="ignore")

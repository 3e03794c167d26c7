#!/usr/bin/env python3
"""escalona plan, as a user meets it: columns, units, errors, files, threads."""
import csv
import gzip
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

ESCALONA = os.environ["ESCALONA"]


def run(*args, stdin=""):
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    done = subprocess.run([ESCALONA, *args], input=data, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class PlanTest(unittest.TestCase):
    def plan(self, text, *args):
        code, out, err = run("plan", "-", *args, stdin=text)
        self.assertEqual(code, 0, err)
        self.assertEqual(err, "")
        return rows(out)

    def refuse(self, text, *args):
        code, out, err = run("plan", "-", *args, stdin=text)
        self.assertEqual(code, 2, out)
        self.assertEqual(out, "")
        return err

    def near(self, got, expected, relative=1e-9):
        self.assertTrue(math.isclose(float(got), expected, rel_tol=relative), f"{got} is not {expected}")

    def test_specified_values(self):
        pages = "page,server,change_rate,min_interval\n"
        pages += "a1,A,0.5,\na2,A,1,1.6666666666666667d\na3,A,2,\nb1,B,.1,144min\nb2,B,3e0,\n"
        got = self.plan(pages, "--capacity", "2/day")
        expected = (0.3324081691786865, 0.2675918308213135, 0, 0.398571412416145, 1.001428587583855)
        for row, f in zip(got, expected):
            self.near(row["frequency"], f)
            if f:
                self.near(row["interval"], 1 / f)
                rate = float(row["change_rate"])
                self.near(row["freshness"], f / rate * (1 - math.exp(-rate / f)))
        self.assertEqual((got[2]["interval"], got[2]["freshness"]), ("inf", "0"))

    def test_columns_in_any_order_and_others_copied(self):
        got = self.plan("note,weight,change_rate,url\n\"x, y\",2,1,http://h/a\n,,2,http://h/b\n", "-c", "1/day")
        self.assertEqual(list(got[0]), ["note", "weight", "change_rate", "url", "frequency", "interval", "freshness"])
        self.assertEqual(got[0]["note"], "x, y")
        default = self.plan("url,change_rate,weight\nhttp://h/a,1,2\nhttp://h/b,2,1\n", "-c", "1/day")
        self.assertEqual([r["frequency"] for r in got], [r["frequency"] for r in default])

    def test_units_mean_the_same(self):
        expected = None
        for capacity, politeness, rate in (("24/day", "30s", "24"), ("1/h", "0.5min", "1/h"), ("0.016666666666666666/min", "3.4722222222222222e-4d", "24/day")):
            got = self.plan(f"url,change_rate\nhttp://h/a,{rate}\nhttp://h/b,0.25\n", "-c", capacity, "-p", politeness)
            values = [float(r["frequency"]) for r in got]
            expected = expected or values
            for value, other in zip(values, expected):
                self.near(value, other)

    def test_small_duration_notation(self):
        self.plan("url,change_rate\nhttp://h/a,1\n", "-c", "1/s", "-p", "1e-9d")

    def test_host_is_the_server_and_case_does_not_matter(self):
        pages = "url,change_rate\nhttp://A.org:80/x,5\nhttps://u@a.ORG/y,5\nhttp://b.org/,5\n"
        got = self.plan(pages, "-c", "1000/day", "-p", "1d")
        self.near(float(got[0]["frequency"]) + float(got[1]["frequency"]), 1)
        self.near(got[2]["frequency"], 1)

    def test_min_interval_and_politeness_take_the_larger(self):
        pages = "url,change_rate,min_interval\nhttp://a/1,5,2d\nhttp://a/2,5,\nhttp://b/1,5,1s\n"
        got = self.plan(pages, "-c", "1000/day", "-p", "1d")
        self.near(float(got[0]["frequency"]) + float(got[1]["frequency"]), 0.5)
        self.near(got[2]["frequency"], 1)

    def test_bounds_and_costs(self):
        got = self.plan("url,change_rate,lo,hi,cost\nhttp://a/1,1,0.1,,2\nhttp://a/2,1,,0.2,1\nhttp://a/3,100,0.05,,1\n", "-c", "1/day")
        f = [float(r["frequency"]) for r in got]
        self.near(f[1], 0.2)
        self.near(f[2], 0.05)
        self.near(2 * f[0] + f[1] + f[2], 1)

    def test_limits_hold_in_what_is_printed(self):
        chance = random.Random(1)
        pages = "url,change_rate,weight\n" + "".join(
            f"http://h{chance.randrange(9)}/{i},{chance.lognormvariate(0, 2.4)},{chance.random()}\n" for i in range(3000))
        for allocation in ("opt-polite", "uniform", "change-proportional", "polite-binary-lambda"):
            got = self.plan(pages, "-c", "900/day", "-p", "10min", "-a", allocation)
            servers = {}
            for row in got:
                servers.setdefault(row["url"].split("/")[2], []).append(float(row["frequency"]))
            for f in servers.values():
                self.assertLessEqual(sum(f), 144)
            self.assertLessEqual(sum(map(sum, servers.values())), 900)

    def test_the_server_is_the_host_whatever_stands_before(self):
        begins = {"http://a/": "a", "http://a": "a", "HTTP://A/": "a", "http://u@a/": "a", "http://a:80/": "a", "http://a:80@b/": "b",
                  "http://b?": "b", "http://b/": "b", "https://b#": "b", "http://ab/": "ab", "http://a@ab/": "ab", "http://[::1]/": "[::1]",
                  "http://[::1]:8/": "[::1]", '"http://b/,"': "b", "http:// a/": " a"}
        chance = random.Random(3)
        lines, expected = [], {}
        for i in range(4000):
            begin = chance.choice(list(begins)) if i % 3 == 0 else begin
            lines.append(f"{begin[:-1]}{i}\"" if begin[-1] == '"' else f"{begin}{i if begin[-1] in '/?#' else '/' + str(i)}")
            expected.setdefault(begins[begin], []).append(i)
        got = self.plan("url,change_rate\n" + "".join(f"{line},1\n" for line in lines), "-c", "1e9/day", "-p", "1d")
        for pages in expected.values():  # each server has its own budget of one visit a day
            self.near(sum(float(got[i]["frequency"]) for i in pages), 1)

    def test_same_plan_for_every_number_of_threads(self):
        chance = random.Random(2)
        pages = "url,change_rate\n" + "".join(
            f"http://host{chance.randrange(50)}.org/{'x' * chance.randrange(80)}{i},{chance.lognormvariate(0, 2)}\n" for i in range(60000))
        outputs = {run("plan", "-", "-c", "10%", "-p", "1min", "--threads", str(n), "--precision", p, stdin=pages)[1]
                   for n in (1, 2, 5) for p in ("exact",)}
        self.assertEqual(len(outputs), 1)
        fast = {run("plan", "-", "-c", "10%", "-p", "1min", "--threads", str(n), "--precision", "fast", stdin=pages)[1] for n in (1, 2, 5)}
        self.assertEqual(len(fast), 1)
        self.assertEqual(len(fast.pop().splitlines()), 60001)

    def test_beliefs(self):
        got = self.plan("page,alpha,beta\np,0.45,8\nq,2,16d\n", "-c", "1/day")
        self.near(sum(float(r["frequency"]) for r in got), 1)
        z = 1 / (float(got[0]["frequency"]) * 8)
        self.near(got[0]["freshness"], (1 - (1 + z) ** 0.55) / (-0.55 * z))

    def test_a_plan_can_be_planned_again(self):
        first = run("plan", "-", "-c", "1/day", stdin="url,change_rate\nhttp://h/a,1\nhttp://h/b,3\n")[1]
        again = run("plan", "-", "-c", "1/day", stdin=first)[1]
        self.assertEqual(first, again)

    def test_blank_lines_windows_lines_and_byte_order_mark(self):
        got = self.plan("\ufeffurl,change_rate\r\nhttp://h/a,1\r\n\r\nhttp://h/b,1", "-c", "1/day")
        self.assertEqual([r["freshness"] for r in got], [got[0]["freshness"]] * 2)

    def test_bad_rows_are_named(self):
        for row, where, what in (
            ("http://h/a,abc", "2:12:", "'abc' is not a rate"),
            ("http://h/a,-1", "2:12:", "negative"),
            ("http://h/a,nan", "2:12:", "not a rate"),
            ("http://h/a,inf", "2:12:", "not finite"),
            ("http://h/a,1e999", "2:12:", "not finite"),
            ("http://h/a,", "2:12:", "is empty"),
            ("http://h/a,5kg", "2:12:", "not a rate"),
            (",1", "2:1:", "no name"),
            ("http://h/a", "2:11:", "1 fields; the header has 2"),
            ("http://h/a,1,2", "2:15:", "3 fields"),
            ("\"http://h/a,1", "2:1:", "quote"),
            ("nohost,1", "2:1:", "no URL with a host"),
        ):
            with self.subTest(row):
                err = self.refuse(f"url,change_rate\n{row}\n", "-c", "1/s", "-p", "1s")
                self.assertTrue(err.startswith("-:" + where), err)
                self.assertIn(what, err)
                self.assertEqual(err.count("\n"), 1)

    def test_bad_columns_are_named(self):
        for header, what in (("change_rate", "no column url"), ("url", "no column change_rate"), ("url,alpha", "beta is missing"),
                             ("url,change_rate,alpha,beta", "both"), ("url,change_rate,change_rate", "stands twice"),
                             ("url,page,change_rate", "stands twice")):
            err = self.refuse(header + "\nx,1,1,1\n", "-c", "1/s")
            self.assertTrue(err.startswith("-:1:"), err)
            self.assertIn(what, err)
        self.assertIn("the file is empty", self.refuse("", "-c", "1/s"))
        self.assertIn("nothing to plan", self.refuse("url,change_rate\n", "-c", "1/s"))

    def test_duplicate_pages_are_named(self):
        err = self.refuse("url,change_rate\nhttp://h/a,1\nhttp://h/b,1\nhttp://h/a,2\n", "-c", "1/s")
        self.assertTrue(err.startswith("-:4:1:"), err)
        self.assertIn("already given in line 2", err)
        self.plan("page,server,change_rate\n/,A,1\n/,B,1\n", "-c", "1/s")

    def test_when_all_rows_are_skipped_the_message_says_so(self):
        code, out, err = run("plan", "-", "-c", "1/day", "--skip-bad", stdin="url,change_rate\nhttp://a/,x\n")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("every row was skipped", err)

    def test_skip_bad_counts(self):
        text = "url,change_rate\nhttp://h/a,1\nhttp://h/b,x\n\nhttp://h/a,7\nhttp://h/c,1\n"
        code, out, err = run("plan", "-", "-c", "1/day", "--skip-bad", stdin=text)
        self.assertEqual(code, 0)
        self.assertEqual([r["url"] for r in rows(out)], ["http://h/a", "http://h/c"])
        self.near(rows(out)[1]["frequency"], 0.5)
        self.assertEqual(sorted(line.split(":")[1] for line in err.splitlines()), ["3", "5"])
        summary = json.loads(run("plan", "-", "-c", "1/day", "--skip-bad", "--summary", "json", stdin=text)[1])
        self.assertEqual((summary["pages"], summary["bad_rows"]), (2, 2))

    def test_bad_flags_are_named(self):
        pages = "url,change_rate\nhttp://h/a,1\n"
        for args, what in ((("-c", "5"), "--capacity '5' is not a rate or a share; write one such as 3/s, 20/h, 1e6/day or 10%"),
                           (("-c", "-1/s"), "--capacity"), (("-c", "1/s", "-p", "30"), "--politeness '30'"),
                           (("-c", "nan/s"), "--capacity"), (("-c", "10%"), "politeness"), (("-c", "1/s", "-a", "best"), "best"), ((), "--capacity")):
            self.assertIn(what, self.refuse(pages, *args))
        self.assertIn("lo", self.refuse("url,change_rate,lo\nhttp://h/a,1,5\n", "-c", "100/s", "-p", "1d"))
        self.assertIn("'h'", self.refuse("url,change_rate,lo\nhttp://h/a,1,5\n", "-c", "100/s", "-p", "1d"))

    def test_skipped_duplicates_leave_no_trace(self):
        pages = "url,server,change_rate,min_interval\nhttp://a/0,R,1,\nhttp://a/1,S,1,1h\nhttp://a/1,T,2,\nhttp://a/2,S,1,\nhttp://a/2,S,1,9d\nhttp://a/3,U,1,2h\n"
        kept = "".join(line + "\n" for line in pages.splitlines() if ",T," not in line and "9d" not in line)
        for args in (("-c", "10%", "-p", "30min"), ("-c", "100/day", "-p", "30min", "--summary", "json")):
            code, out, err = run("plan", "-", "--skip-bad", *args, stdin=pages)
            self.assertEqual((code, err.count("already given")), (0, 2))
            self.assertEqual(out.replace('"bad_rows":2', '"bad_rows":0'), run("plan", "-", *args, stdin=kept)[1])

    def test_summary(self):
        pages = "page,server,change_rate,min_interval\na1,A,0.5,\na2,A,1,1.6666666666666667d\na3,A,2,\nb1,B,.1,144min\nb2,B,3e0,\n"
        code, out, err = run("plan", "-", "--capacity", "2/day", "--summary", "json", stdin=pages)
        self.assertEqual((code, err), (0, ""))
        summary = json.loads(out)
        self.assertEqual((summary["pages"], summary["servers"], summary["saturated_servers"]), (5, 2, 1))
        self.near(summary["price"], 0.26673720016381837)
        self.near(summary["server_price_max"], 0.8871418407842323)
        self.assertEqual(summary["dearest_server"], "A")
        self.near(summary["polite_bound"], 1.9798462326482358 / 5)
        self.near(summary["freshness"], 1.9798462326482358 / 5)
        self.near(summary["total_frequency_per_day"], 2)
        self.assertGreater(summary["unpolite_bound"], summary["polite_bound"])
        policies = summary["expected_freshness"]
        self.assertLess(policies["random"], policies["merge"])
        self.assertLess(policies["merge_lower_bound"], policies["merge"])
        self.assertLess(policies["merge"], policies["hybrid"])

    def test_summary_says_where_there_is_no_politeness(self):
        pages = "page,server,change_rate,min_interval\na,A,1,1h\nb,B,1,\n"
        for text, arguments, line, without in (
            (pages.replace("1h", ""), (), "none; --politeness 30s would set one", 2),
            (pages, (), "none on 1 of 2 servers; --politeness 30s would set one", 1),
            (pages, ("-p", "1d"), None, 0),
        ):
            said = run("plan", "-", "-c", "1/day", *arguments, "--summary", "text", stdin=text)[1]
            self.assertEqual(f"\npoliteness                         {line}\n" in said, line is not None, said)
            self.assertEqual("\npoliteness allows                  2 per day\n" in said, line is None, said)
            summary = json.loads(run("plan", "-", "-c", "1/day", *arguments, "--summary", "json", stdin=text)[1])
            self.assertEqual(summary["servers_without_politeness"], without)
            self.assertEqual(summary["politeness_limit_per_day"] is None, without > 0)

    def test_summary_counts_requests_and_their_cost(self):
        pages = "url,change_rate,cost\nhttp://a/1,1,2\nhttp://b/1,1,5\n"
        code, out, err = run("plan", "-", "-c", "10/day", "-o", "-", "--summary", "json", stdin=pages)
        self.assertEqual(code, 0, err)
        summary = json.loads(err)
        f = [float(r["frequency"]) for r in rows(out)]
        self.near(summary["total_frequency_per_day"], f[0] + f[1])
        self.near(summary["total_cost_per_day"], 2 * f[0] + 5 * f[1])
        self.near(summary["total_cost_per_day"], 10)
        text = run("plan", "-", "-c", "10/day", "--summary", "text", stdin=pages)[1]
        self.assertIn("times their cost", text)

    def test_summary_of_pages_without_weight_is_of_one_mind(self):
        pages = "url,change_rate,weight\nhttp://a/1,1,0\nhttp://a/2,1,0\n"
        summary = json.loads(run("plan", "-", "-c", "1/day", "--summary", "json", stdin=pages)[1])
        for value in (summary["freshness"], summary["polite_bound"], *summary["expected_freshness"].values()):
            self.assertEqual(value, 1)

    def test_enormous_numbers(self):
        pages = "url,change_rate\nhttp://a/1,1\nhttp://b/1,3\n"
        for capacity in ("1e200/day", "1e300/s"):
            for row in self.plan(pages, "-c", capacity):
                self.near(row["freshness"], 1)
            summary = json.loads(run("plan", "-", "-c", capacity, "--summary", "json", stdin=pages)[1], parse_constant=self.fail)
            self.near(summary["unpolite_bound"], 1)
        self.assertIn("weights", self.refuse("url,change_rate,weight\nhttp://a/1,1,1e308\nhttp://a/2,1,1e308\n", "-c", "1/day"))

    def test_damaged_gzip_and_hopeless_output_are_told(self):
        data = gzip.compress(b"url,change_rate\nhttp://a/1,1\n")
        for broken, what in ((data[:-9], "-: the compressed file ends too early"), (data + b"junk", "-: the compressed file is damaged")):
            self.assertIn(what, self.refuse(broken, "-c", "1/day"))
        err = self.refuse("url,change_rate\nhttp://a/1,bad\n", "-c", "1/day", "-o", "/no/such/folder/plan.csv")
        self.assertIn("the folder must exist", err, "before the pages are read")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            plain, packed, out, packed_out = (os.path.join(folder, n) for n in ("p.csv", "p.csv.gz", "plan.csv", "plan.csv.gz"))
            text = "url,change_rate\n" + "".join(f"http://h/{i},{i % 7}\n" for i in range(5000))
            with open(plain, "w", encoding="utf-8") as f:
                f.write(text)
            with open(packed, "wb") as f:  # two gzip members, as `cat a.gz b.gz` makes
                f.write(gzip.compress(text[:30000].encode()) + gzip.compress(text[30000:].encode()))
            code, said, err = run("plan", plain, "-c", "1/min", "-o", out)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("POLITE bound", said)
            self.assertEqual(run("plan", packed, "-c", "1/min", "-o", packed_out, "--summary", "none")[:2], (0, ""))
            with open(out, encoding="utf-8") as f, gzip.open(packed_out, "rt") as g:
                self.assertEqual(f.read(), g.read())
            before = open(out, encoding="utf-8").read()
            with open(plain, "a", encoding="utf-8") as f:
                f.write("http://h/bad,?\n")
            code, _, err = run("plan", plain, "-c", "1/min", "-o", out)
            self.assertEqual(code, 2)
            self.assertIn("p.csv:5002:14:", err)
            self.assertEqual(open(out, encoding="utf-8").read(), before, "a failed run leaves the old plan alone")
            self.assertIn("replace", run("plan", plain, "-c", "1/min", "-o", plain)[2])
            with open(packed, "r+b") as f:
                f.truncate(5000)
            self.assertIn("ends too early", run("plan", packed, "-c", "1/min")[2])
            self.assertIn("none: cannot be opened: No such file or directory; give the name of a file you may read, or - for",
                          run("plan", os.path.join(folder, "none"), "-c", "1/s")[2])
            self.assertEqual(run("plan", folder, "-c", "1/s")[0], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)

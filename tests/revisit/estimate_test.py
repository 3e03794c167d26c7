#!/usr/bin/env python3
"""escalona estimate, and its way into escalona plan."""
import csv
import io
import math
import os
import subprocess
import sys
import unittest

ESCALONA = os.environ["ESCALONA"]


def run(*args, stdin=""):
    done = subprocess.run([ESCALONA, *args], input=stdin.encode(), capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


SPECIFIED = "page,interval,changed\np,5,0\np,3d,1\nq,1h,true\np,12,yes\np,48h,unchanged\np,40,changed\np,0.5,no\n"


class EstimateTest(unittest.TestCase):
    def estimate(self, text, *args):
        code, out, err = run("estimate", "-", *args, stdin=text)
        self.assertEqual((code, err), (0, ""))
        return list(csv.DictReader(io.StringIO(out)))

    def test_specified_belief(self):
        p, q = self.estimate(SPECIFIED, "--prior", "0.5,10d")
        self.assertAlmostEqual(float(p["alpha"]), 2.641777725524691, 9)
        self.assertAlmostEqual(float(p["beta"]), 23.07572448361266, 9)
        self.assertAlmostEqual(float(p["mean_rate"]), 2.641777725524691 / 23.07572448361266, 9)
        self.assertLess(float(p["rate_low"]), float(p["mean_rate"]))
        self.assertLess(float(p["mean_rate"]), float(p["rate_high"]))
        self.assertAlmostEqual(float(p["cho_rate"]), -math.log(3.5 / 6.5) / (62.5 / 6), 12)
        rate = float(p["mle_rate"])
        self.assertAlmostEqual(sum(t / math.expm1(rate * t) for t in (3, 12, 40)), 7.5, 9)
        self.assertEqual((p["visits"], p["changes"], q["visits"], q["mle_rate"]), ("6", "3", "1", "inf"))

    def test_age_of_last_modified(self):
        (p,) = self.estimate("page,interval,changed,age\np,10,1,2d\np,5,1,\np,5,0,\n", "--prior", "1,1")
        (q,) = self.estimate("page,interval,changed\np,5,1\np,5,0\n", "--prior", "2,3")
        self.assertEqual((p["alpha"], p["beta"]), (q["alpha"], q["beta"]))

    def test_feeds_plan(self):
        out = run("estimate", "-", stdin=SPECIFIED.replace("page", "url").replace("\np,", "\nhttp://h/p,").replace("\nq,", "\nhttp://h/q,"))[1]
        code, plan, err = run("plan", "-", "-c", "1/day", "-p", "1h", stdin=out)
        self.assertEqual((code, err), (0, ""))
        self.assertAlmostEqual(sum(float(r["frequency"]) for r in csv.DictReader(io.StringIO(plan))), 1, 9)

    def test_host_priors_move_towards_the_host(self):
        busy = "".join(f"http://busy/{i},1,1\nhttp://busy/{i},1,1\nhttp://busy/{i},1,0\n" for i in range(50))
        text = "url,interval,changed\n" + busy + "http://busy/new,0.01,0\nhttp://calm/new,0.01,0\n"
        plain = {r["url"]: float(r["mean_rate"]) for r in self.estimate(text)}
        pooled = {r["url"]: float(r["mean_rate"]) for r in self.estimate(text, "--host-priors")}
        self.assertAlmostEqual(plain["http://busy/new"], plain["http://calm/new"], 12)
        self.assertGreater(pooled["http://busy/new"], 5 * pooled["http://calm/new"])

    def test_halflife_forgets(self):
        text = "page,interval,changed\n" + "p,1,1\n" * 30 + "p,1000,0\n"
        kept = float(self.estimate(text)[0]["alpha"])
        (forgot,) = self.estimate(text, "--halflife", "10d")
        self.assertGreater(kept, 10)
        self.assertAlmostEqual(float(forgot["alpha"]), 0.45, 6)

    def test_names_are_the_same_in_capitals(self):
        plain = self.estimate("url,interval,changed\nhttp://h/p,5,yes\nhttp://h/q,1,0\n", "--host-priors")
        other = self.estimate(" URL, Interval,CHANGED \nhttp://h/p,5, Yes\nhttp://H/q,1,0\n", "--host-priors")
        self.assertEqual([list(r.values())[1:] for r in plain], [list(r.values())[1:] for r in other])

    def test_a_page_that_never_changed_has_rate_0(self):
        (p,) = self.estimate("page,interval,changed\np,5,0\n")
        self.assertEqual((p["mle_rate"], p["cho_rate"]), ("0", "0"))

    def test_bad_input_is_named(self):
        for text, what in (("", "1:1: the file is empty"), ("page,interval,changed\n", "only a header"), ("page,changed\np,1\n", "no column interval"),
                           ("page,interval,changed\np,1,maybe\n", "2:5: changed 'maybe'"), ("page,interval,changed\np,-1,1\n", "2:3: interval '-1' is negative"),
                           ("page,interval,changed\np,1\n", "2 fields; the header has 3"), ("page,interval,changed\n,1,1\n", "no name"),
                           ("page,server,interval,changed\np,,1,1\n", "2:3: the server has no name"),
                           ("page,interval,changed,age\np,1,1,x\n", "2:7: age 'x'")):
            code, out, err = run("estimate", "-", stdin=text)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(what, err)
        code, out, err = run("estimate", "-", "--skip-bad", stdin="page,interval,changed\np,1,maybe\np,1,1\n")
        self.assertEqual((code, len(out.splitlines())), (0, 2))
        self.assertIn("skipped", err)
        self.assertEqual(run("estimate", "-", "--prior", "0,1", stdin="x")[0], 2)
        self.assertIn("--halflife must be above 0", run("estimate", "-", "--halflife", "0d", stdin="x")[2])
        self.assertIn("the folder must exist", run("estimate", "-", "-o", "/no/such/folder/x", stdin="x")[2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv)

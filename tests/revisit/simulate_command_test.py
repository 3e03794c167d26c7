"""`escalona simulate`: the table, files of pages, the report, and clear errors for bad input."""
import csv
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ESCALONA = os.environ["ESCALONA"]
SMALL = ["--pages", "3000", "--servers", "20", "--politeness", "2h", "--years", "1"]


def run(*arguments, **options):
    return subprocess.run([ESCALONA, "simulate", *arguments], capture_output=True, text=True, **options)


class SimulateTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def table(self, *arguments):
        path = self.folder / "table.csv"
        done = run(*arguments, "-o", str(path))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        with open(path, newline="") as file:
            return done.stdout, list(csv.DictReader(file))

    def refused(self, *arguments, says):
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertRegex(done.stderr, says)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def file(self, text, name="pages.csv"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def test_table_has_every_policy_and_capacity_and_stays_polite(self):
        out, rows = self.table(*SMALL, "--policy", "random,merge,bucketed,delayed,hybrid")
        self.assertEqual(len(rows), 15)
        for row in rows:
            self.assertGreaterEqual(float(row["shortest_gap_over_p"]), 1)
            self.assertGreater(float(row["ratio"]), 0.2)
            self.assertLessEqual(float(row["ratio"]), 1)
            self.assertIn(row["policy"], out)
        ratio = {(r["policy"], r["capacity"]): float(r["ratio"]) for r in rows}
        for capacity in ("1%", "10%", "90%"):
            self.assertGreater(ratio["hybrid", capacity], ratio["merge", capacity])
            self.assertGreater(ratio["merge", capacity], ratio["random", capacity])

    def test_result_does_not_depend_on_threads(self):
        tables = []
        for threads in ("1", "2", "5"):
            _, rows = self.table(*SMALL, "--threads", threads, "--capacity", "10%,90%")
            for row in rows:
                del row["seconds"]
            tables.append(rows)
        self.assertEqual(tables[0], tables[1])
        self.assertEqual(tables[0], tables[2])
        _, other = self.table(*SMALL, "--seed", "2", "--capacity", "10%,90%")
        self.assertNotEqual(other[0]["freshness"], tables[0][0]["freshness"])

    def test_warm_start_is_the_steady_state(self):
        _, rows = self.table(*SMALL, "--warm", "--policy", "hybrid", "--capacity", "10%")
        self.assertGreater(float(rows[0]["ratio"]), 0.98)
        _, cold = self.table(*SMALL, "--cold", "--policy", "hybrid", "--capacity", "10%")
        self.assertLess(float(cold[0]["ratio"]), float(rows[0]["ratio"]))

    def test_other_allocations_are_below_polite_and_unpolite_above(self):
        done = run(*SMALL, "--policy", "merge", "--capacity", "10%", "--allocations")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        ratio = {line[0]: float(line[-1]) for line in lines if len(line) >= 3 and line[-2] == "10%"}
        for name in ("uniform", "change-proportional", "polite-binary-lambda"):
            self.assertLess(ratio[name], 1)
        self.assertGreaterEqual(ratio["UNPOLITE"], 1)

    def test_generated_populations_have_one_default_politeness(self):
        for population in ("webbase", "broad"):
            out, _ = self.table("--population", population, "--pages", "500", "--servers", "20", "--years",
                                "0.01", "--policy", "merge", "--capacity", "1%")
            self.assertIn("politeness  300 s", out)

    def test_broad_population(self):
        _, rows = self.table("--population", "broad", "--servers", "200", "--years", "0.2", "--policy",
                             "hybrid", "--capacity", "0.1%", "--warm")
        self.assertGreater(float(rows[0]["ratio"]), 0.99)

    def test_file_of_pages(self):
        text = "weight,page,server,change_rate,min_interval\n"
        text += "".join(f"{1 + i % 3},p{i},s{i % 7},{0.01 * (i + 1)},0.1\n" for i in range(100))
        path = self.file(text)
        out, rows = self.table("--population", path, "--policy", "hybrid", "--capacity", "20/day", "--warm")
        self.assertIn("pages       100", out)
        self.assertIn("servers     7", out)
        self.assertGreater(float(rows[0]["ratio"]), 0.99)

    def test_file_with_bounds_and_costs(self):
        path = self.file("url,change_rate,cost,lo,hi,min_interval\nhttp://a/1,1,10,,1,1h\nhttp://a/2,0.1,1,5,,\n"
                         "http://b/1,0,,2,,2h\nhttp://b/2,0.2,,,,\n")
        out, rows = self.table("--population", path, "--policy", "random,merge,bucketed,delayed,hybrid",
                               "--capacity", "20/day", "--warm", "--years", "3")
        self.assertIn("politeness  3600 to 7200 s", out)
        planned = subprocess.run([ESCALONA, "plan", path, "-c", "20/day", "-o", "-"], capture_output=True, text=True, check=True)
        pages = list(csv.DictReader(planned.stdout.splitlines()))
        polite = sum(float(page["freshness"]) for page in pages) / 4
        requests = sum(float(page["frequency"]) for page in pages) * 3 * 365.25
        for row in rows:
            self.assertAlmostEqual(float(row["polite"]), polite, 8)
            self.assertAlmostEqual(float(row["requests"]) / requests, 1, 2, row)
            self.assertLessEqual(float(row["freshness"]), polite * 1.005, row)
        self.assertGreater(float(rows[-1]["ratio"]), 0.98)

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_report_of_a_file_with_bounds(self):
        path = self.file("url,change_rate,lo\nhttp://a/1,1,10\nhttp://a/2,0.1,5\n")
        done = run("--population", path, "--years", "1", "--capacity", "90%", "--report", str(self.folder / "r"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_bad_options_are_named(self):
        self.refused("--policy", "merge,best", says="--policy 'best'")
        self.refused("--capacity", "10", says="--capacity '10' is not a rate or a share; write one such as 3/s, 20/h, 1e6/day or 10%")
        self.refused("--capacity", "0%", says="--capacity '0%' must be above 0")
        self.refused("--capacity", "-5%", says="--capacity")
        self.refused("--capacity", "nan/s", says="--capacity")
        self.refused("--politeness", "30", says="--politeness '30'")
        self.refused("--politeness", "0s", says="--politeness must be above 0")
        self.refused("--years", "0", says="--years")
        self.refused("--years", "nan", says="--years")
        self.refused("--years", "6y", says="--years: '6y' is not a number; write one such as 6;")
        self.refused("--pages", "5", "--servers", "10", says="--pages 5 is less than --servers 10")
        self.refused("--servers", "0", says="--servers 0")
        self.refused("--pages", "few", says="--pages: 'few' is not a whole number; write one such as 1;")
        self.refused("--pages", "-5", says="--pages -5")
        self.refused("--pages", "99999999999999", says="--pages 99999999999999")
        self.refused("--servers", "-1", says="--servers -1")
        self.refused("--threads", "-1", says="--threads")
        self.refused("--cold", "--warm", says="cold|warm")
        self.refused("--population", str(self.folder / "none.csv"), says="none.csv")

    def test_bad_files_are_named_with_line_and_column(self):
        self.refused("--population", self.file(""), says="pages.csv")
        self.refused("--population", self.file("page,server,weight\np,a,1\n"), says="change_rate")
        self.refused("--population", self.file("page,server,change_rate\n"), says=r"pages\.csv:2:1: no page")
        for bad in ("nan", "-1", "x", "inf"):
            path = self.file(f"page,server,change_rate\np,a,1\nq,b,{bad}\n")
            self.refused("--population", path, says=r"pages\.csv:3:5")
        path = self.file("page,server,change_rate\np,a,1\n")
        self.refused("--population", path, "--pages", "10", says="--pages")

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is not installed")
    def test_report_is_complete_and_self_contained(self):
        report = self.folder / "deep" / "report"
        done = run(*SMALL, "--capacity", "1%,90%", "--policy", "merge,hybrid", "--report", str(report))
        self.assertEqual(done.returncode, 0, done.stderr)
        names = ["freshness", "random-factor", "merge-contour", "channel", "frequency", "frontier"]
        for name in names:
            svg = (report / f"{name}.svg").read_text()
            self.assertIn("<svg", svg)
            self.assertGreater(len(svg), 5000, name)
            self.assertFalse((report / f"{name}.log").exists())
        page = (report / "index.html").read_text()
        self.assertEqual(page.count("data:image/svg+xml;base64,"), len(names))
        self.assertNotRegex(page, r'(src|href)="(?!data:)')
        self.assertEqual((report / "results.csv").read_text().count("\n"), 5)

    def test_report_without_gnuplot_fails_before_the_work(self):
        done = run(*SMALL, "--report", str(self.folder / "r"), env={**os.environ, "PATH": str(self.folder)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("gnuplot-nox", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_report_folder_that_cannot_be_made(self):
        self.file("", "taken")
        done = run(*SMALL, "--capacity", "1%", "--policy", "merge", "--report", str(self.folder / "taken" / "r"))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "taken")
        self.assertEqual(done.stdout, "", "before the work")

    def test_table_that_cannot_be_written(self):
        done = run(*SMALL, "-o", str(self.folder / "none" / "table.csv"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, "the folder must exist")


if __name__ == "__main__":
    unittest.main()

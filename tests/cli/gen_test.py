"""escalona gen: the shape of the load, its statistics, its seed, its memory."""
import collections
import os
import re
import resource
import subprocess
import tempfile
import unittest

ESCALONA = os.environ["ESCALONA"]


def gen(*arguments, check=True):
    return subprocess.run([ESCALONA, "gen", *arguments], capture_output=True, text=True, check=check)


def urls_of(load):
    return [line for line in load.splitlines() if line.startswith("http")]


class Gen(unittest.TestCase):
    def test_one_block_then_the_three_commands(self):
        lines = gen("-s", "5", "-u", "4", "-v", "9").stdout.splitlines()
        urls = [line for line in lines if line.startswith("http")]
        self.assertEqual(lines, [f"ADD_URLS {len(urls)}", *urls, "LISTA_HOSTS", "ESCALONA_TUDO", "LIMPA_TUDO"])

    def test_same_seed_same_bytes(self):
        self.assertEqual(gen("--seed", "7", "-v", "5").stdout, gen("--seed", "7", "-v", "5").stdout)
        self.assertNotEqual(gen("--seed", "7", "-v", "5").stdout, gen("--seed", "8", "-v", "5").stdout)

    def test_hosts_are_interleaved(self):
        hosts = [url.split("/")[2] for url in urls_of(gen("-s", "4", "-u", "3").stdout)]
        self.assertEqual(hosts, hosts[:4] * 3)
        self.assertEqual(len(set(hosts)), 4)

    def test_no_variance_means_exactly_the_mean(self):
        urls = urls_of(gen("-s", "50", "-u", "7", "-v", "0", "-p", "4", "-q", "0").stdout)
        per_host = collections.Counter(url.split("/")[2] for url in urls)
        self.assertEqual(set(per_host.values()), {7})
        self.assertEqual({url.count("/") - 2 for url in urls}, {4})

    def test_mean_and_variance_are_as_asked(self):
        urls = urls_of(gen("-s", "4000", "-u", "20", "-v", "60", "-p", "3", "-q", "2").stdout)
        counts = collections.Counter(url.split("/")[2] for url in urls).values()
        mean = sum(counts) / 4000
        variance = sum(n * n for n in counts) / 4000 - mean * mean
        self.assertAlmostEqual(mean, 20, delta=0.6)  # five standard errors
        self.assertAlmostEqual(variance, 60, delta=9)
        depths = [url.split("?")[0].count("/") - 2 for url in urls]
        mean = sum(depths) / len(depths)
        self.assertAlmostEqual(mean, 3, delta=0.03)
        self.assertAlmostEqual(sum(d * d for d in depths) / len(depths) - mean * mean, 2.15, delta=0.15)

    def test_every_url_is_new_to_the_scheduler(self):
        load = gen("-s", "30", "-u", "40", "-v", "100", "-p", "1", "-q", "3").stdout
        answer = subprocess.run([ESCALONA, "run", "-", "--strict"], input=load, capture_output=True,
                                text=True, check=True).stdout
        self.assertEqual(len(urls_of(answer)), len(urls_of(load)))

    def test_memory_does_not_grow_with_the_load(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments in (["-s", "300000", "-u", "1"], ["-s", "3", "-u", "100000"]):
                gen(*arguments, "-o", folder + "/load")
        # The largest child so far, in KiB; sanitizers need some memory of their own.
        limit = 64 << 10 if "asan" not in ESCALONA else 512 << 10
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, limit)

    def test_bad_usage_names_the_option(self):
        for arguments, words in ((["-s", "abc"], "--hosts: 'abc' is not a whole number of 0 or more; write one such as 10;"),
                                 (["-s", "-1"], "--hosts: '-1' is not a whole number of 0 or more"),
                                 (["--seed", "-1"], "--seed: '-1' is not a whole number of 0 or more"),
                                 (["-s", "10000000001"], "--hosts: '10000000001' is out of range; it must be 0 to 10000000000;"),
                                 (["-u", "many"], "--urls: 'many' is not a number; write one such as 10;"),
                                 (["-q", "-2"], "--depth-variance: '-2' is out of range; it must be 0 or more;"),
                                 (["--sed", "1"], "--sed")):
            result = gen(*arguments, check=False)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(words, result.stderr)
            self.assertEqual(result.stdout, "")

    def test_output_that_cannot_be_written(self):
        for target in ("/dev/full", "/no/such/folder/load"):
            result = gen("-o", target, check=False)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, re.escape(target))


if __name__ == "__main__":
    unittest.main()

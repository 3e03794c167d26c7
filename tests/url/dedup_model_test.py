"""Dedup keys of random URLs against a naive model that shares no code with the library."""
import json
import os
import random
import re
import subprocess
import unittest

ESCALONA = os.environ["ESCALONA"]
UNRESERVED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
RESERVED = ":/?#[]@!$&'()*+,;="
SESSION = re.compile(r"(aspsessionid.*|cfid|cftoken|jsessionid|oscsid|phpsessid|sessid|sessionid"
                     r"|session_id|sid|zenid)", re.I)
TRACKING = re.compile(r"(utm_.*|mtm_.*|pk_.*|gclid|fbclid|_ga|mc_eid)", re.I)


def percent(text):
    def normal(match):
        if match[0][0] == "%" and len(match[0]) == 3:
            char = chr(int(match[0][1:], 16))
            return char if char in UNRESERVED else match[0].upper()
        return match[0] if match[0] in UNRESERVED + RESERVED else f"%{ord(match[0]):02X}"
    return re.sub(r"%[0-9a-fA-F]{2}|.", normal, text)


def name(parameter):
    return parameter.split("=")[0]


def standard(parts):
    host = parts["host"]
    if re.search(r"[^.]\.$", host):
        host = host[:-1]
    query = "" if parts["query"] is None else "?" + percent(parts["query"])
    return parts["scheme"], host, parts["port"], percent(parts["path"]), query


def aggressive(parts):
    scheme, host, port, path, query = standard(parts)
    while re.match(r"www\..*\.", host):
        host = host[4:]
    segments = []
    for segment in path.split("/"):
        first, *parameters = segment.split(";")
        if first not in (".", ".."):
            parameters = [p for p in parameters if not SESSION.fullmatch(name(p))]
        segments.append(";".join([first, *parameters]))
    path = "/".join(segments).rstrip("/")
    kept = [p for p in query[1:].split("&")
            if p and not SESSION.fullmatch(name(p)) and not TRACKING.fullmatch(name(p))]
    kept.sort(key=name)
    return scheme, host, port, path, "?" + "&".join(kept) if kept else ""


def text(key):
    scheme, host, port, path, query = key
    shown = "" if port == {"http": 80, "https": 443}[scheme] else f":{port}"
    return f"{scheme}://{host}{shown}{path}{query}"


def random_url(rng):
    def some(pieces, most):
        return "".join(rng.choice(pieces) for _ in range(rng.randint(0, most)))
    host = some(["www.", "WWW.", "a.", "b-c."], 3) + rng.choice(["com", "com.", "com..", "www", "x.org"])
    path = some(["/", "a", "bc", ";sid=1", ";JSessionID=x", ";v=2", "%7e", "%2F", "%c3%a9", "%", "%zz",
                 ".", "..", "|", "{", "~", "é", "'", "=", "%%34%31"], 8)
    query = some(["a", "b=1", "&", "&", "&sid=", "&utm_x=1", "&PHPSESSID=2", "gclid=", "&_ga&", "&c=%41",
                  "%26", "|", "=", "&%73id=1", "&z=9", "+", "?", "/"], 10)
    return (rng.choice(["http://", "https://"]) + host + rng.choice(["", "", ":81", ":80"]) + "/" + path
            + rng.choice(["", "?" + query]))


class DedupModel(unittest.TestCase):
    def test_keys_equal_the_model(self):
        rng = random.Random(7)
        urls = [random_url(rng) for _ in range(500000 if os.environ.get("ESCALONA_LONG") else 20000)]
        done = subprocess.run([ESCALONA, "url", "--json"], input="\n".join(urls).encode(),
                              capture_output=True, check=False, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(answers), len(urls))
        for parts in answers:
            self.assertEqual(parts["dedup_key"], {
                "exact": parts["url"], "standard": text(standard(parts)),
                "aggressive": text(aggressive(parts))}, parts["input"])
        self.assertLess(len({parts["dedup_key"]["aggressive"] for parts in answers}),
                        len({parts["url"] for parts in answers}), "nothing was merged")


if __name__ == "__main__":
    unittest.main()

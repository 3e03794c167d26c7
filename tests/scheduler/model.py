"""A naive scheduler, written from the rules alone: lists and linear scans, no cleverness.

model.answer(command_file_bytes, strategy) gives the bytes `escalona run` must write, and the numbers of the
lines it must warn about.
"""
import re

DISCARDED = (b".jpg", b".gif", b".mp3", b".avi", b".doc", b".pdf")
BLANKS = b" \t"
#            command         host   number
COMMANDS = {b"ADD_URLS": (False, True), b"ESCALONA_TUDO": (False, False), b"ESCALONA": (False, True),
            b"ESCALONA_HOST": (True, True), b"VER_HOST": (True, False), b"LISTA_HOSTS": (False, False),
            b"LIMPA_HOST": (True, False), b"LIMPA_TUDO": (False, False)}


def clean(line):
    """(host, path with query, depth) of a line of a block, or None when it is discarded."""
    line = line.strip(BLANKS).split(b"#")[0]                               # rule 1
    scheme, mark, rest = line.partition(b"://")
    if not mark or scheme.lower() != b"http":                              # rule 2
        return None
    host = re.split(rb"[/?]", rest)[0]                                     # rule 3
    tail = rest[len(host):]
    host = host.lower()
    if host.startswith(b"www."):                                           # rule 4
        host = host[4:]
    if not host:
        return None
    tail = tail.rstrip(b"/")                                               # rule 5
    path = tail.split(b"?")[0]
    if path.endswith(DISCARDED):                                           # rule 6
        return None
    return host, tail, path.count(b"/")                                    # rule 7


class Model:
    def __init__(self, strategy):
        self.strategy = strategy  # "depth", "breadth" or "best"
        self.clear()

    def clear(self):
        self.hosts = []     # [name, [(depth, path), ...]], as they became known
        self.last = -1      # breadth-first: the host served last

    def find(self, name):
        return next((host for host in self.hosts if host[0] == name.lower()), [name, []])

    def add(self, line):
        url = clean(line)
        if url is None:
            return
        name, path, depth = url
        if all(host[0] != name for host in self.hosts):
            self.hosts.append([name, []])
        urls = self.find(name)[1]
        if (depth, path) not in urls:
            urls.append((depth, path))
            urls.sort(key=lambda entry: entry[0])  # stable: equal depths stay as they came

    def next_host(self):
        count = len(self.hosts)
        order = list(range(count))
        if self.strategy == "breadth":
            order = [(self.last + 1 + i) % count for i in range(count)]
        if self.strategy == "best":
            order.sort(key=lambda i: -len(self.hosts[i][1]))  # stable: ties go to the one known first
        return next((i for i in order if self.hosts[i][1]), None)

    def take(self, limit):
        while limit > 0 and (i := self.next_host()) is not None:
            self.last = i
            yield url_text(self.hosts[i][0], self.hosts[i][1].pop(0))
            limit -= 1

    def take_host(self, name, limit):
        urls = self.find(name)[1]
        while limit > 0 and urls:
            yield url_text(name.lower(), urls.pop(0))
            limit -= 1


def url_text(host, entry):
    return b"http://" + host + entry[1]


def lines_of(data):
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def answer(data, strategy):
    model, out, warned = Model(strategy), [], []
    lines = lines_of(data)
    i = 0
    while i < len(lines):
        words = [word for word in re.split(rb"[ \t]", lines[i]) if word]
        i += 1
        if not words:
            continue
        if words[0] not in COMMANDS:
            warned.append(i)
            continue
        has_host, has_number = COMMANDS[words[0]]
        arguments = 1 + has_host + has_number
        number = words[arguments - 1] if has_number and len(words) >= arguments else b"0"
        if len(words) < arguments or not re.fullmatch(rb"[+-]?[0-9]+", number) or abs(int(number)) >= 2**63:
            warned.append(i)
            continue
        if len(words) > arguments:
            warned.append(i)
        number = int(number)
        if words[0] == b"ADD_URLS":
            for line in lines[i:i + max(number, 0)]:
                model.add(line)
                i += 1
        elif words[0] == b"ESCALONA_TUDO":
            out += model.take(1 << 63)
        elif words[0] == b"ESCALONA":
            out += model.take(number)
        elif words[0] == b"ESCALONA_HOST":
            out += model.take_host(words[1], number)
        elif words[0] == b"VER_HOST":
            out += [url_text(words[1].lower(), entry) for entry in model.find(words[1])[1]]
        elif words[0] == b"LISTA_HOSTS":
            out += [host[0] for host in model.hosts]
        elif words[0] == b"LIMPA_HOST":
            model.find(words[1])[1].clear()
        else:
            model.clear()
    return b"".join(line + b"\n" for line in out), warned

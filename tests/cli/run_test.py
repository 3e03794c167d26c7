#!/usr/bin/env python3
"""`escalona run` as its users meet it: where answers go, exit status, messages, and all kinds of bad input."""
import os
import pathlib
import pty
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["ESCALONA"]
COMMANDS = b"ADD_URLS 2\nhttp://www.a.com/1\nhttp://b.com/2/\nESCALONA_TUDO\n"
ANSWER = b"http://a.com/1\nhttp://b.com/2\n"
MEBIBYTE = 1 << 20
# A sanitizer's own memory and limits say nothing about the program's.
SANITIZED = b"__asan_init" in pathlib.Path(PROGRAM).read_bytes()


def sleep_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.02)


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def put(self, name, content=COMMANDS):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def run_program(self, *arguments, prefix=(), **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([*prefix, PROGRAM, *map(str, arguments)], cwd=self.folder, timeout=300, **options)

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))

    def check(self, done, status=0, stdout=b"", stderr=b""):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (status, stdout, stderr))

    def check_answer(self, content, answer, *flags):
        """The answer to `content`, given on standard input, with nothing on standard error."""
        self.check(self.run_program("run", "-", *flags, input=content), stdout=answer)


class WhereTheAnswerGoes(InAFolder):
    def test_dash_out_stands_before_the_last_extension(self):
        for name, answer in (("coleta1.txt", "coleta1-out.txt"), ("coleta1", "coleta1-out"), ("a.b.txt", "a.b-out.txt"),
                             ("x/coleta1.txt", "x/coleta1-out.txt"), ("x.d/coleta1", "x.d/coleta1-out"),
                             ("with blank.txt", "with blank-out.txt")):
            with self.subTest(name):
                self.put(name)
                self.check(self.run_program("run", name))
                self.assertEqual((self.folder / answer).read_bytes(), ANSWER)

    def test_the_folder_may_be_written_in_any_way(self):
        for name in ("./a.b.txt", "x/../a.b.txt", str(self.folder / "a.b.txt")):
            with self.subTest(name):
                self.put("a.b.txt")
                (self.folder / "x").mkdir(exist_ok=True)
                (self.folder / "a.b-out.txt").unlink(missing_ok=True)
                self.check(self.run_program("run", name))
                self.assertEqual((self.folder / "a.b-out.txt").read_bytes(), ANSWER)

    def test_o_chooses_another_place(self):
        self.put("a.txt")
        (self.folder / "x").mkdir()
        for flags in (["-o", "x/other"], ["--output", "x/other"], ["--output=x/other"]):
            self.check(self.run_program("run", "a.txt", *flags))
            self.assertEqual((self.folder / "x/other").read_bytes(), ANSWER)
            (self.folder / "x/other").unlink()
        self.assertEqual(self.files(), ["a.txt", "x"])

    def test_a_dash_is_standard_input_and_standard_output(self):
        self.check_answer(COMMANDS, ANSWER)
        self.check(self.run_program("run", "-", "-o", "answer", input=COMMANDS))
        self.assertEqual((self.folder / "answer").read_bytes(), ANSWER)
        self.put("a.txt")
        self.check(self.run_program("run", "a.txt", "-o", "-"), stdout=ANSWER)
        self.assertEqual(self.files(), ["a.txt", "answer"])

    def test_strategies_have_flags(self):
        commands = b"ADD_URLS 4\nhttp://a/1\nhttp://b/1\nhttp://b/2\nhttp://a/2\nESCALONA 3\n"
        self.check_answer(commands, b"http://a/1\nhttp://a/2\nhttp://b/1\n")
        for flag in ("-b", "--breadth-first"):
            self.check_answer(commands, b"http://a/1\nhttp://b/1\nhttp://a/2\n", flag)
        commands = commands.replace(b"4", b"5").replace(b"ESC", b"http://b/3\nESC")
        self.check_answer(commands, b"http://b/1\nhttp://a/1\nhttp://b/2\n", "--best-first")

    def test_an_answer_without_lines_is_an_empty_file(self):
        self.put("a.txt", b"LISTA_HOSTS\n")
        self.check(self.run_program("run", "a.txt"))
        self.assertEqual((self.folder / "a-out.txt").read_bytes(), b"")

    def test_a_symbolic_link_stays_and_its_file_is_replaced(self):
        self.put("a.txt")
        self.put("real", b"earlier")
        (self.folder / "a-out.txt").symlink_to("real")
        self.check(self.run_program("run", "a.txt"))
        self.assertTrue((self.folder / "a-out.txt").is_symlink())
        self.assertEqual((self.folder / "real").read_bytes(), ANSWER)
        self.assertEqual(self.files(), ["a-out.txt", "a.txt", "real"])

    def test_a_link_that_leads_nowhere_is_refused_and_stays(self):
        self.put("a.txt")
        (self.folder / "a-out.txt").symlink_to("nowhere")
        result = self.run_program("run", "a.txt")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, b"a.txt:0: a-out.txt: cannot be written: it is a link that leads nowhere; remove the "
                         b"link or choose another place\n")
        self.assertEqual(self.files(), ["a-out.txt", "a.txt"])

    def test_mode_of_the_answer(self):
        self.put("a.txt")
        self.check(self.run_program("run", "a.txt", umask=0o027))
        self.assertEqual((self.folder / "a-out.txt").stat().st_mode & 0o777, 0o640)
        (self.folder / "a-out.txt").chmod(0o604)
        self.check(self.run_program("run", "a.txt"))
        self.assertEqual((self.folder / "a-out.txt").stat().st_mode & 0o777, 0o604)

    def test_line_ends_of_the_answer_are_always_lf(self):
        self.check_answer(COMMANDS.replace(b"\n", b"\r\n"), ANSWER)
        self.check_answer(COMMANDS.replace(b"\n", b"\r\n", 2).rstrip(b"\n"), ANSWER)


class ExitStatusAndMessages(InAFolder):
    WARNED = b"ADD_URLS 1\nhttp://a.com/1\nescalona 1\nESCALONA x\nESCALONA 1 2\n"
    IGNORED = (b"a.txt:3: unknown command 'escalona'; command words are written in capitals: ESCALONA\n"
               b"a.txt:4: 'x' is not a whole number; write ESCALONA <n>\n")
    MORE_WORDS = b"a.txt:5: words after the arguments are ignored; write ESCALONA <n>\n"

    def test_ignored_lines_are_told_and_the_rest_is_done(self):
        self.put("a.txt", self.WARNED)
        self.check(self.run_program("run", "a.txt"), 0, b"", self.IGNORED + self.MORE_WORDS)
        self.assertEqual((self.folder / "a-out.txt").read_bytes(), b"http://a.com/1\n")

    def test_strict_is_1_when_a_line_was_ignored_and_the_answer_is_written(self):
        self.put("a.txt", self.WARNED)
        self.check(self.run_program("run", "a.txt", "--strict"), 1, b"", self.IGNORED + self.MORE_WORDS)
        self.assertEqual((self.folder / "a-out.txt").read_bytes(), b"http://a.com/1\n")

    def test_strict_is_0_when_none_was(self):
        self.put("a.txt")
        self.check(self.run_program("run", "--strict", "a.txt"))
        self.put("a.txt", b"\n  \nLISTA_HOSTS words behind\n")
        self.check(self.run_program("run", "--strict", "a.txt"), 0, b"",
                   b"a.txt:3: words after the arguments are ignored; write LISTA_HOSTS\n")

    def test_messages_name_the_file_as_it_was_given(self):
        for name in ("a.txt", "./a.txt", str(self.folder / "a.txt")):
            self.put("a.txt", b"\n\nX\n")
            done = self.run_program("run", name)
            self.assertEqual(done.stderr.split(b";")[0], name.encode() + b":3: unknown command 'X'")

    def test_a_file_that_is_no_command_file_does_not_flood(self):
        done = self.run_program("run", "-", input=b"nonsense\n" * 5000)
        lines = done.stderr.splitlines()
        self.assertEqual((done.returncode, len(lines)), (0, 1001))
        self.assertEqual(lines[-1], b"-:5000: 4000 more warnings are not shown; is this a command file?")

    def test_wrong_usage_is_2(self):
        self.put("a.txt")
        for arguments in (["run"], ["run", "a.txt", "b.txt"], ["run", "a.txt", "--nonsense"], ["run", "a.txt", "-o"],
                          ["run", "a.txt", "-b", "--best-first"], []):
            with self.subTest(arguments):
                done = self.run_program(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertNotEqual(done.stderr, b"")
                self.assertEqual(self.files(), ["a.txt"])

    def test_help_and_version(self):
        for arguments in (["--help"], ["help"]):
            done = self.run_program(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(b"run", done.stdout)
        texts = [self.run_program(*arguments) for arguments in (["help", "run"], ["run", "--help"])]
        self.check(texts[0], 0, texts[1].stdout)
        for word in (b"FILE", b"-b", b"--breadth-first", b"--best-first", b"-o", b"--strict", b"Exit status"):
            self.assertIn(word, texts[0].stdout)
        done = self.run_program("--version")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertRegex(done.stdout, rb"^escalona \d+\.\d+\.\d+ \(commit [\w-]+, .*\d.*\)\n$")

    def test_a_misspelt_subcommand_gets_a_suggestion(self):
        self.check(self.run_program("rnu", "a.txt"), 2, b"", b"escalona: 'rnu' is not a command; did you mean 'run'?\n")
        self.check(self.run_program("client", "stat"), 2, b"",
                   b"escalona client: 'stat' is not a command; did you mean 'stats'?\n")
        self.check(self.run_program("help", "client", "gte"), 2, b"",
                   b"escalona client: 'gte' is not a command; did you mean 'get'?\n")
        self.check(self.run_program("xyzzyxyzzy"), 2, b"",
                   b"escalona: 'xyzzyxyzzy' is not a command; `escalona --help` lists them\n")


class CompleteOrAbsent(InAFolder):
    def check_refused(self, done, message, files):
        self.check(done, 2, b"", message)
        self.assertRegex(message, rb"^[^:]+:\d+: [^;]+; [^;]+\n$")
        self.assertEqual(self.files(), files)

    def test_missing_file(self):
        self.check_refused(self.run_program("run", "a.txt"), b"a.txt:0: cannot be read: No such file or directory; give the "
                           b"name of a file you may read, or - for standard input\n", [])

    def test_a_missing_file_leaves_an_earlier_answer(self):
        self.put("a-out.txt", b"earlier")
        self.assertEqual(self.run_program("run", "a.txt").returncode, 2)
        self.assertEqual((self.folder / "a-out.txt").read_bytes(), b"earlier")

    def test_directory_as_file(self):
        (self.folder / "d.txt").mkdir()
        self.check_refused(self.run_program("run", "d.txt"),
                           b"d.txt:0: cannot be read: Is a directory; give the name of a file in it\n", ["d.txt"])
        self.assertEqual(self.run_program("run", "d.txt/").returncode, 2)

    def test_output_folder_is_missing(self):
        self.put("a.txt")
        self.check_refused(self.run_program("run", "a.txt", "-o", "no/x"), b"a.txt:0: no/x: cannot be written: No such file or "
                           b"directory; the folder must exist\n", ["a.txt"])
        self.check_refused(self.run_program("run", "a.txt", "-o", "a.txt/x"), b"a.txt:0: a.txt/x: cannot be written: Not a "
                           b"directory; the folder must exist\n", ["a.txt"])

    def test_an_empty_output_name_is_not_the_default(self):
        self.put("a.txt")
        self.check_refused(self.run_program("run", "a.txt", "-o", ""),
                           b"a.txt:0: the name of the output is empty; give one with -o\n", ["a.txt"])

    def test_messages_never_end_in_the_answer_when_standard_streams_are_closed(self):
        self.put("a.txt", b"nonsense\n" + COMMANDS)
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                (self.folder / "a-out.txt").unlink(missing_ok=True)
                done = self.run_program("run", "a.txt", prefix=("sh", "-c", f'"$0" "$@" {closed}'))
                self.assertEqual((done.returncode, done.stdout), (0, b""))
                self.assertEqual((self.folder / "a-out.txt").read_bytes(), ANSWER)
        for closed, arguments in (("<&-", ["run", "-"]), (">&-", ["run", "a.txt", "-o", "-"]), (">&-", ["--help"])):
            with self.subTest(arguments):
                done = self.run_program(*arguments, prefix=("sh", "-c", f'"$0" "$@" {closed}'))
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertNotEqual(done.stderr, b"")

    def test_output_is_a_directory(self):
        self.put("a.txt")
        (self.folder / "a-out.txt").mkdir()
        self.check_refused(self.run_program("run", "a.txt"), b"a.txt:0: a-out.txt: cannot be written: Is a directory; choose "
                           b"another place\n", ["a-out.txt", "a.txt"])

    def test_the_commands_are_never_replaced_by_the_answer(self):
        self.put("a.txt")
        (self.folder / "link").symlink_to("a.txt")
        os.link(self.folder / "a.txt", self.folder / "hard")
        for target in ("a.txt", "./a.txt", "link", "hard"):
            self.check_refused(self.run_program("run", "a.txt", "-o", target), b"a.txt:0: the answer would replace the "
                               b"commands; choose another place with -o\n", ["a.txt", "hard", "link"])
        with open(self.folder / "a.txt", "rb") as commands:
            self.assertEqual(self.run_program("run", "-", "-o", "a.txt", stdin=commands).returncode, 2)
        self.assertEqual((self.folder / "a.txt").read_bytes(), COMMANDS)

    def test_disk_full(self):
        self.put("a.txt")
        self.check_refused(self.run_program("run", "a.txt", "-o", "/dev/full"), b"a.txt:0: /dev/full: cannot be written: No "
                           b"space left on device; free some space or choose another place\n", ["a.txt"])
        with open("/dev/full", "wb") as full:
            done = self.run_program("run", "a.txt", "-o", "-", stdout=full)
        self.assertEqual((done.returncode, done.stderr), (2, b"a.txt:0: standard output: cannot be written: No space left on "
                                                            b"device; free some space or choose another place\n"))
        self.assertTrue(os.path.exists("/dev/full"))

    def test_a_full_disk_leaves_an_earlier_answer_and_no_other_file(self):
        # A limit on the size of files stands for the disk: the write fails in the middle of the answer.
        self.put("a.txt", b"ADD_URLS 20000\n" + b"".join(b"http://a.com/%d\n" % i for i in range(20000)) + b"ESCALONA_TUDO\n")
        self.put("a-out.txt", b"earlier")

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        self.check_refused(self.run_program("run", "a.txt", preexec_fn=limit), b"a.txt:0: a-out.txt: cannot "
                           b"be written: File too large; choose another place\n", ["a-out.txt", "a.txt"])
        self.assertEqual((self.folder / "a-out.txt").read_bytes(), b"earlier")

    def as_nobody(self):
        """A prefix that runs the program as a user who is not root, or a skipped test."""
        if os.geteuid() != 0:
            return ()
        prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.folder.chmod(0o755)
        if not shutil.which("setpriv") or self.run_program("--version", prefix=prefix).returncode != 0:
            self.skipTest("root may read everything, and nobody may not run the program")
        return prefix

    def test_unreadable_file(self):
        prefix = self.as_nobody()
        self.put("a.txt").chmod(0o000)
        done = self.run_program("run", "a.txt", "-o", "-", prefix=prefix)
        self.check_refused(done, b"a.txt:0: cannot be read: Permission denied; give the name of a file you may read, or - for "
                           b"standard input\n", ["a.txt"])

    def test_output_folder_not_writable(self):
        prefix = self.as_nobody()
        self.put("x/a.txt").chmod(0o644)
        (self.folder / "x").chmod(0o555)
        done = self.run_program("run", "x/a.txt", prefix=prefix)
        (self.folder / "x").chmod(0o755)
        self.check_refused(done, b"x/a.txt:0: x/a-out.txt: cannot be written: Permission denied; choose another place\n",
                           ["x", "x/a.txt"])

    def test_an_answer_that_is_write_protected_stays(self):
        prefix = self.as_nobody()
        self.put("x/a.txt").chmod(0o644)
        (self.folder / "x").chmod(0o777)
        self.put("x/a-out.txt", b"earlier").chmod(0o444)
        self.assertEqual(self.run_program("run", "x/a.txt", prefix=prefix).returncode, 2)
        self.assertEqual((self.folder / "x/a-out.txt").read_bytes(), b"earlier")

    def test_kill_9_leaves_neither_half_an_answer_nor_a_stray_file(self):
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_RDWR))
        except OSError:
            self.skipTest("this file system knows no nameless files")
        self.put("answer", b"earlier")
        process = subprocess.Popen([PROGRAM, "run", "-", "-o", "answer"], cwd=self.folder, stdin=subprocess.PIPE)
        count = 400_000  # an answer of some buffers
        process.stdin.write(b"ADD_URLS %d\n" % count + b"".join(b"http://a.com/%d\n" % i for i in range(count)) + b"ESCALONA_TUDO\n" +
                            b"\n" * (1 << 20))
        process.stdin.flush()

        def has_written():
            for fd in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
                try:
                    if "(deleted)" in os.readlink(fd) and fd.stat().st_size > 0:
                        return True
                except FileNotFoundError:
                    pass
            return False
        sleep_until(has_written)
        process.kill()
        process.wait()
        process.stdin.close()
        self.assertEqual(self.files(), ["answer"])
        self.assertEqual((self.folder / "answer").read_bytes(), b"earlier")

    def test_readers_see_the_earlier_answer_until_the_new_one_is_complete(self):
        self.put("answer", b"earlier")
        process = subprocess.Popen([PROGRAM, "run", "-", "-o", "answer"], cwd=self.folder, stdin=subprocess.PIPE)
        process.stdin.write(COMMANDS * 10000)
        process.stdin.flush()
        self.assertEqual((self.folder / "answer").read_bytes(), b"earlier")
        process.stdin.close()
        self.assertEqual(process.wait(), 0)
        self.assertEqual((self.folder / "answer").read_bytes(), ANSWER * 10000)
        self.assertEqual(self.files(), ["answer"])

    def test_a_file_cut_short_while_it_is_read_is_told(self):
        count = 200_000
        urls = "".join(f"http://site{i % 10}.com/a/long/enough/path/to/stay/{i}\n" for i in range(count))
        commands = self.put("commands.txt", f"ADD_URLS {count}\n{urls}ESCALONA_TUDO\n".encode())
        os.mkfifo(self.folder / "answer")
        with subprocess.Popen([PROGRAM, "run", "commands.txt", "-o", "answer"], cwd=self.folder,
                              stderr=subprocess.PIPE) as program:
            with open(self.folder / "answer", "rb") as answer:
                answer.read(1)  # from here on it is waiting to write more than the pipe holds
                os.truncate(commands, 0)
                answer.read()
            message = program.stderr.read()
        self.assertEqual(program.returncode, 2)
        self.assertIn(b"commands.txt:0: the file was cut short while it was read", message)

    def test_a_file_without_a_size_is_read(self):
        self.check(self.run_program("run", "/dev/stdin", "-o", "-", input=COMMANDS), stdout=ANSWER)
        self.check(self.run_program("run", "/proc/self/comm", "-o", "-"), stderr=b"/proc/self/comm:1: unknown "
                   b"command 'escalona'; command words are written in capitals: ESCALONA\n")

    @unittest.skipIf(SANITIZED, "a sanitizer needs the address space itself")
    def test_not_enough_memory(self):
        with open(self.folder / "a.txt", "wb") as file:
            file.write(b"ADD_URLS 9\nhttp://a.com/")
            for _ in range(100):
                file.write(b"x" * MEBIBYTE)
        done = self.run_program("run", "a.txt", preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (100 * MEBIBYTE, 100 * MEBIBYTE)))
        self.check_refused(done, b"a.txt:0: memory is used up; hand out URLs earlier or split the file\n", ["a.txt"])


class BadInput(InAFolder):
    def test_binary_garbage(self):
        for garbage in (bytes(range(256)) * 50, b"\xff\xfe" + "ESCALONA_TUDO\n".encode("utf-16-le"), b"\0" * 5000, b"\r\r\n\r"):
            done = self.run_program("run", "-", input=garbage)
            self.assertEqual((done.returncode, done.stdout), (0, b""))
            for line in done.stderr.splitlines():
                self.assertRegex(line, rb"^-:\d+: [ -~]+; [ -~]+$")

    def test_the_program_itself_as_commands(self):
        done = self.run_program("run", PROGRAM, "-o", "-")
        self.assertEqual(done.returncode, 0)

    def test_nul_bytes(self):
        self.check_answer(b"ADD_URLS 2\nhttp://a.com/\0x\nhttp://a\0/y\nLISTA_HOSTS\nESCALONA_TUDO\n",
                          b"a.com\na\0\nhttp://a.com/\0x\nhttp://a\0/y\n")
        done = self.run_program("run", "-", input=b"LISTA_HOSTS\0\nESCALONA 1\0\n")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.splitlines()[1], b"-:2: '1?' is not a whole number; write ESCALONA <n>")

    def test_numbers_out_of_range(self):
        done = self.run_program("run", "-", input=b"ADD_URLS 99999999999999999999\nLISTA_HOSTS\nESCALONA 99999999999999999999\n")
        self.check(done, 0, b"", b"-:1: number '99999999999999999999' is too large; write ADD_URLS <n> with n up to "
                   b"9223372036854775807\n-:3: number '99999999999999999999' is too large; write ESCALONA <n> with n up to "
                   b"9223372036854775807\n")
        self.check_answer(b"ADD_URLS -1\nADD_URLS -9223372036854775808\nESCALONA -1\nESCALONA_HOST a -1\nLISTA_HOSTS\n", b"")

    def test_a_negative_number_out_of_range_is_not_called_large(self):
        self.check(self.run_program("run", "-", input=b"ESCALONA -99999999999999999999\n"), 0, b"",
                   b"-:1: number '-99999999999999999999' is too small; write ESCALONA <n> with n from 0\n")

    def big_line(self, before, after):
        path = self.folder / "a.txt"
        with open(path, "wb") as file:
            file.write(before)
            for _ in range(100):
                file.write(b"x" * 1000000)
            file.write(after)
        return path

    def test_a_line_of_100_mb_as_url(self):
        self.big_line(b"ADD_URLS 3\nhttp://b.com/1\nhttp://a.com/", b"\nhttp://b.com/2\nESCALONA_TUDO\n")
        self.check(self.run_program("run", "a.txt"))
        with open(self.folder / "a-out.txt", "rb") as answer:
            self.assertEqual(answer.readline(), b"http://b.com/1\n")
            self.assertEqual(answer.readline(), b"http://b.com/2\n")
            self.assertEqual(answer.read(14), b"http://a.com/x")
            self.assertEqual(answer.seek(0, os.SEEK_END), 2 * 15 + 13 + 100000000 + 1)

    def test_a_line_of_100_mb_as_command(self):
        self.big_line(COMMANDS, b"\nLISTA_HOSTS\n")
        done = self.run_program("run", "a.txt", "-o", "-")
        self.assertEqual((done.returncode, done.stdout), (0, ANSWER + b"a.com\nb.com\n"))
        self.assertRegex(done.stderr, rb"^a.txt:5: unknown command 'x{40}\.\.\.'; commands are ADD_URLS, .*\n$")

    def test_a_huge_announced_count_takes_no_memory(self):
        self.put("a.txt", b"ADD_URLS 9223372036854775807\nhttp://a.com/1\n")
        process = subprocess.Popen([PROGRAM, "run", "a.txt"], cwd=self.folder)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss, (200 if SANITIZED else 40) * 1024)  # KiB
        self.assertEqual((self.folder / "a-out.txt").read_bytes(), b"")


class ProgressLine(InAFolder):
    def run_slowly(self, stderr):
        """A run of about a second, fed bit by bit."""
        process = subprocess.Popen([PROGRAM, "run", "-", "-o", "answer"], cwd=self.folder, stdin=subprocess.PIPE, stderr=stderr)
        for _ in range(10):
            process.stdin.write(COMMANDS * 100)
            process.stdin.flush()
            time.sleep(0.12)
        process.stdin.close()
        return process

    def test_on_a_terminal_it_comes_and_goes(self):
        master, terminal = pty.openpty()
        process = self.run_slowly(terminal)
        self.assertEqual(process.wait(), 0)
        os.close(terminal)
        shown = b""
        while select.select([master], [], [], 1)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:  # the terminal has no other side any more
                break
        os.close(master)
        self.assertRegex(shown, rb"\rescalona run: read: [0-9.]+ k?B")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-40:])
        self.assertNotIn(b"\n", shown)

    def test_elsewhere_there_is_none(self):
        process = self.run_slowly(subprocess.PIPE)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual(process.wait(), 0)


if __name__ == "__main__":
    unittest.main()

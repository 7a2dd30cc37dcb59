#!/usr/bin/env python3
"""Runs the tests that need a GPU under compute-sanitizer: what to do after changing a kernel, on a machine with a GPU.

    tests/sanitize.py build/default                                   all four tools, all GPUs, until all is done
    tests/sanitize.py build/default --tools racecheck --filter 'Reduce*:Scan*'
    tests/sanitize.py build/default --limit 600 --out seen.jsonl      what was not reached in ten minutes ...
    tests/sanitize.py build/default --resume seen.jsonl               ... is done now, and appended there
    tests/sanitize.py build/default --mps                             twice as fast, where an MPS server may be started

Under a tool a launch costs milliseconds and a process some seconds to start, so tests are packed into groups, a process
each, many at a time. A group is packed when a process is free: the longest test that waits, and others until the group
is a small part of all that is left. So the long ones come first, and little is lost when the time is up. How long a
test takes is known from an earlier --out (--weights, --resume); of others a guess is made.

All tests run but those whose parameter is "cpu" or begins with "cpu_", and those that fork, which a child of a process
under a tool does not survive. Of those with no device in their name some use a
GPU where one is, and some have no use for it: a clean one is then clean for want of anything to see.

Each group leaves one line of JSON in --out: tool, binary, its hash, exit status, summary, seconds, and for each test a
verdict and its seconds:

    clean       it passed, and the tool closed with no error
    reported    the tool closed with errors; a group of several is run again in halves
    failed      the test itself failed
    crashed     the process ended within it
    skipped     as the test itself says
    no GPU used the tool saw no call in the whole group
    not closed  it passed without a report, but the process was stopped before the tool's summary
    unfinished  stopped within it

What the tools say of findings goes to --out's name with ".bad" behind it. Exit status: 1 if there are findings
(reported, failed, crashed), else 2 if something was left (not closed, unfinished, not begun), else 0.
"""
import argparse
import collections
import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
BINARIES = ("core", "autograd", "ops", "nn")
START = 3  # seconds that a process takes before its first test
GUESS = 10  # seconds of a test that was never measured
LONGEST = 40  # seconds of a group, unless one test alone takes longer
JOBS = 8  # processes a GPU: an H200 did 590 launches a second for one, 1660 for 3, 2060 for 8, but 1020 for 20
JOBS_OF_MPS = 15  # the same where they share one server: 3240 for 8, 3940 for 15
FINDINGS = ("reported", "failed", "crashed")
DONE = ("clean", "skipped", "no GPU used")
VERDICTS = DONE + FINDINGS + ("not closed", "unfinished", "not begun")

Test = collections.namedtuple("Test", "tool binary name seconds")


# --- Which tests ------------------------------------------------------------------------------------------------------


def tests_of(binary, pattern):
    """The names of those that may use a GPU."""
    listing = subprocess.run([binary, "--gtest_list_tests", "--gtest_filter=" + pattern], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    names, suite = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word
        elif not re.search("DISABLED_|^Fork|/cpu(_[^/]*)?$", suite + word):
            names.append(suite + word)
    return names


def hash_of(binary):
    """Of the program, and of the library where that is shared."""
    linked = subprocess.run(["ldd", binary], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    digest = hashlib.sha256()
    for path in [binary] + re.findall(r"=> (\S*/libtally\S*)", linked):
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()[:16]


# --- What a run said --------------------------------------------------------------------------------------------------


def ends_in(output):
    """name -> (OK, FAILED or SKIPPED; seconds)"""
    found = re.findall(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \((\d+) ms\)$", output, re.M)
    return {name: (word, int(ms) / 1000) for word, name, ms in found}


def verdicts_of(group, output, status, stopped):
    """name -> (verdict, seconds) for the tests of a group, and the tool's summary."""
    ends, begun = ends_in(output), set(re.findall(r"^\[ RUN +\] (\S+)", output, re.M))
    summary = re.findall(r"[A-Z ]*SUMMARY: .*", output)
    failed = any(word == "FAILED" for word, _ in ends.values())
    clean = all(re.search("SUMMARY: 0 (errors|hazards)", line) for line in summary) and (status == 0 or failed)
    if "before first instrumented API call" in output:
        passed = "no GPU used"
    elif stopped or not summary:
        passed = "not closed"
    else:
        passed = "clean" if clean else "reported"
    # A process that is killed within a kernel takes the kernels of those with it that share its MPS server.
    words = {"OK": passed, "FAILED": "unfinished" if stopped else "failed", "SKIPPED": "skipped"}
    verdicts = {}
    for test in group:
        if test.name in ends:
            word, seconds = ends[test.name]
            verdicts[test.name] = (words[word], seconds)
        elif test.name in begun:
            verdicts[test.name] = ("unfinished" if stopped else "crashed", None)
        else:
            verdicts[test.name] = ("not begun" if stopped or begun else "crashed", None)
    return verdicts, [line.strip() for line in summary]


def lines_of(path):
    with open(path) as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                pass  # the line at which a run was stopped


# --- The work ---------------------------------------------------------------------------------------------------------


class Work:
    """All that waits, and what has become of the rest."""

    def __init__(self, tests, jobs, end):
        self.waiting = sorted(tests, key=lambda test: -test.seconds)
        self.halves = []  # of groups that were reported
        self.jobs, self.end = jobs, end
        self.running = 0
        self.changed = threading.Condition()

    def take(self):
        """The next group; none when all is done or the time is up."""
        with self.changed:
            while not (self.waiting or self.halves) and self.running and time.time() < self.end:
                self.changed.wait(1)
            group = self.pack() if time.time() < self.end else []
            self.running += bool(group)
            return group

    def pack(self):
        if self.halves:
            return self.halves.pop()
        if not self.waiting:
            return []
        left = self.end - time.time()
        share = sum(test.seconds for test in self.waiting) / (3 * self.jobs)
        room = min(max(share, 2 * START), LONGEST, left - START)
        # The longest that can still end, or at least the shortest.
        first = next((test for test in self.waiting if test.seconds < left - START), self.waiting[-1])
        group, rest, full = [first], [], first.seconds
        for test in self.waiting:
            if test is first:
                continue
            if (test.tool, test.binary) == (first.tool, first.binary) and full + test.seconds <= room:
                group.append(test)
                full += test.seconds
            else:
                rest.append(test)
        self.waiting = rest
        return group

    def give_back(self, group, verdicts):
        with self.changed:
            self.running -= 1
            words = {test: verdicts[test.name][0] for test in group}
            reported = [test for test in group if words[test] == "reported"]
            if len(group) > 1 and reported:
                middle = (len(reported) + 1) // 2
                self.halves += [half for half in (reported[:middle], reported[middle:]) if half]
            if "crashed" in words.values():
                self.waiting += [test for test in group if words[test] in ("not closed", "not begun")]
                self.waiting.sort(key=lambda test: -test.seconds)
            self.changed.notify_all()


def run(sanitizer, options, group, gpu, work):
    """Output and exit status of a group, and whether it was stopped."""
    command = [sanitizer, "--report-api-errors", "no", "--tool", group[0].tool, *options.split(), group[0].binary,
               "--gtest_filter=" + ":".join(test.name for test in group)]
    process = subprocess.Popen(command, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               env=dict(os.environ, CUDA_VISIBLE_DEVICES=gpu), start_new_session=True)
    while True:
        try:
            return process.communicate(timeout=1)[0], process.returncode, False
        except subprocess.TimeoutExpired:
            if time.time() > work.end:
                os.killpg(process.pid, signal.SIGKILL)
                return process.communicate()[0], None, True


def gpus_here(count):
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        names = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    elif not shutil.which("nvidia-smi"):
        names = []
    else:
        listed = subprocess.run(["nvidia-smi", "-L"], text=True, stdout=subprocess.PIPE).stdout
        names = [str(i) for i in range(len(re.findall(r"^GPU", listed, re.M)))]
    return names[:count] if count else names


class Mps:
    """A server of one's own, through which the kernels of several processes run side by side."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        os.environ.update(CUDA_MPS_PIPE_DIRECTORY=self.folder, CUDA_MPS_LOG_DIRECTORY=self.folder)
        visible = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True, env=visible)

    def __exit__(self, *_):
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog="More at the head of this file.")
    parser.add_argument("build", metavar="BUILD_DIR")
    parser.add_argument("--tools", default=",".join(TOOLS), help="default: all four")
    parser.add_argument("--filter", default="*", metavar="GLOB", help="as GoogleTest's")
    parser.add_argument("--jobs", type=int, metavar="N",
                        help="processes; default: %d a GPU, %d with --mps" % (JOBS, JOBS_OF_MPS))
    parser.add_argument("--mps", action="store_true", help="through a server of nvidia-cuda-mps-control")
    parser.add_argument("--gpus", type=int, metavar="N", help="default: all")
    parser.add_argument("--limit", type=float, default=10**6, metavar="SECONDS")
    parser.add_argument("--out", metavar="FILE", help="default: sanitize.jsonl in BUILD_DIR")
    parser.add_argument("--resume", metavar="FILE",
                        help="leave out what this earlier --out has clean of the same binaries")
    parser.add_argument("--weights", metavar="FILE", help="an earlier --out, of whatever binaries, for its seconds")
    parser.add_argument("--options", default="", metavar="WORDS", help="further options of compute-sanitizer")
    options = parser.parse_args()
    options.tools = options.tools.split(",")
    if not set(options.tools) <= set(TOOLS):
        parser.error("tools are " + ", ".join(TOOLS))
    options.out = options.out or options.resume or os.path.join(options.build, "sanitize.jsonl")
    return options


def main():
    options = arguments()
    end = time.time() + options.limit - 5  # for what comes after
    sanitizer = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    gpus = gpus_here(options.gpus)
    options.jobs = options.jobs or (JOBS_OF_MPS if options.mps else JOBS) * len(gpus)
    binaries = [os.path.join(options.build, "tests", "tally_%s_tests" % folder) for folder in BINARIES]
    binaries = [binary for binary in binaries if os.path.exists(binary)]
    needed = {"compute-sanitizer": sanitizer, "GPU": gpus, "test program in " + options.build: binaries}
    if options.mps:
        needed["nvidia-cuda-mps-control"] = shutil.which("nvidia-cuda-mps-control")
    for what, there in needed.items():
        if not there:
            sys.stderr.write("no %s\n" % what)
            return 2

    # What is known, and what is to do.
    hashes = {os.path.basename(binary): hash_of(binary) for binary in binaries}
    state, measured = {}, {}  # (tool, test) -> verdict, seconds
    for path in filter(None, (options.weights, options.resume)):
        for line in lines_of(path):
            for name, (verdict, seconds) in line["tests"].items():
                if seconds is not None:
                    measured[line["tool"], name] = seconds
                if path == options.resume and verdict in DONE and hashes.get(line["binary"]) == line["hash"]:
                    state[line["binary"], line["tool"], name] = verdict
    tests = []
    for binary in binaries:
        program = os.path.basename(binary)
        for name in tests_of(binary, options.filter):
            for tool in options.tools:
                if (program, tool, name) in state:
                    continue
                state[program, tool, name] = "not begun"
                known = [measured[t, name] for t in (tool,) + TOOLS if (t, name) in measured]
                tests.append(Test(tool, binary, name, known[0] if known else GUESS))
    print("%d runs of a test under a tool, %d of them measured before; %d processes on %d GPUs" %
          (len(tests), sum(test.seconds != GUESS for test in tests), options.jobs, len(gpus)), flush=True)

    work = Work(tests, options.jobs, end)
    begin, groups, findings, shown = time.time(), 0, 0, time.time()
    mode = "a" if options.out == options.resume else "w"
    log, bad = open(options.out, mode), open(options.out + ".bad", mode)

    def worker(gpu):
        nonlocal groups, findings, shown
        while group := work.take():
            started = time.time()
            output, status, stopped = run(sanitizer, options.options, group, gpu, work)
            verdicts, summary = verdicts_of(group, output, status, stopped)
            tool, program = group[0].tool, os.path.basename(group[0].binary)
            line = {"tool": tool, "binary": program, "hash": hashes[program], "rc": status, "summary": summary,
                    "seconds": round(time.time() - started, 1), "tests": verdicts}
            with work.changed:
                groups += 1
                for name, (verdict, _) in verdicts.items():
                    if state[program, tool, name] not in FINDINGS or verdict in DONE + FINDINGS:
                        state[program, tool, name] = verdict
                log.write(json.dumps(line) + "\n")
                log.flush()
                if any(verdict in FINDINGS for verdict, _ in verdicts.values()):
                    findings += 1
                    bad.write("--- %s %s, status %s\n%s\n" % (tool, program, status, output[-100000:]))
                    bad.flush()
                if time.time() > shown + 30:
                    shown = time.time()
                    print("%4.0f s: %d groups, %d with findings; %d tests wait" %
                          (shown - begin, groups, findings, len(work.waiting)), flush=True)
            work.give_back(group, verdicts)

    workers = [threading.Thread(target=worker, args=(gpus[i % len(gpus)],)) for i in range(options.jobs)]
    with Mps() if options.mps else contextlib.nullcontext():
        for thread in workers:
            thread.start()
        try:
            for thread in workers:
                thread.join()
        except KeyboardInterrupt:  # says what was seen so far
            work.end = 0
            for thread in workers:
                thread.join()

    counts = collections.Counter((tool, verdict) for (_, tool, _), verdict in state.items())
    shown = [verdict for verdict in VERDICTS if verdict == "clean" or any(counts[tool, verdict] for tool in TOOLS)]
    print("%-10s" % "" + "".join("%12s" % verdict for verdict in shown))
    for tool in options.tools:
        print("%-10s" % tool + "".join("%12d" % counts[tool, verdict] for verdict in shown))
    print("of %d tests, %d have no device in their name and may have launched nothing" %
          (len({(program, name) for program, _, name in state}),
           len({(program, name) for program, _, name in state if "/cuda" not in name})))
    print("%d groups in %.0f s; %s" % (groups, time.time() - begin, options.out))
    if findings:
        print("%d groups with findings: %s" % (findings, bad.name))
    if findings:
        return 1
    return 0 if all(verdict in DONE for verdict in state.values()) else 2


if __name__ == "__main__":
    sys.exit(main())

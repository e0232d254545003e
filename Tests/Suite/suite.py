"""Runs the tests of `scripts/test` and reports what each phase took, the ten slowest tests, and failures.

    suite.py --programs DIR [--browser] [--long] [--sanitized]

Each job is a process of its own with a log, a limit, and the processor seconds of itself and of everything that it
starts, daemons included: this process is the reaper of orphans. A process runs its tests one after another, so that
the time of each is its own. The jobs of a tier run at once, because tests of the programs mostly wait.

The suite has a budget (BUDGET), in processor seconds of a reference machine. While the tests run, a fixed computation
tells again and again how fast this machine is: processors that share a core, or a host, with others are slower than
before the tests. A suite that grows past its budget by a fifth fails.
"""
from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PR_SET_CHILD_SUBREAPER = 36

# Processor seconds of the tests on the reference machine (two cores of a virtual Intel Xeon), the build left out.
BUDGET = 1150
BUDGET_WITH_BROWSERS = 1650
# What the fixed computation takes on the reference machine beside the tests, in processor seconds.
REFERENCE = 0.1

# Suites that take long are jobs of their own. The others of a target are shared out among so many jobs.
LONG = ("MountTests.FullDiskTests", "MountTests.KillTests", "MountTests.LivingCopyTests", "MountTests.AlbumTests",
        "MountTests.WritableBucketTests", "ThumbnailTests.FreshMemoryTests")
SHARES = {"MountTests": 5, "GalleryTests": 3, "ThumbnailTests": 3, "CLITests": 2, "CrashTests": 1,
          "AlbumStoreTests": 1}


class Job:
    """A command that runs in the background, with its output in a file."""

    def __init__(self, name: str, words: list[str], limit: int, logs: Path) -> None:
        self.name, self.limit = name, limit
        self.log = logs / name
        self.begun = time.monotonic()
        self.wall = self.processor = 0.0
        self.code: int | None = None
        with self.log.open("wb") as output:
            # A group of its own, so that a job that exceeds its limit ends as a whole.
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT,
                start_new_session=True)

    def end(self, status: int, usage: resource.struct_rusage) -> None:
        self.code = os.waitstatus_to_exitcode(status)
        self.wall = time.monotonic() - self.begun
        self.processor = usage.ru_utime + usage.ru_stime

    def stop_if_late(self) -> None:
        if self.code is None and time.monotonic() - self.begun > self.limit:
            with self.log.open("ab") as output:
                output.write(f"error: {self.name} exceeded its limit of {self.limit} s\n".encode())
            os.killpg(self.process.pid, signal.SIGKILL)

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")


class Pace:
    """How fast this machine is while the tests run: the mean processor seconds of a fixed computation."""

    INTERVAL = 15

    def __init__(self) -> None:
        self.samples: list[float] = []
        self.due = 0.0

    def sample(self) -> None:
        """Runs the computation if the last time is long ago."""
        if time.monotonic() < self.due:
            return
        begun = time.process_time()
        block = b"albumfs" * 1000
        for _ in range(2500):
            block = hashlib.sha256(block).digest() * 219
            sum(block)
        self.samples.append(time.process_time() - begun)
        self.due = time.monotonic() + self.INTERVAL

    @property
    def ratio(self) -> float:
        """The speed of this machine beside the reference machine."""
        return REFERENCE / (sum(self.samples) / len(self.samples))


def run(jobs: list[Job], pace: Pace) -> float:
    """Waits for all jobs, and looks how fast the machine is. Returns the processor seconds of orphans, mostly daemons, which belong to no job."""
    orphans = 0.0
    by_process = {job.process.pid: job for job in jobs}
    while any(job.code is None for job in jobs):
        process, status, usage = os.wait4(-1, os.WNOHANG)
        if process == 0:
            for job in jobs:
                job.stop_if_late()
            pace.sample()
            time.sleep(0.05)
        # The kernel gives the number of a job that ended to another process.
        elif job := by_process.pop(process, None):
            job.end(status, usage)
            job.process.returncode = job.code
            print(f"{'ok  ' if job.code == 0 else 'FAIL'} {job.name:18} {job.wall:6.0f} s, "
                  f"{job.processor:5.0f} s of processor", flush=True)
        else:
            orphans += usage.ru_utime + usage.ru_stime
    return orphans


def clear_mounts() -> None:
    """Removes the mounts that a killed test has left. Aborts their connections first: their daemons may hang."""
    prefix = os.environ.get("TMPDIR", "/tmp") + "/albumfs-test-"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if " fuse.albumfs " not in line or not (fields := line.split())[4].startswith(prefix):
            continue
        try:
            Path(f"/sys/fs/fuse/connections/{fields[2].split(':')[1]}/abort").write_text("1")
        except OSError:
            pass
        if subprocess.run(["fusermount3", "-uz", fields[4]], stderr=subprocess.DEVNULL).returncode != 0:
            subprocess.run(["umount", "-l", fields[4]], stderr=subprocess.DEVNULL)


def tests(text: str) -> Iterator[tuple[float, str]]:
    """The tests of a log, with their seconds."""
    for match in re.finditer(r'Test (?!run )(\S.*?) (?:with \d+ test cases? )?(?:passed|failed) after ([0-9.]+) seconds',
                             text):
        yield float(match[2]), match[1]


def suite_jobs(program: str) -> tuple[dict[str, list[str]], int]:
    """The processes that run the Swift tests, every suite in one of them; and the number of tests."""
    words = [program, "--testing-library", "swift-testing"]
    listed = subprocess.run([*words, "--list-tests"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = {line for line in listed.splitlines() if "/" in line}
    suites = sorted({name.partition("/")[0] for name in names})
    members: dict[str, list[str]] = {}
    for place, suite in enumerate(suites):
        target, _, name = suite.partition(".")
        if suite in LONG:
            members[name] = [suite]
        elif target in SHARES:
            members.setdefault(f"{target} {place % SHARES[target] + 1}", []).append(suite)
        else:
            members.setdefault("others", []).append(suite)
    return {name: [*words, "--no-parallel", "--filter", f"^({'|'.join(map(re.escape, some))})/"]
            for name, some in members.items()}, len(names)


def counts(text: str) -> tuple[int, int]:
    """The numbers of tests in a log that ended, and of those that failed."""
    total = sum(int(number) for number in re.findall(r"Test run with (\d+) tests? in", text))
    failed = len(re.findall(r"^✘ Test (?!run |case ).* failed after", text, re.MULTILINE))
    return total, failed


def report_failure(job: Job) -> None:
    """Repeats at the end what failed, because a reader may see the end of the output alone."""
    wanted = re.compile(r"✘|error:|Fatal|violat|exceeded|Traceback|^attack|^FAIL")
    lines = job.text.splitlines()
    print(f"\n{job.name} failed with exit code {job.code}:", file=sys.stderr)
    print("\n".join([line for line in lines if wanted.search(line)][-40:] + lines[-5:]), file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, type=Path)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--sanitized", action="store_true")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    logs = Path(tempfile.mkdtemp(prefix="albumfs-suite-"))
    limit = 43200 if options.long else 7200 if options.sanitized else 2700

    programs = str(options.programs)
    commands, listed = suite_jobs(f"{programs}/albumfsPackageTests.xctest")
    commands["model"] = ["Tests/CopyModel/run", *(["--count", "100000"] if options.long else ["--quick"])]
    commands["fence"] = [
        "python3", "-B", "Tests/FenceModel/model.py", "--histories", "200000" if options.long else "20000"]
    commands["history"] = [
        "python3", "-B", "Tests/HistoryModel/model.py", "--histories", "20000" if options.long else "300"]
    if options.long:
        commands["kills"] = ["python3", "-B", "Tests/ObjectStorage/kills.py", "--programs", programs]
        commands["rgw"] = ["python3", "-B", "Tests/ObjectStorage/rgw.py", "--programs", programs]
        for name in ("nfs", "cephfs"):
            commands[name] = ["python3", "-B", f"Tests/NetworkStores/{name}.py", "--programs", programs]
    if options.browser:
        # A debug build plays the game too: its core is optimised.
        commands["attack"] = [
            "scripts/attack", "--quick", "--minutes", "25", "--albumfs", f"{programs}/albumfs"]
        commands["profile"] = ["scripts/check-pages", "--profile", "--programs", programs]
        commands["webkit"] = ["scripts/check-pages", "--webkit", "--programs", programs]
    pace = Pace()
    try:
        jobs = [Job(name, words, limit, logs) for name, words in commands.items()]
        orphans = run(jobs, pace)
    finally:
        clear_mounts()
    failures = [job for job in jobs if job.code != 0]
    total = failed = 0
    for job in jobs:
        some, bad = counts(job.text)
        total, failed = total + some, failed + bad
    print("\nThe slowest tests:")
    for seconds, name in sorted((test for job in jobs for test in tests(job.text)), reverse=True)[:10]:
        print(f"{seconds:7.1f} s  {name}")
    spent = sum(job.processor for job in jobs) + orphans
    budget = BUDGET_WITH_BROWSERS if options.browser else BUDGET
    print(f"\nProcessor seconds: {spent:.0f}, of these {orphans:.0f} of daemons; "
          f"{spent * pace.ratio:.0f} on the reference machine, which may spend {budget}.")
    for job in failures:
        report_failure(job)
    problems = []
    if not (options.long or options.sanitized) and spent * pace.ratio > 1.2 * budget:
        problems.append("the suite has grown past its budget by a fifth: make tests faster, or give reasons for a "
                        "larger budget in Tests/Suite/suite.py")
    if total < listed and not failures:
        problems.append(f"only {total} of {listed} tests ran")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    # A runner that crashed counts as one failure.
    failed = max(failed, len(failures))
    print(f"{total - failed} passed, {failed} failed")
    shutil.rmtree(logs)
    return 1 if failures or problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""Measures albumfs beside other encrypted file systems, and beside passthrough_ll, which does not encrypt.

    scripts/bench                     three rounds in memory, prints the table
    scripts/bench --quick             small sizes; two minutes
    scripts/bench --peers gocryptfs,albumfs --rounds 5 --disk /var/tmp
    scripts/bench --scaling           sizes 1, 10 and 100, and how the times grow
    scripts/bench --profile write     where the daemon of albumfs spends its time in one row
    scripts/bench --gallery           the rows of the gallery instead; also with --quick
    scripts/bench --remote            with the files in an object storage at a distance; also with --quick
    scripts/bench --history           what deleted files and snapshots cost; also with --quick

Each round gives every peer a new store and runs all workloads on it, one peer after the other; the next round begins
with another peer. Where a row says cold, the page cache was dropped before. What was read is compared with what was
written; a row that fails loses its own cell.

Where to read: workloads.py (the rows), peers.py (the file systems), rounds.py (the order of a run), content.py (what
is copied), measuring.py (programs under a time limit), report.py and chart.py (the tables), history.py (what history
costs). remote.py has the rows with an object storage, distant.py the storage and the network. gallery.py has the rows
of the gallery, gallery_client.py the client, page_times.py what happens in the browser.
"""
from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import platform
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import chart
import content
import history
import measuring
import remote
import report
from content import Sizes
from gallery import GalleryBench
from measuring import Failed, Interrupts, run
from peers import Peer, find_peers
from report import Table
from rounds import GIB, Bench, say
from workloads import FIRST, SECOND

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "Sources/albumfs/Documentation.docc/Speed.svg"
PAGE = CHART.with_suffix(".md")
README = ROOT / "README.md"


def make_top() -> tuple[Path, str]:
    """Makes a directory in memory, and says which kind: a tmpfs of its own, else the machine's."""
    top = Path(tempfile.mkdtemp(prefix="albumfs-bench-"))
    try:
        run(["mount", "-t", "tmpfs", "-o", "size=75%,mode=700", "albumfs-bench", str(top)], limit=20)
        return top, "tmpfs"
    except (Failed, FileNotFoundError):
        os.rmdir(top)
    if os.access("/dev/shm", os.W_OK):
        return Path(tempfile.mkdtemp(prefix="albumfs-bench-", dir="/dev/shm")), "tmpfs of the machine"
    return Path(tempfile.mkdtemp(prefix="albumfs-bench-")), "the file system of TMPDIR"


def parse() -> argparse.Namespace:
    rows = ", ".join(one.key for one in FIRST + SECOND if one.title)
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__, epilog=f"Rows: {rows}.",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--albumfs", type=Path, required=True,
                        help="the program, with albumfs-thumbnailer beside it; by default a release build")
    parser.add_argument("--quick", action="store_true", help="small sizes, in two minutes; shows no fine differences")
    parser.add_argument("--size", type=float, default=1, metavar="FACTOR",
                        help="multiplies the numbers and sizes of all files; 0.25 takes a quarter of the time")
    parser.add_argument("--rounds", type=int, help="the number of rounds; 3, with --history 13")
    parser.add_argument("--minutes", type=float, help="starts no further round after this many minutes")
    parser.add_argument("--limit", type=float, help="seconds that one row of one peer may take; 180, or 20 with --quick")
    parser.add_argument("--peers", help="only these, separated by commas; `albumfs` stands for all its variants, "
                        "and is always measured with --remote")
    parser.add_argument("--disk", type=Path, metavar="DIR", help="keeps the stores in this directory, not in memory")
    parser.add_argument("--photos", type=Path, metavar="DIR", help="copies the JPEGs of this directory")
    parser.add_argument("--scaling", action="store_true", help="measures sizes 1, 10 and 100 one after the other")
    parser.add_argument("--many", type=int, metavar="FILES",
                        help="mounts and lists so many files, 100,000 times the size; with --history, removes so many, "
                             "1,000,000")
    parser.add_argument("--gallery", action="store_true",
                        help="measures the gallery instead; --many is then the number of photos in the large space")
    parser.add_argument("--remote", action="store_true",
                        help="measures albumfs, rclone, JuiceFS and s3fs with gocryptfs with their files in an object "
                             "storage, at a round trip of 20 and of 40 ms; counts requests, and says what they cost "
                             "(prices.py)")
    parser.add_argument("--history", action="store_true",
                        help="measures the work with history and without instead, and the memory that a million removed "
                             "files take; fails above a ratio of 1.03 and 80 bytes for each file")
    parser.add_argument("--playwright", type=Path, metavar="PYTHON",
                        help="the Python with Playwright for --gallery; scripts/playwright prints it")
    parser.add_argument("--profile", metavar="ROW", help="runs perf on the daemon of albumfs in this row, one round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes all samples into this file")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draws the chart into this file, as SVG")
    parser.add_argument("--write", action="store_true",
                        help="writes the table into Speed.md, some of its rows into README.md, and the chart; "
                             "with --remote, its tables into Speed.md")
    options = parser.parse_args()
    if options.profile and options.profile not in {one.key for one in FIRST + SECOND if one.title}:
        parser.error(f"the rows are {rows}")
    if options.profile and not shutil.which("perf"):
        parser.error("perf is missing; Debian's package is linux-perf")
    if options.gallery and (not options.playwright or options.scaling or options.profile or options.write):
        parser.error("--gallery needs --playwright, and goes without --scaling, --profile and --write")
    if options.rounds is None:
        # The rows of history differ by less than one run from the next.
        options.rounds = 13 if options.history else 3
    if options.history and (options.gallery or options.scaling or options.profile or options.write):
        parser.error("--history goes without --gallery, --scaling, --profile and --write")
    if options.remote and (options.gallery or options.history or options.scaling or options.profile):
        parser.error("--remote goes without --gallery, --history, --scaling and --profile")
    if options.write and not options.chart:
        options.chart = CHART
    options.limit = options.limit or (20 if options.quick else 180)
    options.minutes = options.minutes or (0.8 if options.quick else 600)
    options.albumfs = options.albumfs.resolve()
    return options


def choose(peers: list[Peer], options: argparse.Namespace) -> list[Peer]:
    wanted = "albumfs" if options.profile else options.peers
    if not wanted:
        return peers
    names = [name.strip().lower() for name in wanted.split(",")]
    chosen = [peer for peer in peers if peer.name.lower().partition(",")[0] in names]
    if not chosen:
        raise SystemExit(f"there is no such peer; there are {', '.join(peer.name for peer in peers)}")
    return chosen


def words_of(*words: str) -> str:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, cwd=ROOT)
    return done.stdout.strip()


def describe(options: argparse.Namespace, backing: str) -> dict[str, object]:
    """The machine and the run."""
    model = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    versions = {package: words_of("dpkg-query", "-W", "-f=${Version}", package)
                for package in ("gocryptfs", "securefs", "cryfs", "encfs", "libfuse3-3")}
    own = ("--albumfs", "--playwright")
    words = [word for place, word in enumerate(sys.argv[1:], 1)
             if not word.startswith(own) and sys.argv[place - 1] not in own]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "command": shlex.join(["scripts/bench", *words]),
        "commit": words_of("git", "describe", "--always", "--dirty"),
        "processor": model[0] if model else platform.machine(),
        "cores": os.cpu_count(),
        "memory": f"{memory:.0f} GiB",
        "kernel": platform.release(),
        "backing": str(options.disk) if options.disk else backing,
        "cold": "page cache dropped" if measuring.can_drop_caches() else "mounted anew",
        "load": os.getloadavg(),
        "versions": {package: version for package, version in versions.items() if version},
    }


def touching(about: dict) -> str:
    """First touches of memory dominate on a fresh virtual machine."""
    return "" if about["touched"] == "0.0 GiB" else f", {about['touched']} of memory touched before"


def busy(about: dict) -> str:
    if about["load"][0] <= about["cores"] / 2:
        return ""
    return "Other programs kept the machine busy: a ratio says nothing if its brackets contain 1."


def summary(about: dict, table: Table, missing: list[str]) -> str:
    rounds = max((len(cell.samples) for row in table.cells.values() for cell in row.values()), default=0)
    lines = [f"`{about['command']}` on {about['date']}, commit {about['commit'] or 'unknown'}: medians of {rounds} "
             f"round{'s' * (rounds != 1)} on "
             f"{about['cores']} cores of {about['processor']}, {about['memory']}, Linux {about['kernel']}, stores in "
             f"{about['backing']}{touching(about)}; load average {about['load'][0]:.1f} at the start. The last columns "
             "are albumfs beside the best peer that encrypts, and in brackets the least and the most of single rounds. A dash stands "
             "where the peer cannot mount without deriving a key."]
    lines += [sentence] if (sentence := busy(about)) else []
    lines += [f"Not measured: {reason}." for reason in missing]
    lines += [f"Failed: {problem.removeprefix('* ')}." for problem in report.failures(table).splitlines()]
    return " ".join(lines)


def work_on_gallery(bench: Bench, options: argparse.Namespace, about: dict) -> int:
    results = GalleryBench(bench, options).measure()
    print(results.text())
    print(f"`{about['command']}` on {about['date']}, commit {about['commit'] or 'unknown'}: medians of {options.rounds} "
          f"rounds on {about['cores']} cores of {about['processor']}, {about['memory']}, Linux {about['kernel']}, stores "
          f"in {about['backing']}, client and server on one machine; load average {about['load'][0]:.1f} at the start.")
    if options.json:
        options.json.write_text(json.dumps(about | {"gallery": results.as_json()}, indent=1) + "\n")
    return 1 if results.failures else 0


def work_on_history(bench: Bench, options: argparse.Namespace, about: dict) -> int:
    work = history.HistoryBench(bench, options)
    table = work.measure()
    rows, is_fast = history.text(table, work.used)
    print(rows)
    memory, is_small = history.memory_text(*work.memory_of_removal())
    print(memory)
    print(f"`{about['command']}` on {about['date']}, commit {about['commit'] or 'unknown'}: {options.rounds} rounds on "
          f"{about['cores']} cores of {about['processor']}, Linux {about['kernel']}, stores in {about['backing']}; load "
          f"average {about['load'][0]:.1f} at the start.")
    if options.json:
        options.json.write_text(json.dumps(about | {"history": report.as_json(table)}, indent=1) + "\n")
    return 0 if is_fast and is_small else 1


def work_on_remote(bench: Bench, options: argparse.Namespace, about: dict) -> int:
    work = remote.RemoteBench(bench, options)
    work.measure()
    text = work.text()
    below = (f"`{about['command']}` on {about['date']}, commit {about['commit'] or 'unknown'}: medians of "
             f"{options.rounds} round{'s' * (options.rounds != 1)} on {about['cores']} cores of {about['processor']}, "
             f"Linux {about['kernel']}, SeaweedFS and all machines on this one, in {about['backing']}; load average "
             f"{about['load'][0]:.1f} at the start. {busy(about)} {work.notes()}")
    print(f"{text}\n\n{below}")
    if options.write:
        report.write_remote(PAGE, text, below)
    if options.json:
        options.json.write_text(json.dumps(about | {"remote": work.as_json()}, indent=1) + "\n")
    return 1 if work.has_failed else 0


def work(bench: Bench, options: argparse.Namespace, about: dict) -> int:
    found, missing = find_peers(options.albumfs, bench.top)
    peers = choose(found, options)
    for reason in missing:
        print(f"not measured: {reason}", file=sys.stderr)
    factors = (1, 10, 100) if options.scaling else (1,)
    sizes: Sizes = content.SCALED if options.scaling else content.QUICK if options.quick else content.FULL
    tables: dict[int, Table] = {}
    for factor in factors:
        say("making files and pictures")
        folder = bench.top / "inputs"
        inputs = content.make_inputs(folder, sizes.times(factor * options.size, options.many), options.photos)
        touched = 0 if options.disk else content.touch_memory(bench.folder, 2 * inputs.content_bytes)
        about["touched"] = f"{touched / GIB:.1f} GiB"
        tables[factor] = bench.measure(peers, inputs, 1 if options.profile else options.rounds)
        if factor != factors[-1]:
            shutil.rmtree(folder)
    table = tables[factors[-1]]
    if options.profile:
        return 0
    print(report.growth(tables) if options.scaling else report.text(table))
    if problems := "\n".join(filter(None, (report.failures(tables[factor]) for factor in factors[:-1]))):
        print(problems)
    print(summary(about, table, missing))
    if options.json:
        runs = [{"factor": factor, "rows": report.as_json(one)} for factor, one in tables.items()]
        options.json.write_text(json.dumps(about | {"missing": missing, "runs": runs}, indent=1) + "\n")
    if options.chart:
        options.chart.write_text(chart.draw(table, f"{about['command']}, {about['date']}, {about['processor']}, "
                                            f"{about['cores']} cores, {about['backing']}"))
    if options.write:
        report.write(PAGE, README, table, options.chart, summary(about, table, missing))
    own = [row[peer.name] for row in table.cells.values() for peer in table.own()]
    return 1 if any(cell.failure for cell in own) else 0


def main() -> int:
    options = parse()
    Interrupts.install()
    # passthrough_ll holds a descriptor for each file that the kernel knows.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with contextlib.ExitStack() as stack:
        with Interrupts.deferred():
            top, backing = make_top()
            stores = top / "stores"
            if options.disk:
                stores = Path(tempfile.mkdtemp(prefix="albumfs-bench-", dir=options.disk.resolve()))
            else:
                stores.mkdir()
            bench = Bench(options, top, stores)
            stack.callback(bench.clean_up)
        act = work_on_gallery if options.gallery else work_on_history if options.history else \
            work_on_remote if options.remote else work
        return act(bench, options, describe(options, backing))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        try:
            sys.exit(main())
        except KeyboardInterrupt:
            sys.exit(130)

"""Plays the game "is there a second space?" on real stores, for each kind of observer.

    scripts/attack                    makes 320 stores, plays every game, prints the table
    scripts/attack --readme           writes the table into README.md, too
    scripts/attack --quick            what scripts/test runs: 48 stores; fails where one copy tells
    scripts/attack --seed 7 --stores 40 --albumfs .build/debug/albumfs --tmpfs

Where to read: lives.py (which stores are made, and what makes the game fair), driver.py (runs the
programs), traces.py (what a store shows), features.py (the observers), game.py (the statistics),
report.py (the table).
"""
from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import features
import game
import report
from driver import Failed, Store, clean_up
from features import Features, Record
from lives import Life, Plan, can_add_chaff, make_photos, make_plan
from traces import Copy, take_copy

# Pool, and whether the owner adds chaff by hand, of stores that are made in turn.
FULL = (("one", False), ("total", False), ("first", False), ("one", True),
        ("one", False), ("total", True), ("first", False), ("one", True))
QUICK = (("one", False), ("total", False), ("one", True), ("total", True), ("first", False))

Choice = Callable[[Record], bool]


def in_pool(pool: str, has_claimed_chaff: bool | None = None) -> Choice:
    return lambda record: record.pool == pool and has_claimed_chaff in (None, record.has_claimed_chaff)


ONE, MORE = in_pool("one"), in_pool("total")
PLAIN, CHAFF, HIDDEN = in_pool("one", False), in_pool("one", True), in_pool("first")

# Observer, what it sees, the stores with one space and those with more.
GAMES: tuple[tuple[str, Callable[[Record], Features], Choice, Choice], ...] = (
    ("one copy, no times", features.flat, ONE, MORE),
    ("one copy with times", features.timed, ONE, MORE),
    ("one copy, no times, first password", features.flat_with_password, PLAIN, HIDDEN),
    ("the same, owner says \"I added chaff\"", features.flat_with_password, CHAFF, HIDDEN),
    ("one copy with times, first password", features.timed_with_password, PLAIN, HIDDEN),
    ("the same, owner says \"I added chaff\"", features.timed_with_password, CHAFF, HIDDEN),
    ("two copies with times", features.two_copies, ONE, MORE),
    ("two copies, first password", features.two_copies_with_password, PLAIN, HIDDEN),
    ("the same, owner says \"I added chaff\"", features.two_copies_with_password, CHAFF, HIDDEN),
    ("the disk itself", features.disk, ONE, MORE),
    ("the disk itself, first password", features.disk_with_password, PLAIN, HIDDEN),
)
PROMISED = 2  # The first games: these observers see nothing.


def make_record(plan: Plan, folder: Path, albumfs: Path, photos: list[Path], adds_chaff: bool) -> Record:
    """Lives one life and keeps what can be seen of it; the store itself goes."""
    store = Store(folder, albumfs)
    try:
        life = Life(plan, store, photos, adds_chaff)
        copies: list[Copy] = []
        life.live(lambda: copies.append(take_copy(store.path, folder / "copy")))
        copies.append(take_copy(store.path, folder / "copy"))
        key, check = store.recovery_key(life.passwords[0]), store.check(life.passwords[0])
        return Record(plan.seed, plan.pool, plan.spaces, plan.claimed_chaff > 0, copies[0], copies[1], key, check)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def work(pipe: Connection, plans: list[Plan], top: Path, albumfs: Path, photos: list[Path],
         adds_chaff: bool, end: float) -> None:
    """Makes stores in a process of its own; sends each record, or why there is none."""
    parent = os.getppid()
    for plan in plans:
        if time.monotonic() > end or os.getppid() != parent:
            break
        try:
            pipe.send(make_record(plan, top / f"{plan.seed}", albumfs, photos, adds_chaff))
        except (Failed, OSError) as error:
            pipe.send(f"store of seed {plan.seed}, pool {plan.pool}: {error}")
        except Exception:
            pipe.send(f"store of seed {plan.seed}, pool {plan.pool}: {traceback.format_exc()}")
    pipe.close()


def make_records(options: argparse.Namespace, top: Path, plans: list[Plan]) -> tuple[list[Record], list[str]]:
    photos = make_photos(top / "photos")
    adds_chaff = can_add_chaff(options.albumfs)
    end = time.monotonic() + options.minutes * 60
    records: list[Record] = []
    problems: list[str] = []
    workers, pipes = [], []
    try:
        for number in range(options.processes):
            ours, theirs = multiprocessing.Pipe(duplex=False)
            arguments = (theirs, plans[number::options.processes], top, options.albumfs, photos, adds_chaff, end)
            worker = multiprocessing.Process(target=work, args=arguments)
            worker.start()
            theirs.close()
            workers.append(worker)
            pipes.append(ours)
        # A store has a limit for each of its commands, and thrice that is enough for the last one.
        while pipes and time.monotonic() < end + 360:
            for pipe in wait(pipes, timeout=10):
                try:
                    got = pipe.recv()
                except EOFError:
                    pipes.remove(pipe)
                    continue
                (records if isinstance(got, Record) else problems).append(got)
                if sys.stderr.isatty():
                    print(f"\r{len(records)} of {len(plans)} stores ", end="", file=sys.stderr, flush=True)
        if pipes:
            problems.append("a process that makes stores does not end")
    finally:
        for worker in workers:
            worker.terminate()
            worker.join(30)
            worker.kill()
            worker.join(30)
    records.sort(key=lambda record: record.seed)
    return records, problems


def play_all(records: list[Record], seed: int, repeats: int) -> list[game.Verdict]:
    verdicts = []
    for observer, see, is_one, is_more in GAMES:
        ones = [see(record) for record in records if is_one(record)]
        more = [see(record) for record in records if is_more(record)]
        if min(len(ones), len(more)) >= 5:
            verdicts.append(game.play(observer, ones, more, seed, repeats))
    return verdicts


def parse() -> argparse.Namespace:
    text = __doc__ or ""
    parser = argparse.ArgumentParser(prog="scripts/attack", description=text,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--albumfs", type=Path, help="the program; albumfs-thumbnailer lies beside it")
    parser.add_argument("--stores", type=int, help="how many stores are made")
    parser.add_argument("--seed", type=int, help="of the first store; random otherwise, and printed")
    parser.add_argument("--quick", action="store_true", help="a short run that fails where one copy tells")
    parser.add_argument("--minutes", type=float, default=12, help="no store is begun after that; 12")
    parser.add_argument("--processes", type=int, default=2, help="how many stores are made at once; 2")
    parser.add_argument("--tmpfs", action="store_true", help="works in /dev/shm")
    parser.add_argument("--readme", type=Path, nargs="?", const=Path("README.md"),
                        help="writes the table into this file, README.md unless told")
    parser.add_argument("--save", type=Path, help="keeps what was seen in a file")
    parser.add_argument("--load", type=Path, help="plays with what such a file holds; makes no stores")
    parser.add_argument("--verbose", action="store_true", help="names every single feature that tells")
    parser.add_argument("--self-test", action="store_true", help="only shows that a leak would be found")
    options = parser.parse_args()
    if not options.albumfs and not options.load and not options.self_test:
        parser.error("--albumfs is missing")
    return options


def main() -> int:
    options = parse()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    # A terminal's end and `timeout` clean up as Ctrl-C does.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    print(f"attack: seed {seed}", flush=True)
    failures = game.self_test(seed % 2**31) if options.quick or options.self_test else []
    if options.self_test or failures:
        print("\n".join(failures) or "self-test: both leaks are found, noise is not")
        return 1 if failures else 0
    if options.load:
        records, problems = pickle.loads(options.load.read_bytes()), []
    else:
        kinds = QUICK if options.quick else FULL
        count = options.stores or (50 if options.quick else 320)
        plans = [make_plan(seed + place, *kinds[place % len(kinds)]) for place in range(count)]
        top = Path(tempfile.mkdtemp(prefix="albumfs-attack-", dir="/dev/shm" if options.tmpfs else None))
        try:
            options.albumfs = options.albumfs.resolve()
            records, problems = make_records(options, top, plans)
        finally:
            clean_up(top)
    if options.save:
        options.save.write_bytes(pickle.dumps(records))
    verdicts = play_all(records, seed, repeats=1 if options.quick else 4)
    print(report.table(verdicts))
    if options.verbose:
        print(report.details(verdicts))
    print(report.summary(records, seed))
    for problem in problems:
        print(f"failed: {problem}", file=sys.stderr)
    if options.readme:
        report.write(options.readme, verdicts, records, seed)
    broken = [sentence for verdict in verdicts[:PROMISED] if (sentence := game.is_broken(verdict))]
    for sentence in broken:
        print(f"The promise is broken. {sentence}", file=sys.stderr)
    if len(verdicts) < PROMISED:
        print("Too few stores were made to play.", file=sys.stderr)
    return 1 if problems or len(verdicts) < PROMISED or (options.quick and broken) else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        try:
            sys.exit(main())
        except KeyboardInterrupt:
            sys.exit(130)

"""Plays the game "is there a second space?" on real stores, for each kind of observer.

    scripts/attack                    makes 320 stores, plays every game, prints the table
    scripts/attack --readme           writes the table into README.md, too
    scripts/attack --quick            what scripts/test runs: 50 stores; fails where one copy tells
    scripts/attack --seed 7 --stores 40 --disk none --albumfs .build/debug/albumfs

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
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import features
import game
import report
from driver import Failed, Store, clean_up, make_top
from features import Features, Record
from lives import Life, Plan, make_photos, make_plan
from traces import Copy, FirstPassword, take_copy

# Pool, and whether the owner adds chaff by hand, of stores that are made in turn.
FULL = (("one", False), ("total", False), ("first", False), ("one", True),
        ("one", False), ("total", True), ("first", False), ("one", True))
QUICK = (("one", False), ("total", False), ("one", True), ("total", True), ("first", False))

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

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
PROMISED = ("one copy, no times", "one copy with times")  # These observers see nothing.


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Cleaning up is not interrupted by a second Ctrl-C."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def make_record(plan: Plan, folder: Path, albumfs: Path, photos: list[Path], has_disk: bool) -> Record:
    """Lives one life and keeps what can be seen of it; the store itself goes."""
    store = Store(folder, albumfs)
    try:
        life = Life(plan, store, photos, has_disk)
        copies: list[Copy] = []
        life.live(lambda: copies.append(take_copy(store.path, folder / "copy", is_last=False)))
        copies.append(take_copy(store.path, folder / "copy", is_last=True))
        password = life.passwords[0]
        key, check = store.recovery_key(password), store.check(password)
        births = {birth for _, _, birth in FirstPassword(key).owned(copies[1].entries).values()}
        chaff = store.chaff_status(password, len(births))
        return Record(plan.seed, plan.pool, plan.spaces, plan.claimed_chaff > 0, copies[0], copies[1], key,
                      check, chaff)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def work(pipe: Connection, plans: list[Plan], top: Path, albumfs: Path, photos: list[Path],
         has_disk: bool, end: float) -> None:
    """Makes stores in a process of its own; sends each record, or why there is none."""
    parent = os.getppid()
    for plan in plans:
        if time.monotonic() > end or os.getppid() != parent:
            break
        try:
            pipe.send(make_record(plan, top / f"{plan.seed}", albumfs, photos, has_disk))
        except KeyboardInterrupt:
            break
        except (Failed, OSError) as error:
            pipe.send(f"store of seed {plan.seed}, pool {plan.pool}: {error}")
        except Exception:
            pipe.send(f"store of seed {plan.seed}, pool {plan.pool}: {traceback.format_exc()}")
    pipe.close()


def make_records(options: argparse.Namespace, top: Path, has_disk: bool, plans: list[Plan]
                 ) -> tuple[list[Record], list[str]]:
    photos = make_photos(top / "photos")
    end = time.monotonic() + options.minutes * 60
    records: list[Record] = []
    problems: list[str] = []
    workers: list[multiprocessing.Process] = []
    pipes: list[Connection] = []
    try:
        for number in range(options.processes):
            ours, theirs = multiprocessing.Pipe(duplex=False)
            mine = plans[number::options.processes]
            arguments = (theirs, mine, top, options.albumfs, photos, has_disk, end)
            worker = multiprocessing.Process(target=work, args=arguments)
            worker.start()
            theirs.close()
            workers.append(worker)
            pipes.append(ours)
        # A store has a limit for each of its commands, and thrice that is enough for the last one.
        while pipes and time.monotonic() < end + 360:
            ready = wait(pipes, timeout=10)
            for pipe in [pipe for pipe in pipes if pipe in ready]:
                try:
                    got = pipe.recv()
                except EOFError:
                    pipes.remove(pipe)
                    continue
                if isinstance(got, Record):
                    records.append(got)
                else:
                    problems.append(got)
                    if len(problems) > 4 + len(records) // 20:
                        pipes.clear()
                        problems.append("so many lives fail that no further store is made")
                        break
                if sys.stderr.isatty():
                    print(f"\r{len(records)} of {len(plans)} stores ", end="", file=sys.stderr, flush=True)
        if pipes:
            problems.append("a process that makes stores does not end")
    finally:
        with undisturbed():
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.join(30)
                worker.kill()
                worker.join(30)
    records.sort(key=lambda record: record.seed)
    return records, problems


def play_all(records: list[Record], seed: int, is_quick: bool) -> list[game.Verdict]:
    verdicts = []
    for observer, see, is_one, is_more in GAMES:
        ones = [see(record) for record in records if is_one(record)]
        more = [see(record) for record in records if is_more(record)]
        if min(len(ones), len(more)) >= 5:
            verdicts.append(game.play(observer, ones, more, seed, is_quick))
    return verdicts


def parse() -> argparse.Namespace:
    text = __doc__ or ""
    parser = argparse.ArgumentParser(prog="scripts/attack", description=text,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--albumfs", type=Path, help="the program; albumfs-thumbnailer lies beside it")
    parser.add_argument("--stores", type=int, help="how many stores are made")
    parser.add_argument("--seed", type=int, help="of the first store; random otherwise, and printed")
    parser.add_argument("--quick", action="store_true", help="a short run that fails where one copy tells")
    parser.add_argument("--minutes", type=float, default=11, help="no store is begun after that; 11")
    parser.add_argument("--processes", type=int, default=2, help="how many stores are made at once; 2")
    parser.add_argument("--disk", metavar="SIZE",
                        help="of the tmpfs to work on, on which chaff depends: 16G, or 4G with --quick; "
                        "`none` works below TMPDIR, where chaff is drawn as on 4G")
    parser.add_argument("--readme", type=Path, nargs="?", const=Path("README.md"),
                        help="writes the table into this file, README.md unless told")
    parser.add_argument("--save", type=Path, help="keeps what was seen in a file")
    parser.add_argument("--load", type=Path, help="plays with what such a file holds; makes no stores")
    parser.add_argument("--verbose", action="store_true", help="names every single feature that tells")
    parser.add_argument("--self-test", action="store_true", help="only shows that a leak would be found")
    options = parser.parse_args()
    options.disk = options.disk or ("4G" if options.quick else "16G")
    if not options.albumfs and not options.load and not options.self_test:
        parser.error("--albumfs is missing")
    return options


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def gather(options: argparse.Namespace, seed: int) -> tuple[list[Record], list[str]]:
    """What was seen of all stores, and what went wrong."""
    if options.load:
        return pickle.loads(options.load.read_bytes()), []
    kinds = QUICK if options.quick else FULL
    count = options.stores or (50 if options.quick else 320)
    plans = [make_plan(seed + place, *kinds[place % len(kinds)]) for place in range(count)]
    top, has_disk = make_top(options.disk)
    try:
        options.albumfs = options.albumfs.resolve()
        records, problems = make_records(options, top, has_disk, plans)
    finally:
        with undisturbed():
            clean_up(top)
    if options.save:
        options.save.write_bytes(pickle.dumps(records))
    return records, problems


def main() -> int:
    options = parse()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    # The end of a terminal, and `timeout`, clean up as Ctrl-C does.
    for number in INTERRUPTS:
        signal.signal(number, interrupt)
    print(f"attack: seed {seed}", flush=True)
    if options.quick or options.self_test:
        failures = game.self_test(seed)
        print("\n".join(failures) or "self-test: both planted leaks are found, and noise is none")
        if failures or options.self_test:
            return 1 if failures else 0
    records, problems = gather(options, seed)
    verdicts = play_all(records, seed, options.quick)
    print(report.table(verdicts))
    if options.verbose:
        print(report.details(verdicts))
    print(report.summary(records, seed))
    if options.readme:
        report.write(options.readme, verdicts, records, seed)
    promised = [verdict for verdict in verdicts if verdict.observer in PROMISED]
    if len(promised) < len(PROMISED):
        problems.append("too few stores were made to play")
    for verdict in promised:
        if sentence := game.is_broken(verdict):
            problems.append(f"the promise on single copies is broken. {sentence}")
    for problem in problems:
        print(f"failed: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        try:
            sys.exit(main())
        except KeyboardInterrupt:
            sys.exit(130)

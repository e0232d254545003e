"""Plays the game "is there a second space?" on real stores, for each kind of observer.

    scripts/attack                    makes 320 stores, plays every game, prints the table
    scripts/attack --write            writes the table into Deniability.md, too
    scripts/attack --quick            what scripts/test runs: 50 stores; fails where one copy tells
    scripts/attack --self-test        plants leaks in the stores of a quick run; fails where one is not found
    scripts/attack --seed 7 --stores 40 --disk none --albumfs .build/debug/albumfs

Where to read: lives.py (which stores are made, and what makes the game fair), driver.py (runs the
programs), traces.py (what a store shows), features.py (the observers), game.py (the statistics),
provider.py (stores in an object storage, and what its provider sees), leaks.py (what the self-test plants in real
stores), report.py (the table).
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import enum
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple, TypeVar

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

import features
import game
import leaks
import provider
import report
import rule
from driver import SESSION_LIMIT, Failed, Store, can_share, clean_up, make_top
from features import Features, Record
from lives import SEGMENT, Life, Plan, make_photos, make_plan
from provider import Log
from traces import Copy, FirstPassword, take_copy

# Pool, and whether the owner adds chaff by hand, of stores that are made in turn.
FULL = (("one", False), ("total", False), ("first", False), ("one", True),
        ("one", False), ("total", True), ("first", False), ("one", True))
QUICK = (("one", False), ("total", False), ("one", True), ("total", True), ("first", False))

PAGE = Path(__file__).resolve().parents[2] / "Sources/albumfs/Documentation.docc/Deniability.md"

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# What an observer sees of one store.
Made = TypeVar("Made", Record, Log)
# Pool, and whether the owner added chaff.
Choice = Callable[[str, bool], bool]


def in_pool(pool: str, has_claimed_chaff: bool | None = None) -> Choice:
    return lambda place, has_claimed: place == pool and has_claimed_chaff in (None, has_claimed)


ONE, MORE = in_pool("one"), in_pool("total")
PLAIN, CHAFF, HIDDEN = in_pool("one", False), in_pool("one", True), in_pool("first")


class Promise(enum.Enum):
    """The most that an observer may find. Anything more is a failure of albumfs."""
    NONE = enum.auto()
    # What the rule of chaff shows. A quick run makes too few of these stores to judge it.
    RULE = enum.auto()
    # Nothing.
    CHANCE = enum.auto()


class Game(NamedTuple):
    observer: str
    see: Callable[[Record], Features]
    is_one: Choice
    is_more: Choice
    promise: Promise = Promise.NONE
    # If the first password leaves segments unexplained: whether the game judges those between two copies.
    is_between: bool | None = None

    def is_held(self, is_quick: bool) -> bool:
        return self.promise is Promise.CHANCE or self.promise is Promise.RULE and not is_quick

    def sizes(self, stores: Iterable[tuple[str, bool]]) -> tuple[int, int]:
        """The numbers of these stores with one space and with more."""
        found = list(stores)
        return sum(self.is_one(*store) for store in found), sum(self.is_more(*store) for store in found)


OWNER = "the same, owner says \"I added chaff\""
GAMES = (
    Game("one copy, no times", features.flat, ONE, MORE, Promise.CHANCE),
    Game("one copy with times", features.timed, ONE, MORE, Promise.CHANCE),
    Game("one copy, no times, first password", features.flat_with_password, PLAIN, HIDDEN,
         Promise.RULE, is_between=False),
    Game(OWNER, features.flat_with_password, CHAFF, HIDDEN, Promise.RULE, is_between=False),
    Game("one copy with times, first password", features.timed_with_password, PLAIN, HIDDEN,
         Promise.RULE, is_between=False),
    Game(OWNER, features.timed_with_password, CHAFF, HIDDEN, Promise.RULE, is_between=False),
    Game("two copies with times", features.two_copies, ONE, MORE),
    Game("two copies, first password", features.two_copies_with_password, PLAIN, HIDDEN, is_between=True),
    Game(OWNER, features.two_copies_with_password, CHAFF, HIDDEN, is_between=True),
    Game("the disk itself", features.disk, ONE, MORE),
    Game("the disk itself, first password", features.disk_with_password, PLAIN, HIDDEN),
)
# Of the stores in an object storage, which take longer. A quick run makes none, and a self-test those with one space.
IN_STORAGE = (("one", False), ("total", False))
# With fewer stores of a pool, not even the leaks that the self-test plants would be found.
LEAST = 20
# A full run, which the clock may cut short, must make at least this many stores of a pool.
ENOUGH = 50


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A second Ctrl-C does not interrupt cleaning up."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def truth(plan: Plan, keys: list[FirstPassword], copies: list[Copy], limit: int) -> rule.Truth:
    """Segments that were removed again do not count as made, so a little less chaff is expected than was added."""
    def names(copy: Copy) -> set[str]:
        return {entry.name for entry in copy.entries if entry.is_segment}

    def count(some: set[str]) -> tuple[tuple[int, int], tuple[int, int]]:
        owned = [[own for name in some if (own := key.own(name))] for key in keys]
        # No session made the first journal segment of a space.
        sessions = [len({birth for kind, number, birth in own if (kind, number) != (2, 1)}) for own in owned]
        return (sessions[0], sum(sessions)), (len(owned[0]), sum(len(own) for own in owned))

    early, late = map(names, copies)
    sessions, made = count(late)
    sessions_new, made_new = count(late - early)
    claimed = -(-plan.claimed_chaff // SEGMENT)
    done = [what for what, _ in plan.steps]
    is_new = claimed > 0 and done.index("chaff") > done.index("copy")
    return rule.Truth(limit, claimed, claimed if is_new else 0, sessions, sessions_new, made, made_new)


def make_record(plan: Plan, folder: Path, albumfs: Path, photos: list[Path], has_disk: bool, shares: bool
                ) -> Record:
    """Runs one life and keeps what observers can see of it; removes the store."""
    store = Store(folder, albumfs, shares and plan.is_shared)
    try:
        life = Life(plan, store, photos, has_disk)
        room = os.statvfs(folder)
        limit = room.f_bavail * room.f_frsize // 64 // SEGMENT if has_disk else 256
        copies: list[Copy] = []
        life.live(lambda: copies.append(take_copy(store.path, folder / "copy", is_last=False)))
        copies.append(take_copy(store.path, folder / "copy", is_last=True))
        password = life.passwords[0]
        key, check = store.recovery_key(password), store.check(password)
        births = {birth for _, _, birth in FirstPassword(key).owned(copies[1].entries).values()}
        chaff = store.chaff_status(password, len(births))
        keys = [FirstPassword(store.recovery_key(password)) for password in life.passwords]
        planted = leaks.plant_all(folder / "copy", copies[1], plan.seed) if plan.pool == "total" else ()
        return Record(plan.seed, plan.pool, plan.spaces, plan.claimed_chaff > 0, copies[0], copies[1], key,
                      check, chaff, truth(plan, keys, copies, limit), planted)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def work(pipe: Connection, plans: list[Plan], make: Callable[[Plan], Made], end: float) -> None:
    """Makes stores in a separate process; sends what was seen of each, or the reason why there is nothing."""
    parent = os.getppid()
    for plan in plans:
        if time.monotonic() > end or os.getppid() != parent:
            break
        try:
            pipe.send(make(plan))
        except KeyboardInterrupt:
            break
        except (Failed, OSError) as error:
            pipe.send(f"store of seed {plan.seed}, pool {plan.pool}: {error}")
        except Exception:
            pipe.send(f"store of seed {plan.seed}, pool {plan.pool}: {traceback.format_exc()}")
    pipe.close()


def make_records(options: argparse.Namespace, top: Path, has_disk: bool, plans: list[Plan], photos: list[Path]
                 ) -> tuple[list[Record], list[str]]:
    shares = can_share(options.albumfs, top)
    if not shares:
        print("no store is shared: that takes root, and programs that other accounts can run", file=sys.stderr)

    def make(plan: Plan) -> Record:
        return make_record(plan, top / f"{plan.seed}", options.albumfs, photos, has_disk, shares)

    return make_all(options, plans, make)


def make_logs(options: argparse.Namespace, top: Path, plans: list[Plan], photos: list[Path]
              ) -> tuple[list[Log], list[str]]:
    """What the provider of an object storage sees of such stores."""
    folder = top / "storage"
    folder.mkdir()
    storage = provider.Storage(folder)
    try:
        made, problems = make_all(options, plans, lambda plan: provider.make_log(
            plan, folder / f"{plan.seed}", options.albumfs, photos, storage))
        return [dataclasses.replace(log, requests=storage.requests(f"{log.seed}")) for log in made], problems
    finally:
        with undisturbed():
            storage.end()


def make_all(options: argparse.Namespace, plans: list[Plan], make: Callable[[Plan], Made]
             ) -> tuple[list[Made], list[str]]:
    end = time.monotonic() + options.minutes * 60
    records: list[Made] = []
    problems: list[str] = []
    workers: list[multiprocessing.Process] = []
    pipes: list[Connection] = []
    try:
        for number in range(options.processes):
            ours, theirs = multiprocessing.Pipe(duplex=False)
            mine = plans[number::options.processes]
            worker = multiprocessing.Process(target=work, args=(theirs, mine, make, end))
            worker.start()
            theirs.close()
            workers.append(worker)
            pipes.append(ours)
        # The last store may take some sessions more.
        while pipes and time.monotonic() < end + 3 * SESSION_LIMIT:
            ready = wait(pipes, timeout=10)
            for pipe in [pipe for pipe in pipes if pipe in ready]:
                try:
                    got = pipe.recv()
                except EOFError:
                    pipes.remove(pipe)
                    continue
                if not isinstance(got, str):
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


def play_all(records: list[Record], seed: int, is_quick: bool) -> list[tuple[Game, game.Verdict]]:
    played = []
    for one in GAMES:
        ones = [record for record in records if one.is_one(record.pool, record.has_claimed_chaff)]
        more = [record for record in records if one.is_more(record.pool, record.has_claimed_chaff)]
        if min(len(ones), len(more)) < 5:
            continue
        predicted = None
        if one.is_between is not None and all(record.truth for record in ones + more):
            predicted = rule.predicted_auc([record.truth for record in ones if record.truth],
                                           [record.truth for record in more if record.truth],
                                           seed, one.is_between)
        played.append((one, game.play(one.observer, [one.see(record) for record in ones],
                                      [one.see(record) for record in more], seed, is_quick, predicted)))
    return played


def broken_promises(played: list[tuple[Game, game.Verdict]], records: list[Record],
                    planned: list[tuple[str, bool]], is_quick: bool) -> list[str]:
    """Too few stores prove nothing, which is a failure too."""
    problems = []
    verdicts = dict(played)
    for one in (one for one in GAMES if one.is_held(is_quick)):
        made = one.sizes((record.pool, record.has_claimed_chaff) for record in records)
        wanted = tuple(max(LEAST, size if is_quick else min(size, ENOUGH)) for size in one.sizes(planned))
        if made[0] < wanted[0] or made[1] < wanted[1]:
            problems.append(f"{one.observer}: too few stores were made to find anything: {made[0]} with one space "
                            f"and {made[1]} with more, not {wanted[0]} and {wanted[1]}")
        elif one.promise is Promise.RULE and (sentence := game.exceeds(verdicts[one])):
            problems.append(sentence)
        elif one.promise is Promise.CHANCE and (sentence := game.is_broken(verdicts[one])):
            problems.append(f"the promise on single copies is broken. {sentence}")
    return problems


def find_planted(records: list[Record], seed: int) -> list[str]:
    """Leaks in real stores that are not found; they are planted in stores with more than one space."""
    ones = [record for record in records if record.pool == "one"]
    leaking = [record for record in records if record.planted]
    if min(len(ones), len(leaking)) < LEAST:
        return [f"self-test: too few stores to find a leak: {len(ones)} with one space, {len(leaking)} with a leak"]
    return leaks.self_test(ones, leaking, seed)


def parse() -> argparse.Namespace:
    text = __doc__ or ""
    parser = argparse.ArgumentParser(prog="scripts/attack", description=text,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--albumfs", type=Path, help="the program, with albumfs-thumbnailer beside it")
    parser.add_argument("--stores", type=int, help="the number of stores to make")
    parser.add_argument("--seed", type=int, help="the seed of the first store; random by default, and printed")
    parser.add_argument("--quick", action="store_true", help="a short run; fails if one copy reveals a second space")
    parser.add_argument("--minutes", type=float, default=11, help="starts no store after this many minutes; 11")
    parser.add_argument("--processes", type=int, default=2, help="the number of stores to make at once; 2")
    parser.add_argument("--disk", metavar="SIZE",
                        help="of the tmpfs to work on, on which chaff depends: 16G, or 4G with --quick; "
                        "`none` works below TMPDIR, where chaff is drawn as on 4G")
    parser.add_argument("--write", type=Path, nargs="?", const=PAGE,
                        help="writes the table into this file, by default Deniability.md")
    parser.add_argument("--save", type=Path, help="saves the observations in a file")
    parser.add_argument("--load", type=Path, help="uses the observations in such a file; makes no stores")
    parser.add_argument("--verbose", action="store_true", help="lists every feature that reveals something")
    parser.add_argument("--self-test", action="store_true",
                        help="only shows that it finds leaks: in numbers, and in the stores of a quick run")
    options = parser.parse_args()
    options.disk = options.disk or ("4G" if options.quick or options.self_test else "16G")
    if not options.albumfs and not options.load:
        parser.error("--albumfs is missing")
    return options


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def kinds(is_quick: bool, stores: int | None) -> list[tuple[str, bool]]:
    """The plan for each store: its pool, and whether the owner adds chaff."""
    turn = QUICK if is_quick else FULL
    return [turn[place % len(turn)] for place in range(stores or (50 if is_quick else 320))]


def kinds_in_storage(options: argparse.Namespace) -> list[tuple[str, bool]]:
    if options.quick:
        return []
    count = min(LEAST, options.stores or LEAST)
    return list(IN_STORAGE[:1] if options.self_test else IN_STORAGE) * count


def gather(options: argparse.Namespace, seed: int, planned: list[tuple[str, bool]]
           ) -> tuple[list[Record], list[Log], list[str]]:
    """The observations of all stores and of those in an object storage, and the failures."""
    if options.load:
        return *pickle.loads(options.load.read_bytes()), []
    plans = [make_plan(seed + place, *kind) for place, kind in enumerate(planned)]
    others = [make_plan(seed + len(plans) + place, *kind) for place, kind in enumerate(kinds_in_storage(options))]
    top, has_disk = make_top(options.disk)
    if not has_disk:
        options.disk = "none"
    try:
        options.albumfs = options.albumfs.resolve()
        photos = make_photos(top / "photos")
        records, problems = make_records(options, top, has_disk, plans, photos)
        logs, further = make_logs(options, top, others, photos) if others else ([], [])
    finally:
        with undisturbed():
            clean_up(top)
    if options.save:
        options.save.write_bytes(pickle.dumps((records, logs)))
    return records, logs, problems + further


def main() -> int:
    options = parse()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    # The end of a terminal, and `timeout`, cause the same cleaning up as Ctrl-C.
    for number in INTERRUPTS:
        signal.signal(number, interrupt)
    print(f"attack: seed {seed}", flush=True)
    is_quick = options.quick or options.self_test
    planned = kinds(is_quick, options.stores)
    if is_quick:
        # A quick run must find a leak among as few stores as it makes.
        sizes = {min(one.sizes(kinds(True, None))) for one in GAMES if one.is_held(is_quick=True)}
        failures = [sentence for size in sorted(sizes) for sentence in game.self_test(seed, size)]
        failures += rule.self_test(seed)
        told = " and ".join(f"{size} stores of each kind find an AUC of {game.least_found(size):.2f} or more"
                            for size in sorted(sizes))
        print("\n".join(failures) or f"self-test: both leaks in numbers are found, and noise is none; {told}")
        if failures:
            return 1
    records, logs, problems = gather(options, seed, planned)
    played = play_all(records, seed, is_quick)
    verdicts = [verdict for _, verdict in played] + provider.play(logs, seed)
    print(report.table(verdicts))
    if options.verbose:
        print(report.details(verdicts))
    summary = report.summary(records, logs, seed, options.disk != "none")
    print(summary)
    if options.write:
        report.write(options.write, verdicts, summary)
    if not options.self_test:
        problems += broken_promises(played, records, planned, options.quick)
    problems += find_planted(records, seed)
    if logs or options.self_test:
        problems += provider.self_test([log for log in logs if log.pool == "one"], LEAST, seed)
    for problem in problems:
        print(f"failed: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        try:
            sys.exit(main())
        except KeyboardInterrupt:
            sys.exit(130)

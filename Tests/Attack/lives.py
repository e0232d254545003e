"""Plans the life of a store at random, and runs it with the real programs.

Fairness. A difference that the plan makes must not answer the question of the game:

- Pool `one`: one space. Its content is drawn from BROAD, its sessions from SESSIONS.
- Pool `total`: two to five spaces that share one draw of content and of sessions. Observers without a
  password see only sums, so they play `one` against `total`. What they may still find is what further
  spaces cost: journals, reserves, slots, places in time.
- Pool `first`: the first space is as in `one`, the others share a further draw of content. Observers
  with the first password see the first space apart, so they play `one` against `first`.

Further passwords of spaces (`space add-key`), and those that are removed again, are drawn as content is: once
for `one` and for all spaces of `total`, and a second time for the further spaces of `first`.

Of every pool some stores are shared by two accounts, who take turns at random, whatever the space is.

Where an owner adds chaff by hand, its amount is drawn from BROAD as well, so that it can be as much as
hidden spaces hold.
"""
from __future__ import annotations

import dataclasses
import math
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

from driver import ACCOUNTS, TIMED_OUT, Failed, Store, run

SEGMENT = 256 << 10
# Photos are an eighth to twice as long as a segment, as photos of 0.5 to 8 MB are to segments of 4 MiB.
BROAD = (3 << 20, 24 << 20)
SESSIONS = (5, 9)
HIDDEN_SESSIONS = (1, 3)
SPACES = {2: 0.5, 3: 0.25, 4: 0.15, 5: 0.1}
FURTHER_PASSWORDS = {0: 0.6, 1: 0.3, 2: 0.1}
SHARED = 0.15  # Of all stores.
POOLS = ("one", "total", "first")


@dataclasses.dataclass(frozen=True)
class Plan:
    """The events in the life of one store. `steps` is in order of time."""
    seed: int
    pool: str
    content: tuple[int, ...]  # Bytes a space.
    claimed_chaff: int  # Bytes of chaff that the owner adds by hand.
    steps: tuple[tuple[str, int], ...]  # The action, and its space.
    is_shared: bool  # By two accounts.

    @property
    def spaces(self) -> int:
        return len(self.content)


def broad(rng: random.Random) -> int:
    low, high = BROAD
    return int(math.exp(rng.uniform(math.log(low), math.log(high))))


def share(rng: random.Random, total: int, parts: int) -> list[int]:
    weights = [rng.gammavariate(2, 1) for _ in range(parts)]
    return [int(total * weight / sum(weights)) for weight in weights]


def make_plan(seed: int, pool: str, has_claimed_chaff: bool) -> Plan:
    rng = random.Random(seed)
    spaces = 1 if pool == "one" else rng.choices(list(SPACES), list(SPACES.values()))[0]
    content = [broad(rng)]
    sessions = [rng.randint(*SESSIONS)]
    if pool == "total":
        content = share(rng, content[0], spaces)
        sessions = [1 + extra for extra in spread(rng, max(0, sessions[0] - spaces), spaces)]
    elif pool == "first":
        content += share(rng, broad(rng), spaces - 1)
        sessions += [rng.randint(*HIDDEN_SESSIONS) for _ in range(spaces - 1)]
    timed: list[tuple[float, str, int]] = []
    for space in range(spaces):
        birth = rng.uniform(0, 0.6) if space else 0.0
        if space:
            timed.append((birth, "add", space))
        timed += [(rng.uniform(birth, 1), "use", space) for _ in range(sessions[space])]
        if rng.random() < 0.2:
            timed.append((rng.uniform(birth, 1), "password", space))
    owners = [range(1), range(1, spaces)] if pool == "first" else [range(spaces)]
    for some in owners:
        for _ in range(rng.choices(list(FURTHER_PASSWORDS), list(FURTHER_PASSWORDS.values()))[0]):
            timed += further_password(rng, rng.choice(some), timed)
    chaff = broad(rng) if has_claimed_chaff else 0
    if chaff:
        timed.append((rng.uniform(0, 1), "chaff", 0))
    timed.append((rng.uniform(0.4, 0.7), "copy", 0))
    steps = [(what, space) for _, what, space in sorted(timed)]
    # A store at rest was last mounted by a session that ended by an unmount.
    steps.append(("look", rng.randrange(spaces)))
    return Plan(seed, pool, tuple(content), chaff, tuple(steps), rng.random() < SHARED)


def further_password(rng: random.Random, space: int, timed: list[tuple[float, str, int]]
                     ) -> list[tuple[float, str, int]]:
    """A second password of a space, which half of the owners remove again."""
    birth = next((time for time, what, other in timed if (what, other) == ("add", space)), 0.0)
    added = rng.uniform(birth, 1)
    removed = [(rng.uniform(added, 1), "remove-key", space)] if rng.random() < 0.5 else []
    return [(added, "add-key", space), *removed]


def spread(rng: random.Random, count: int, parts: int) -> list[int]:
    counts = [0] * parts
    for _ in range(count):
        counts[rng.randrange(parts)] += 1
    return counts


def make_photos(folder: Path, count: int = 24) -> list[Path]:
    """Makes JPEGs of noise; each is stored many times under different names."""
    folder.mkdir()
    rng = random.Random(1)
    photos = []
    for number in range(count):
        width = int(min(900, max(160, rng.lognormvariate(math.log(420), 0.35))))
        noise, photo = folder / "noise.v", folder / f"{number}.jpg"
        run(["vips", "gaussnoise", str(noise), str(width), str(width * 2 // 3), "--mean", "128",
             "--sigma", "45"])
        run(["vips", "jpegsave", str(noise), str(photo), "--Q", "92"])
        photos.append(photo)
    return photos


class Life:
    """One store during its life. Calls `on_copy` when the first backup is made."""

    def __init__(self, plan: Plan, store: Store, photos: list[Path], has_disk: bool) -> None:
        self.plan = plan
        self.store = store
        self.photos = photos
        self.has_disk = has_disk
        self.rng = random.Random(plan.seed + 1)
        self.passwords = [f"space-{space}" for space in range(plan.spaces)]
        self.further: list[list[str]] = [[] for _ in range(plan.spaces)]
        self.left = list(plan.content)
        uses = [space for what, space in plan.steps if what == "use"]
        self.sessions_left = [uses.count(space) for space in range(plan.spaces)]
        self.born = [0]
        self.number = 0
        # Accounts whose last session was killed, so that the times of its files are not at rest yet.
        self.restless: set[int] = set()
        self.account = os.geteuid()

    def live(self, on_copy: Callable[[], None]) -> None:
        self.act(self.init)
        for what, space in self.plan.steps:
            if what in ("copy", "look"):
                self.settle(space if what == "look" else self.rng.choice(self.born))
            if what == "copy":
                on_copy()
            elif what == "look":
                if self.rng.random() < 0.3:
                    self.act(lambda: self.look(space))
            else:
                self.act(lambda: self.step(what, space))

    def act(self, body: Callable[[], None], account: int | None = None) -> None:
        """Does something as an account, by default any of those that have the store."""
        if not self.store.is_shared:
            body()
            return
        self.account = self.rng.choice(ACCOUNTS) if account is None else account

        def changed() -> dict:
            body()
            kept = ("plan", "store", "photos")
            return {name: value for name, value in vars(self).items() if name not in kept}

        vars(self).update(self.store.as_account(self.account, changed))

    def settle(self, space: int) -> None:
        """A session of each account whose last one was killed."""
        for account in sorted(self.restless):
            self.act(lambda: self.look(space), account)

    def init(self) -> None:
        self.store.init(self.passwords[0], SEGMENT, None if self.has_disk else self.chaff_at_birth())

    def step(self, what: str, space: int) -> None:
        if what == "add":
            self.store.add_space(self.passwords[space])
            self.born.append(space)
        elif what == "password":
            new = self.passwords[space] + "-new"
            self.store.change_password(self.passwords[space], new)
            self.passwords[space] = new
        elif what == "add-key":
            self.number += 1
            another = f"further-{space}-{self.number}"
            self.store.add_key(self.passwords[space], another)
            self.further[space].append(another)
        elif what == "remove-key":
            self.store.remove_key(self.further[space].pop(0))
        elif what == "chaff":
            self.store.call("chaff", "add", "-q", str(self.store.path), str(self.plan.claimed_chaff))
        else:
            self.use(space)

    def any_password(self, space: int) -> str:
        return self.rng.choice([self.passwords[space], *self.further[space]])

    def chaff_at_birth(self) -> int:
        """The chaff that `init` would draw on a disk of 4 GiB, see ChaffRule.swift: a greater disk takes too long."""
        return (int(257 ** self.rng.random()) - 1) * SEGMENT

    def look(self, space: int) -> None:
        """Runs a session that only reads."""
        with self.store.session(self.any_password(space), grace=900, is_killed=False) as top:
            self.read_some(top)
        self.restless.discard(self.account)

    def use(self, space: int) -> None:
        """Runs a session that imports a share of the remaining photos, and sometimes does other things."""
        rng = self.rng
        is_last = self.sessions_left[space] == 1
        amount = self.left[space] if is_last else int(
            self.left[space] * rng.betavariate(1.5, self.sessions_left[space]))
        self.sessions_left[space] -= 1
        self.left[space] -= amount
        is_killed = rng.random() < 0.15
        with self.store.session(self.any_password(space), rng.choice([0, 900]), is_killed) as top:
            if rng.random() < 0.3:
                self.read_some(top)
            self.add_files(top, amount)
            if rng.random() < 0.3:
                self.remove_some(top)
                if rng.random() < 0.6:
                    self.store.call("compact", "-q", str(top))
            if rng.random() < 0.2:
                self.change_one(top)
            if rng.random() < 0.4:
                self.use_history(top, space)
            if not is_killed and rng.random() < 0.5:
                # Thumbnails are made when no other program wants the processor, which may be never.
                self.store.call("sync", "-q", "--timeout", "50", str(top), accept=TIMED_OUT)
        if is_killed:
            self.restless.add(self.account)
        else:
            self.restless.discard(self.account)

    def add_files(self, top: Path, amount: int) -> None:
        album = top / f"Album {self.number}"
        while amount > 0:
            if not album.exists() or self.rng.random() < 0.1:
                self.number += 1
                album = top / f"Album {self.number}"
                album.mkdir()
            self.number += 1
            kind = self.rng.random()
            if kind < 0.9:
                source = self.rng.choice(self.photos)
                target = album / "Photo" / f"IMG_{self.number:04}.jpg"
                shutil.copyfile(source, target)
                amount -= source.stat().st_size
            else:
                size = self.rng.randint(200, 20_000) if kind < 0.97 else self.rng.randint(500_000, 2_000_000)
                (album / "Photo" / f"file {self.number}").write_bytes(os.urandom(size))
                amount -= size

    def files(self, top: Path) -> list[Path]:
        return sorted(path for path in top.glob("*/Photo/*") if path.is_file())

    def read_some(self, top: Path) -> None:
        files = self.files(top)
        for path in self.rng.sample(files, min(len(files), 8)):
            path.read_bytes()

    def remove_some(self, top: Path) -> None:
        files = self.files(top)
        for path in self.rng.sample(files, int(len(files) * self.rng.uniform(0.1, 0.6))):
            path.unlink()

    def use_history(self, top: Path, space: int) -> None:
        """Makes or removes a snapshot, purges deleted files, or changes how long they stay: with 0 days they and
        their snapshots go in the next session that writes.
        """
        password = ("--password-file", self.store.password_file(self.passwords[space]))
        what = self.rng.choice(["create", "remove", "purge", "expire", "keep"])
        if what == "create":
            self.number += 1
            self.store.call("snapshot", "create", "-q", str(top), f"snapshot {self.number}")
        elif what == "remove":
            for name in self.snapshots(top)[:1]:
                try:
                    self.store.call("snapshot", "remove", "-q", str(top), name, *password)
                except Failed:
                    # The daemon may have removed it meanwhile, because its time was over.
                    if name in self.snapshots(top):
                        raise
        elif what == "purge":
            self.store.call("deleted", "purge", "-q", str(top), "--all", *password)
        else:
            days = "0d" if what == "expire" else "30d"
            self.store.call("history", "-q", str(top), "--keep", days, "--at-least", "0d", *password)

    def snapshots(self, top: Path) -> list[str]:
        return [line.split("\t")[0] for line in self.store.call("snapshot", "list", str(top)).splitlines()]

    def change_one(self, top: Path) -> None:
        files = self.files(top)
        if not files:
            return
        with open(self.rng.choice(files), "r+b") as file:
            file.write(os.urandom(3000))

"""Leaks that the self-test plants in copies of real stores with more than one space: what finds nothing in stores as
albumfs writes them must find these.
"""
from __future__ import annotations

import contextlib
import dataclasses
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import game
from features import Features, Record, flat, timed
from traces import Copy, list_entries, look_at, read_quietly

# A store's copy, the paths of its segments, and what decides which of them change. Undoes the change at the end.
Plant = Callable[[Path, list[str], random.Random], contextlib.AbstractContextManager[None]]


class Leak(NamedTuple):
    what: str
    observer: Callable[[Record], Features]
    plant: Plant


@contextlib.contextmanager
def shift_time(copy: Path, segments: list[str], chance: random.Random) -> Iterator[None]:
    path = copy / chance.choice(segments)
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 2_000_000_000))
    yield
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


@contextlib.contextmanager
def write_pattern(copy: Path, segments: list[str], chance: random.Random) -> Iterator[None]:
    """Four places of one segment, 256 bytes apart, begin alike. The segment keeps its times."""
    path = copy / chance.choice(segments)
    found = path.stat()
    before = read_quietly(path)
    start = 256 * chance.randrange(len(before) // 256 - 4)
    cells = b"".join(b"albumfs1" + chance.randbytes(248) for _ in range(4))

    def write(content: bytes) -> None:
        path.write_bytes(content)
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    write(before[:start] + cells + before[start + len(cells):])
    yield
    write(before)


@contextlib.contextmanager
def add_to_count(copy: Path, segments: list[str], chance: random.Random) -> Iterator[None]:
    """One segment is twice there, under another name in the same folder. All folders keep their times."""
    path = copy / chance.choice(segments)
    folder, found = path.parent.stat(), path.stat()
    twin = path.with_name(chance.randbytes(16).hex())
    twin.write_bytes(read_quietly(path))
    for changed, times in ((twin, found), (path.parent, folder)):
        os.utime(changed, ns=(times.st_atime_ns, times.st_mtime_ns))
    yield
    twin.unlink()
    os.utime(path.parent, ns=(folder.st_atime_ns, folder.st_mtime_ns))


@contextlib.contextmanager
def touch_folder(copy: Path, segments: list[str], chance: random.Random) -> Iterator[None]:
    """A folder keeps the time at which something was removed from it, as expired history would leave it."""
    path = (copy / chance.choice(segments)).parent
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 2_000_000_000))
    yield
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


LEAKS = (Leak("a time of one segment that is off by two seconds", timed, shift_time),
         Leak("a folder that shows when a segment of deleted files went", timed, touch_folder),
         Leak("a pattern in a kilobyte of one segment", flat, write_pattern),
         Leak("a segment that is there twice, and so one too many", flat, add_to_count))


def plant_all(folder: Path, copy: Copy, seed: int) -> tuple[Copy, ...]:
    """What the copy in this folder would show with each leak alone. `copy` is what it shows without them."""
    chance = random.Random(seed)
    segments = [entry.path for entry in copy.entries if entry.is_segment]
    shown = []
    for leak in LEAKS:
        with leak.plant(folder, segments, chance):
            entries = list_entries(folder)
            before = {entry.path: (entry.size, entry.ctime) for entry in copy.entries}
            looks = {}
            for entry in entries:
                if entry.is_folder:
                    continue
                if before.get(entry.path) == (entry.size, entry.ctime):
                    looks[entry.path] = copy.looks[entry.path]
                else:
                    content = read_quietly(folder / entry.path)
                    looks[entry.path] = look_at(content, entry.is_segment, is_thorough=True)
            shown.append(dataclasses.replace(copy, entries=entries, looks=looks))
    return tuple(shown)


def self_test(ones: list[Record], more: list[Record], seed: int) -> list[str]:
    """A sentence for each leak in real stores that the game does not find."""
    problems = []
    for place, leak in enumerate(LEAKS):
        leaking = [dataclasses.replace(record, late=record.planted[place]) for record in more]
        verdict = game.play(leak.what, [leak.observer(record) for record in ones],
                            [leak.observer(record) for record in leaking], seed, is_quick=True)
        if not game.is_broken(verdict):
            problems.append(f"self-test: {leak.what}, planted in {len(leaking)} real stores, is not found: "
                            f"AUC {verdict.classifier.auc:.2f}, p = {verdict.classifier.p:.1g}")
    return problems

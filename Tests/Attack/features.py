"""Turns what each kind of observer sees into numbers. The numbers are generic: they know nothing of how
albumfs writes, so that they also find what nobody has thought of.
"""
from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterable

import numpy

from rule import Truth
from traces import Copy, Entry, FirstPassword

Features = dict[str, float]
NATURAL = 883_612_800  # 1998: sealed segments bear earlier times.


@dataclasses.dataclass(frozen=True)
class Record:
    """The observations of one store in its life, and the truth about it."""
    seed: int
    pool: str
    spaces: int
    has_claimed_chaff: bool
    early: Copy
    late: Copy
    recovery_key: str
    check: dict
    chaff: dict  # The output of `chaff status` with the first password.
    truth: Truth | None = None  # None in files of earlier versions.
    planted: tuple[Copy, ...] = ()  # The last copy with each leak of leaks.py; empty where there is one space.


def statistics(prefix: str, values: Iterable[float]) -> Features:
    found = numpy.array(list(values), float)
    if not len(found):
        found = numpy.zeros(1)
    return {f"{prefix} mean": float(found.mean()), f"{prefix} spread": float(found.std()),
            f"{prefix} least": float(found.min()), f"{prefix} greatest": float(found.max())}


def folder(path: str) -> str:
    return path.rpartition("/")[0]


# ---- Names and bytes ----

def of_names(prefix: str, segments: list[Entry], folders: list[Entry]) -> Features:
    counts = collections.Counter(folder(entry.path) for entry in segments)
    digits = collections.Counter(digit for entry in segments for digit in entry.name)
    total = max(1, sum(digits.values()))
    fill = [counts.get(entry.path, 0) for entry in folders]
    expected = max(1, len(segments)) / 256
    return {
        f"{prefix} segments": len(segments),
        f"{prefix} fullest folder": max(fill, default=0),
        f"{prefix} empty folders": sum(not count for count in fill),
        f"{prefix} folders with one": sum(count == 1 for count in fill),
        f"{prefix} evenness of folders": sum((count - expected) ** 2 for count in fill) / expected
        + (256 - len(fill)) * expected,
        f"{prefix} evenness of digits": sum((digits[digit] - total / 16) ** 2 for digit in "0123456789abcdef")
        / (total / 16),
        f"{prefix} sizes": len({entry.size for entry in segments}),
        f"{prefix} mean name": float(numpy.mean([int(entry.name[:4], 16) for entry in segments] or [32768])),
    }


def of_bytes(prefix: str, copy: Copy, segments: list[Entry]) -> Features:
    seen = [copy.looks[entry.path] for entry in segments]
    features = {f"{prefix} repeated words": float(sum(one.repeated for one in seen)),
                f"{prefix} repeated files": float(len(seen) - len({one.digest for one in seen}))}
    features |= statistics(f"{prefix} chi-square", (one.chi_square for one in seen))
    features |= statistics(f"{prefix} serial correlation", (one.serial for one in seen))
    return features | statistics(f"{prefix} saved by zlib", (one.saved for one in seen))


# ---- Times ----

def of_times(prefix: str, entries: list[Entry], clock: float, what: str) -> Features:
    """`clock`: a time of the store's other files, such as that of `keys`."""
    times = sorted(getattr(entry, what) for entry in entries)
    counts = collections.Counter(times)
    gaps = numpy.diff(times) if len(times) > 1 else numpy.zeros(1)
    name = f"{prefix} {what}"
    count = max(1, len(times))
    return {
        f"{name} distinct": len(counts),
        f"{name} most common": max(counts.values(), default=0) / count,
        f"{name} natural": sum(time > NATURAL for time in times),
        f"{name} share natural": sum(time > NATURAL for time in times) / count,
        f"{name} odd": sum(int(time) % 2 for time in times),
        f"{name} groups": int((gaps > 0.25).sum()) + 1,
        f"{name} greatest gap": float(gaps.max()),
        f"{name} range": times[-1] - times[0] if times else 0,
        f"{name} after": sum(time > clock for time in times) / count,
        f"{name} shortly before": sum(0 <= clock - time < 0.2 for time in times),
        f"{name} nearest before": min((clock - time for time in times if time <= clock), default=1e9),
        f"{name} nearest after": min((time - clock for time in times if time > clock), default=1e9),
    }


def of_all_times(prefix: str, entries: list[Entry], clocks: dict[str, Entry], whats: list[str]) -> Features:
    features: Features = {}
    for what in whats:
        clock = getattr(clocks["keys"], what)
        features |= of_times(prefix, entries, clock, what)
        if what == "atime":
            features[f"{prefix} read since written"] = sum(one.atime > one.mtime for one in entries)
    return features


def of_resting_times(prefix: str, copy: Copy, entries: list[Entry]) -> Features:
    """Files whose times do not match their bytes."""
    return {f"{prefix} with another {what}": sum(getattr(one, what) != copy.looks[one.path].time
                                                 for one in entries) for what in ("mtime", "atime")}


def of_small_files(entries: tuple[Entry, ...], whats: list[str]) -> Features:
    """The times of the few files of every store relative to one another, the root and the folder of segments."""
    named = {entry.path: entry for entry in entries}
    some = ["", "segments", "keys", "albumfs.conf", "albumfs.conf.bak"]
    features: Features = {}
    for what in whats:
        for place, one in enumerate(some):
            for other in some[place + 1:]:
                features[f"{what} of {one or 'root'} - {other}"] = (
                    getattr(named[one], what) - getattr(named[other], what))
    return features


def of_order(prefix: str, entries: list[Entry]) -> Features:
    """Inode numbers relative to one another, in the order of changes and in the order of listing."""
    inodes = sorted(entry.inode for entry in entries)
    gaps = numpy.diff(inodes) if len(inodes) > 1 else numpy.zeros(1)
    by_change = [entry.inode for entry in sorted(entries, key=lambda one: one.ctime)]
    listed = [entry.inode for entry in sorted(entries, key=lambda one: one.place)]
    return {f"{prefix} inode gaps": int((gaps > 1).sum()), f"{prefix} widest inode gap": float(gaps.max()),
            f"{prefix} inodes out of order": sum(a > b for a, b in zip(by_change, by_change[1:])),
            f"{prefix} listed out of order": sum(a > b for a, b in zip(listed, listed[1:]))}


# ---- With the first password ----

def split(copy: Copy, owned: dict[str, tuple[int, int, int]]) -> tuple[list[Entry], list[Entry]]:
    segments = [entry for entry in copy.entries if entry.is_segment]
    return ([one for one in segments if one.path in owned],
            [one for one in segments if one.path not in owned])


def of_ownership(record: Record, owned: dict[str, tuple[int, int, int]]) -> Features:
    copy, check = record.late, record.check
    own, rest = split(copy, owned)
    kinds = collections.Counter(kind for kind, _, _ in owned.values())
    births = {birth for _, _, birth in owned.values()}
    numbers = [number for kind, number, _ in owned.values() if kind == 1]
    features = {
        "unexplained": len(rest), "explained": len(own), "unexplained to explained": len(rest) / len(own),
        "unexplained a session": len(rest) / len(births), "sessions of living segments": len(births),
        "greatest data number": max(numbers, default=0), "findings of check": len(check["findings"]),
        "segments of check - own": check["totals"]["segments"] - len(own),
    }
    features["rarity by chaff status"] = -math.log(record.chaff["unexplained"]["share"] + 1e-9)
    features |= {f"own of kind {kind}": kinds[kind] for kind in (1, 2, 3, 4)}
    mine = {folder(entry.path) for entry in own}
    others = {folder(entry.path) for entry in rest}
    features["folders of unexplained only"] = len(others - mine)
    features["folders of own only"] = len(mine - others)
    return features


def of_ownership_in_time(entries: tuple[Entry, ...], owned: dict[str, tuple[int, int, int]],
                         whats: list[str]) -> Features:
    named = {entry.path: entry for entry in entries}
    rest = [one for one in entries if one.is_segment and one.path not in owned]
    mine = {folder(path) for path in owned}
    theirs = {folder(one.path) for one in rest} - mine
    strange = [one for one in entries if one.is_segment_folder and one.path in theirs]
    features: Features = {}
    for what in whats:
        birth = getattr(named["albumfs.conf"], what)
        own = numpy.array([getattr(one, what) for one in entries if one.path in mine | owned.keys()])
        for prefix, some in (("unexplained", rest), ("folders of others", strange)):
            features |= of_times(prefix, some, birth, what)
            features[f"{prefix} {what} after birth by 0.5 s"] = sum(
                getattr(one, what) > birth + 0.5 for one in some)
            away = [float(abs(own - getattr(one, what)).min()) for one in some]
            features |= statistics(f"{prefix} {what} away from own", away)
    return features


# ---- Two copies ----

def of_change(prefix: str, early: Copy, late: Copy, pick: set[str] | None) -> Features:
    """`pick`: only these segments; None: all."""
    before, after = ({entry.path: entry for entry in copy.entries if entry.is_segment
                      and (pick is None or entry.path in pick)} for copy in (early, late))
    added, removed = after.keys() - before.keys(), before.keys() - after.keys()
    kept = after.keys() & before.keys()
    return {
        f"{prefix} added": len(added), f"{prefix} removed": len(removed),
        f"{prefix} share added": len(added) / max(1, len(after)),
        f"{prefix} share removed": len(removed) / max(1, len(before)),
        f"{prefix} rewritten": sum(early.looks[path].digest != late.looks[path].digest for path in kept),
        f"{prefix} other times": sum(before[path].mtime != after[path].mtime for path in kept),
        f"{prefix} other access times": sum(before[path].atime != after[path].atime for path in kept),
    }


def of_slots(early: Copy, late: Copy) -> Features:
    common = len(set(early.slots) & set(late.slots))
    return {"slots gone": len(early.slots) - common, "slots new": len(late.slots) - common,
            "slots added": len(late.slots) - len(early.slots)}


# ---- The observers ----

def flat(record: Record) -> Features:
    copy = record.late
    segments = [entry for entry in copy.entries if entry.is_segment]
    folders = [entry for entry in copy.entries if entry.is_segment_folder]
    small = [entry for entry in copy.entries if not entry.is_folder and not entry.is_segment]
    features = of_names("all", segments, folders) | of_bytes("all", copy, segments)
    features |= {"slots": len(copy.slots), "repeated slots": len(copy.slots) - len(set(copy.slots)),
                 "small files": len(small), "bytes of small files": sum(entry.size for entry in small)}
    words = copy.looks["keys"]
    return features | {"keys chi-square": words.chi_square, "keys serial": words.serial}


def timed(record: Record) -> Features:
    copy = record.late
    segments = [entry for entry in copy.entries if entry.is_segment]
    small = [entry for entry in copy.entries if not entry.is_folder and not entry.is_segment]
    return (flat(record) | times_of(copy.entries, ["mtime", "atime"])
            | of_resting_times("segments", copy, segments) | of_resting_times("small files", copy, small))


def times_of(entries: tuple[Entry, ...], whats: list[str]) -> Features:
    clocks = {entry.path: entry for entry in entries}
    segments = [entry for entry in entries if entry.is_segment]
    folders = [entry for entry in entries if entry.is_segment_folder]
    return (of_all_times("segments", segments, clocks, whats)
            | of_all_times("folders", folders, clocks, whats) | of_small_files(entries, whats))


def owned_in(record: Record, copy: Copy) -> dict[str, tuple[int, int, int]]:
    return FirstPassword(record.recovery_key).owned(copy.entries)


def flat_with_password(record: Record) -> Features:
    owned = owned_in(record, record.late)
    _, rest = split(record.late, owned)
    folders = [entry for entry in record.late.entries if entry.is_segment_folder]
    return (flat(record) | of_ownership(record, owned) | of_names("unexplained", rest, folders)
            | of_bytes("unexplained", record.late, rest))


def timed_with_password(record: Record) -> Features:
    owned = owned_in(record, record.late)
    _, rest = split(record.late, owned)
    return (flat_with_password(record) | timed(record) | of_resting_times("unexplained", record.late, rest)
            | of_ownership_in_time(record.late.entries, owned, ["mtime", "atime"]))


def two_copies(record: Record) -> Features:
    early, late = record.early, record.late
    return timed(record) | of_change("all", early, late, None) | of_slots(early, late)


def two_copies_with_password(record: Record) -> Features:
    owned_early, owned_late = owned_in(record, record.early), owned_in(record, record.late)
    mine = owned_early.keys() | owned_late.keys()
    every = {entry.path for copy in (record.early, record.late) for entry in copy.entries if entry.is_segment}
    births = [{birth for _, _, birth in owned.values()} for owned in (owned_early, owned_late)]
    return (two_copies(record) | timed_with_password(record)
            | of_change("unexplained", record.early, record.late, every - mine)
            | of_change("own", record.early, record.late, set(mine))
            | {"new sessions": len(births[1] - births[0])})


def disk(record: Record) -> Features:
    entries = record.late.disk
    segments = [entry for entry in entries if entry.is_segment]
    folders = [entry for entry in entries if entry.is_segment_folder]
    features = times_of(entries, ["mtime", "atime", "ctime", "birth"])
    features |= of_order("segments", segments) | of_order("folders", folders)
    features["blocks"] = float(numpy.mean([one.blocks * 512 / max(1, one.size) for one in segments]))
    return flat(record) | features


def disk_with_password(record: Record) -> Features:
    owned = owned_in(record, record.late)
    rest = [one for one in record.late.disk if one.is_segment and one.path not in owned]
    whats = ["mtime", "atime", "ctime", "birth"]
    return (flat_with_password(record) | disk(record) | of_order("unexplained", rest)
            | of_ownership_in_time(record.late.disk, owned, whats))

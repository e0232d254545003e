"""What can be seen of a store: the names, bytes and times of a copy, the traces on the disk itself, and
what somebody knows who has the password of the first space.
"""
from __future__ import annotations

import dataclasses
import hashlib
import os
import zlib
from pathlib import Path

import numpy

from driver import Failed, run

STAT = "%n\\t%F\\t%s\\t%.9Y\\t%.9X\\t%.9Z\\t%.9W\\t%i\\t%b\\n"
GRID = 256  # Records begin at multiples of this.


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file or folder of a store. Times are seconds since 1970; `birth` is 0 where none is known."""
    path: str
    is_folder: bool
    size: int
    mtime: float
    atime: float
    ctime: float
    birth: float
    inode: int
    blocks: int
    place: int  # In the order in which the folders list it.

    @property
    def is_segment(self) -> bool:
        return not self.is_folder and self.path.startswith("segments/")

    @property
    def is_segment_folder(self) -> bool:
        return self.is_folder and self.path.startswith("segments/")

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclasses.dataclass(frozen=True)
class Bytes:
    """The properties of one file's bytes."""
    digest: bytes
    chi_square: float  # Over the 256 values of a byte, in standard deviations.
    serial: float  # Correlation of a byte with the next, in standard deviations.
    saved: float  # Share that zlib saves; below zero for random bytes.
    repeated: int  # Cells of the grid that begin with the same 8 bytes as another.
    time: int  # The time of a file with these bytes at rest, according to SegmentChecksum.swift.


@dataclasses.dataclass(frozen=True)
class Copy:
    """One copy of a store, and the disk from which it was made, as of that moment."""
    entries: tuple[Entry, ...]  # Of the copy, times kept.
    disk: tuple[Entry, ...]  # Of the store itself.
    looks: dict[str, Bytes]  # Of each file.
    slots: tuple[bytes, ...]  # Digests of the slots in `keys`.


def open_quietly(path: Path, flags: int = 0) -> int:
    """Opens for reading, without leaving an access time if that is permitted."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NOATIME | flags)
    except PermissionError:
        return os.open(path, os.O_RDONLY | flags)


def list_paths(store: Path, folder: str = ".") -> list[str]:
    """Lists paths in the order of the disk in each folder. The observer must leave no trace in the store."""
    paths = [folder]
    descriptor = open_quietly(store / folder, os.O_DIRECTORY)
    try:
        with os.scandir(descriptor) as found:
            for entry in list(found):
                path = f"{folder}/{entry.name}"
                paths += list_paths(store, path) if entry.is_dir(follow_symlinks=False) else [path]
    finally:
        os.close(descriptor)
    return paths


def list_entries(store: Path) -> tuple[Entry, ...]:
    paths = list_paths(store)
    lines: list[str] = []
    for start in range(0, len(paths), 1000):
        words = ["env", "-C", str(store), "stat", f"--printf={STAT}", "--", *paths[start:start + 1000]]
        lines += run(words).splitlines()
    entries = []
    for place, line in enumerate(lines):
        path, kind, size, mtime, atime, ctime, birth, inode, blocks = line.split("\t")
        entries.append(Entry(path[2:], kind == "directory", int(size), float(mtime), float(atime),
                             float(ctime), float(birth), int(inode), int(blocks), place))
    return tuple(entries)


def resting_time(checksum: int) -> int:
    folded = 0
    for part in range(4):
        folded ^= (checksum >> 16 * part & 0xFFFF) << 4 * part
    return 315_532_800 + 2 * folded


def checksum_of_small_file(content: bytes) -> int:
    checksum = 0xCBF2_9CE4_8422_2325
    for byte in content:
        checksum = (checksum ^ byte) * 0x100_0000_01B3 & 0xFFFF_FFFF_FFFF_FFFF
    return checksum


def look_at(content: bytes, is_segment: bool, is_thorough: bool) -> Bytes:
    digest = hashlib.blake2b(content, digest_size=8).digest()
    if not is_thorough:
        return Bytes(digest, 0, 0, 0, 0, 0)
    values = numpy.frombuffer(content, numpy.uint8)
    count = max(1, len(values))
    expected = count / 256
    chi = float(((numpy.bincount(values, minlength=256) - expected) ** 2).sum() / expected)
    centred = values.astype(numpy.float32) - 127.5
    serial = float((centred[:-1] * centred[1:]).sum() / (5461.25 * max(1, count - 1) ** 0.5))
    part = content[:16384]
    cells = values[:count // GRID * GRID].reshape(-1, GRID)[:, :8]
    words = numpy.ascontiguousarray(cells).view(numpy.uint64).ravel()
    checksum = int(numpy.bitwise_xor.reduce(words)) if is_segment else checksum_of_small_file(content)
    saved = 1 - len(zlib.compress(part, 1)) / max(1, len(part))
    return Bytes(digest, (chi - 255) / 510 ** 0.5, serial, saved,
                 len(words) - len(numpy.unique(words)), resting_time(checksum))


def read_quietly(path: Path) -> bytes:
    with open(open_quietly(path), "rb") as stream:
        return stream.read()


def take_copy(store: Path, target: Path, is_last: bool) -> Copy:
    """Backs a store up as Backups.md recommends, with all access times too, and looks at both.

    rsync carries no access times of folders over. Left alone, those of the target would tell which folders
    changed since the first backup: a trace of the target's own disk, that a single copy does not have.
    Of a copy that is not the last one only digests are taken, to see what changes.
    """
    disk = list_entries(store)
    run(["rsync", "-aU", "--delete-delay", f"{store}/", f"{target}/"])
    for entry in disk:
        if entry.is_folder:
            kept = os.stat(store / entry.path)
            os.utime(target / entry.path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    entries = list_entries(target)
    seen = {}
    for entry in entries:
        if not entry.is_folder:
            content = read_quietly(target / entry.path)
            seen[entry.path] = look_at(content, entry.is_segment, is_last)
    keys = read_quietly(target / "keys")
    slots = [hashlib.blake2b(keys[at:at + 512], digest_size=8).digest()
             for at in range(0, len(keys), 512)]
    return Copy(entries, disk, seen, tuple(slots))


class FirstPassword:
    """Recognises the first space's own segments by their names, as `SpaceKeys.segment(named:)` does."""

    def __init__(self, recovery_key: str) -> None:
        alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
        number = 0
        for letter in recovery_key.replace("-", ""):
            number = number << 5 | alphabet.index(letter)
        master, check = (packed := number.to_bytes(35, "big"))[:32], packed[32:]
        # The key of the checksum identifies the cipher. The names of segments do not depend on it.
        keys = [f"albumfs recovery key {cipher}.0".encode() for cipher in (1, 2)]
        if check not in [hashlib.blake2b(master, digest_size=32, key=key).digest()[:3] for key in keys]:
            raise Failed("the recovery key is not spelled as the attack expects: read RecoveryKey.swift")
        self.names = hashlib.blake2b(b"", digest_size=32, key=master, salt=(4).to_bytes(16, "little"),
                                     person=b"albumfs1".ljust(16, b"\0")).digest()

    def own(self, name: str) -> tuple[int, int, int] | None:
        """Kind, number and birth of a segment of the first space; None for any other name."""
        left, right = int(name[:16], 16), int(name[16:], 16)
        for turn in (3, 2, 1, 0):
            message = left.to_bytes(8, "little") + turn.to_bytes(8, "little")
            digest = hashlib.blake2b(message, digest_size=16, key=self.names).digest()
            left, right = right ^ int.from_bytes(digest[:8], "little"), left
        number, kind = right >> 32, right >> 24 & 0xFF
        if left & 0xFFFF or right & 0xFFFFFF or not left or not number or not 1 <= kind <= 4:
            return None
        return kind, number, left >> 16

    def owned(self, entries: tuple[Entry, ...]) -> dict[str, tuple[int, int, int]]:
        found = {entry.path: self.own(entry.name) for entry in entries if entry.is_segment}
        owned = {path: own for path, own in found.items() if own}
        if not any(kind == 2 for kind, _, _ in owned.values()):
            raise Failed("no journal of the first space is found: read SpaceKeys.name(of:number:birth:)")
        return owned

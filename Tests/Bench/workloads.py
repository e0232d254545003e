"""The rows: the timed work, its order, and how each row proves that it did its work.

A round of one peer makes a store, writes in a first session and reads in a second, so that no daemon still has in
memory what it wrote. Each workload returns the seconds of the programs alone; setting up and comparing are not timed.
"""
from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from content import Inputs
from measuring import Failed, Late, Process, guarded, run
from peers import Peer

# Of the longer edge, as albumfs has it by default.
THUMBNAIL = 512
# To albumfs a folder whose name begins with a dot is no album, and its photos get no thumbnails.
PLAIN = ".plain"
LARGE = ".large"


@dataclass
class Site:
    """One mounted peer, and what the workloads of a round share."""
    peer: Peer
    root: Path
    daemon: Process
    inputs: Inputs
    # Outside the mount, in memory, empty when a round begins.
    scratch: Path
    limit: float
    environment: dict[str, str]
    # Seconds of workloads of this round, by key.
    taken: dict[str, float] = field(default_factory=dict)

    def run(self, *words: object, stdout: Path | None = None, folder: Path | None = None) -> float:
        return run([str(word) for word in words], self.limit, self.daemon, self.environment, stdout, folder)

    @property
    def photos(self) -> Path:
        """A folder for photos: in an album of albumfs, plain in the others."""
        return self.root / "Trip" / "Photo" if self.peer.is_albumfs else self.root / "Trip"

    @property
    def thumbnails(self) -> Path:
        return self.root / "Trip" / "Thumb" if self.peer.is_albumfs else self.root / "Thumb"


def require(is_right: bool, message: str) -> None:
    if not is_right:
        raise Failed(message)


def require_equal(copy: Path, original: Path) -> None:
    filecmp.clear_cache()
    require(filecmp.cmp(copy, original, shallow=False), f"{copy.name} has other bytes than were written")


def require_same_photos(folder: Path, inputs: Inputs) -> None:
    names = sorted(os.listdir(folder))
    require(names == sorted(os.listdir(inputs.photos)), f"{folder.name} has other files than were copied")
    for name in names:
        require_equal(folder / name, inputs.photos / name)


# The first session.

def write_stream(site: Site) -> float:
    return site.run("dd", f"if={site.inputs.stream}", f"of={site.root / 'stream'}", "bs=1M", "status=none")


def write_small(site: Site) -> float:
    return site.run("dd", f"if={site.inputs.small}", f"of={site.root / 'small'}", "bs=4K", "status=none")


def untar(site: Site) -> float:
    return site.run("tar", "-xf", site.inputs.archive, "-C", site.root)


def copy_plain(site: Site) -> float:
    os.mkdir(site.root / PLAIN)
    return site.run("cp", "-r", f"{site.inputs.photos}/.", site.root / PLAIN)


def copy_large(site: Site) -> float:
    os.mkdir(site.root / LARGE)
    return site.run("cp", "-r", f"{site.inputs.large}/.", site.root / LARGE)


def copy_photos(site: Site) -> float:
    os.mkdir(site.root / "Trip")
    return site.run("cp", "-r", f"{site.inputs.photos}/.", site.photos)


def make_thumbnails(site: Site) -> float:
    """The time from the start of the copy: albumfs makes its thumbnails on the way."""
    before = site.taken["photos-in"]
    if site.peer.is_albumfs:
        seconds = site.run(site.peer.program, "sync", site.root)
    else:
        cores = os.cpu_count() or 1
        share = max(1, -(-site.inputs.photo_count // (4 * cores)))
        # To vipsthumbnail a name that begins with a dot is the kind of picture to print.
        seconds = site.run("sh", "-c", f"mkdir {site.thumbnails} && cd {site.photos} && printf '%s\\0' * | xargs -0 "
                           f"-P {cores} -n {share} vipsthumbnail --size {THUMBNAIL} -o {site.thumbnails}/%s.jpg")
    return before + seconds


# The second session.

def list_all(site: Site) -> float:
    listing = site.scratch / "listing"
    seconds = site.run("ls", "-lR", site.root / "tree", stdout=listing)
    found = sum(line.startswith("-") for line in listing.read_text().splitlines())
    require(found == site.inputs.sizes.files, f"ls -lR lists {found} files")
    return seconds


def find_warm(site: Site) -> float:
    """`-size` asks for the attributes of each file; the first run fills the caches."""
    found = site.scratch / "found"
    words = ("find", site.root / "tree", "-type", "f", "-size", "-9999999")
    site.run(*words, stdout=found)
    seconds = site.run(*words, stdout=found)
    count = len(found.read_text().splitlines())
    require(count == site.inputs.sizes.files, f"find names {count} files")
    return seconds


def checksum(site: Site) -> float:
    sums = site.scratch / "sums"
    seconds = site.run("sh", "-c", "find ./tree -type f -print0 | xargs -0 sha256sum", stdout=sums, folder=site.root)
    found = sorted(sums.read_text().splitlines(keepends=True), key=lambda line: line.split("  ")[1])
    require("".join(found) == site.inputs.sums, "the tree has other checksums than were written")
    return seconds


def read_stream(site: Site) -> float:
    return site.run("dd", f"if={site.root / 'stream'}", "of=/dev/null", "bs=1M", "status=none")


def compare_stream(site: Site) -> float:
    require_equal(site.root / "stream", site.inputs.stream)
    return 0


def compare_small(site: Site) -> float:
    require_equal(site.root / "small", site.inputs.small)
    return 0


def read_randomly(site: Site) -> float:
    seconds = site.scratch / "seconds"
    site.run("/usr/bin/python3", "-B", Path(__file__).parent / "random_reads.py", site.root / "stream",
             site.inputs.stream, site.inputs.sizes.reads, stdout=seconds)
    return float(seconds.read_text())


def read_heads(site: Site) -> float:
    heads = site.scratch / "heads"
    seconds = site.run("sh", "-c", "head -q -c 16384 -- *", stdout=heads, folder=site.photos)
    require(heads.stat().st_size == 16384 * site.inputs.photo_count, "a head is short")
    return seconds


def read_photos(site: Site) -> float:
    seconds = site.run("sh", "-c", "cat -- * >/dev/null", folder=site.photos)
    require_same_photos(site.photos, site.inputs)
    return seconds


def compare_plain(site: Site) -> float:
    require_same_photos(site.root / PLAIN, site.inputs)
    return 0


def compare_large(site: Site) -> float:
    for path in site.inputs.large.iterdir():
        require_equal(site.root / LARGE / path.name, path)
    return 0


def count_thumbnails(site: Site) -> float:
    """A missing thumbnail would make a row fast."""
    found = list(site.thumbnails.iterdir())
    require(len(found) == site.inputs.photo_count, f"{len(found)} thumbnails of {site.inputs.photo_count} photos")
    for path in found:
        require(path.read_bytes()[:3] == b"\xff\xd8\xff", f"the thumbnail {path.name} is no JPEG")
    return 0


def rsync_out(site: Site) -> float:
    copy = site.scratch / "out"
    seconds = site.run("rsync", "-a", f"{site.photos}/", copy)
    require_same_photos(copy, site.inputs)
    shutil.rmtree(copy)
    return seconds


def remove_tree(site: Site) -> float:
    seconds = site.run("rm", "-rf", site.root / "tree")
    require(not (site.root / "tree").exists(), "rm -rf left something")
    return seconds


@dataclass(frozen=True)
class Workload:
    key: str
    act: Callable[[Site], float]
    # A row of the table, or none for a comparison that is not timed.
    title: str | None
    is_cold: bool = False
    # Rows whose times mean nothing if this workload fails, since what they wrote is not there.
    proves: tuple[str, ...] = ()
    # The limit of the row, in times of the best peer: over io_uring, and over the device.
    goal: tuple[float, float] | None = None


FIRST = (
    Workload("write", write_stream, "write {stream}", goal=(0.85, 0.95)),
    Workload("write-4k", write_small, "4 KiB writes, {small}", goal=(0.45, 0.45)),
    Workload("untar", untar, "untar {files} files", goal=(0.60, 0.80)),
    Workload("photos-plain", copy_plain, "copy {photos} photos, not into an album"),
    Workload("large-in", copy_large, "copy {large} photos of 12 MiB and videos, not into an album"),
    Workload("photos-in", copy_photos, "copy {photos} photos", goal=(0.80, 0.95)),
    Workload("thumbnails", make_thumbnails, "… until all thumbnails are there", goal=(0.80, 0.85)),
)
SECOND = (
    Workload("ls", list_all, "ls -lR after mount", goal=(0.50, 0.65)),
    Workload("find", find_warm, "find, warm", goal=(0.50, 0.65)),
    Workload("checksum", checksum, "checksum the files, cold", True, ("untar",), (0.60, 0.80)),
    Workload("read", read_stream, "read {stream}, cold", True, goal=(0.80, 1.00)),
    Workload("stream", compare_stream, None, proves=("write", "read")),
    Workload("small", compare_small, None, proves=("write-4k",)),
    Workload("read-4k", read_randomly, "{reads} random 4 KiB reads, cold", True, goal=(0.45, 0.45)),
    Workload("heads", read_heads, "heads of the photos, cold", True, goal=(0.80, 1.00)),
    Workload("photos-out", read_photos, "read all photos, cold", True, ("photos-in", "heads"), (0.80, 1.00)),
    Workload("plain", compare_plain, None, proves=("photos-plain",)),
    Workload("large", compare_large, None, proves=("large-in",)),
    Workload("thumbs", count_thumbnails, None, proves=("thumbnails",)),
    Workload("rsync", rsync_out, "rsync the photos out, cold", True),
    Workload("rm", remove_tree, "rm -rf of the tree", goal=(0.65, 0.90)),
)


def act(workload: Workload, site: Site) -> float:
    """Runs a workload; whatever it does outside a program is under a limit too."""
    with guarded(4 * site.limit, site.daemon) as is_late:
        try:
            seconds = workload.act(site)
        except (OSError, KeyError, ValueError) as error:
            if is_late.is_set():
                raise Late(f"not done after {4 * site.limit:.0f} s") from None
            raise Failed(f"{type(error).__name__}: {error}") from None
    site.taken[workload.key] = seconds
    return seconds

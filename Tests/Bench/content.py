"""Makes what the workloads copy: one large file, an archive of many small ones, and photos."""
from __future__ import annotations

import concurrent.futures
import dataclasses
import hashlib
import io
import math
import os
import random
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from measuring import Failed, run

MIB = 1 << 20
# Different pictures; more photos are copies of these with another comment, which costs a decoder the same.
PICTURES = 24
SUFFIXES = (".jpg", ".jpeg", ".JPG", ".JPEG")


@dataclass(frozen=True)
class Sizes:
    """The size of each kind of workload."""
    stream: int
    small: int
    reads: int
    files: int
    photos: int
    # Photos of a good camera, and videos, in bytes.
    large: tuple[int, ...]
    mounted: int

    def times(self, factor: float, mounted: int | None = None) -> Sizes:
        """The large file keeps whole blocks, and no count becomes zero. `mounted` replaces that number."""
        counts = (max(1, round(factor * value)) for value in (self.reads, self.files, self.photos, self.mounted))
        stream, small = (max(1, round(factor * value / MIB)) * MIB for value in (self.stream, self.small))
        reads, files, photos, many = counts
        # Fewer or more of them, each as long as before.
        copies = max(1, round(factor * len(self.large)))
        kept = tuple(self.large[place % len(self.large)] for place in range(-copies, 0))
        sizes = Sizes(stream, small, reads, files, photos, kept, many)
        return dataclasses.replace(sizes, mounted=mounted) if mounted else sizes


def large(photos: int, videos: int, video: int) -> tuple[int, ...]:
    return (12 * MIB,) * photos + (video * MIB,) * videos


FULL = Sizes(stream=1024 * MIB, small=64 * MIB, reads=4096, files=4682, photos=273, large=large(24, 2, 300),
             mounted=100_000)
QUICK = Sizes(stream=48 * MIB, small=4 * MIB, reads=512, files=300, photos=12, large=large(2, 1, 24), mounted=1000)
# The smallest of three sizes; the others are 10 and 100 times as large.
SCALED = Sizes(stream=10 * MIB, small=MIB, reads=100, files=100, photos=4, large=large(1, 1, 10), mounted=1000)


@dataclass(frozen=True)
class Inputs:
    sizes: Sizes
    stream: Path
    small: Path
    archive: Path
    # The output of `sha256sum` on the files of the archive, sorted by name.
    sums: str
    photos: Path
    photo_count: int
    photo_bytes: int
    large: Path
    many: Path

    @property
    def content_bytes(self) -> int:
        """Returns the bytes of content in a store after the first half of a round, without thumbnails."""
        tree = sum(member.size for member in tarfile.open(self.archive) if member.isfile())
        return self.sizes.stream + self.sizes.small + tree + 2 * self.photo_bytes + sum(self.sizes.large)


def write_random(path: Path, size: int) -> None:
    with open(path, "wb") as file:
        for start in range(0, size, MIB):
            file.write(os.urandom(min(MIB, size - start)))


def write_archive(path: Path, count: int, choice: random.Random) -> str:
    """Small files, 16 to a folder, with the sizes of source code: half have less than 4 KB. Returns their sums."""
    lines = []
    folders: set[str] = set()
    with tarfile.open(path, "w") as archive:
        for number in range(count):
            folder = f"tree/{number // 256:03}/{number // 16 % 16:02}"
            for name in ("tree", folder.rpartition("/")[0], folder):
                if name not in folders:
                    folders.add(name)
                    member = tarfile.TarInfo(name)
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(member)
            data = choice.randbytes(min(256 << 10, int(choice.lognormvariate(math.log(4000), 1.3))))
            member = tarfile.TarInfo(f"{folder}/file-{number:06}")
            member.size, member.mode, member.mtime = len(data), 0o644, 1_600_000_000 + number
            archive.addfile(member, io.BytesIO(data))
            lines.append(f"{hashlib.sha256(data).hexdigest()}  ./{member.name}\n")
    return "".join(sorted(lines, key=lambda line: line.split("  ")[1]))


def write_empty_files(path: Path, count: int) -> None:
    """An archive of files that hold one byte each, 500 to a folder."""
    with tarfile.open(path, "w") as archive:
        for number in range(count):
            if number % 500 == 0:
                member = tarfile.TarInfo(f"folder-{number // 500:04}")
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
            member = tarfile.TarInfo(f"folder-{number // 500:04}/file-{number:07}")
            member.size, member.mode = 1, 0o644
            archive.addfile(member, io.BytesIO(b"x"))


# The longer edges of pictures, of which most have 6 megapixels: 0.3 to 5 MB.
EDGES = (3000, 3000, 1800, 3000, 4200, 3000, 2400, 7500)


def make_picture(folder: Path, number: int) -> bytes:
    """A JPEG of 1.5 to 26 megapixels: soft shapes in three colours with grain; every fourth stands upright."""
    longer = EDGES[number % len(EDGES)]
    shorter = longer // 3 * 2
    width, height = (shorter, longer) if number % 4 == 3 else (longer, shorter)
    size = [str(width), str(height)]
    bands = []
    for band in range(3):
        soft, grain, sum_ = (folder / f"{number}-{band}-{name}.v" for name in ("soft", "grain", "sum"))
        seed = str(3 * number + band)
        run(["vips", "perlin", str(soft), *size, "--cell-size", str(100 + 60 * band), "--seed", seed], limit=60)
        run(["vips", "gaussnoise", str(grain), *size, "--mean", "0", "--sigma", "0.035", "--seed", seed], limit=60)
        run(["vips", "add", str(soft), str(grain), str(sum_)], limit=60)
        bands.append(str(sum_))
    joined, scaled, photo = folder / f"{number}.v", folder / f"{number}-scaled.v", folder / f"{number}.jpg"
    run(["vips", "bandjoin", " ".join(bands), str(joined)], limit=60)
    run(["vips", "linear", str(joined), str(scaled), "110", "128", "--uchar"], limit=60)
    run(["vips", "copy", str(scaled), str(photo) + "[Q=88]", "--interpretation", "srgb"], limit=60)
    data = photo.read_bytes()
    for file in folder.glob(f"{number}[-.]*"):
        file.unlink()
    return data


def with_comment(picture: bytes, text: str) -> bytes:
    """Returns a JPEG with a comment, which makes it another file with the same picture."""
    comment = text.encode()
    return picture[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + picture[2:]


def make_photos(folder: Path, count: int) -> None:
    work = folder.parent / "pictures"
    work.mkdir()
    folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pictures = list(pool.map(lambda number: make_picture(work, number), range(min(count, PICTURES))))
    shutil.rmtree(work)
    for number in range(count):
        marked = with_comment(pictures[number % len(pictures)], f"photo {number}")
        (folder / f"IMG_{number:05}.jpg").write_bytes(marked)


def copy_photos(source: Path, folder: Path) -> None:
    """Takes the JPEGs of a person's own directory instead."""
    folder.mkdir()
    found = sorted(path for path in source.rglob("*") if path.suffix in SUFFIXES and path.is_file())
    if not found:
        raise Failed(f"{source} holds no JPEG")
    for number, path in enumerate(found):
        shutil.copyfile(path, folder / f"{number:05}{path.suffix}")


def make_inputs(folder: Path, sizes: Sizes, own_photos: Path | None) -> Inputs:
    folder.mkdir()
    stream, small, archive, many = (folder / name for name in ("stream", "small", "tree.tar", "many.tar"))
    photos = folder / "photos"
    if own_photos:
        copy_photos(own_photos, photos)
    else:
        make_photos(photos, sizes.photos)
    films = folder / "large"
    films.mkdir()
    for number, size in enumerate(sizes.large):
        # Nobody decodes them: they go into a plain folder.
        write_random(films / f"{number:03}.{'jpg' if size == 12 * MIB else 'mp4'}", size)
    write_random(stream, sizes.stream)
    write_random(small, sizes.small)
    sums = write_archive(archive, sizes.files, random.Random(13))
    write_empty_files(many, sizes.mounted)
    lengths = [path.stat().st_size for path in photos.iterdir()]
    return Inputs(sizes, stream, small, archive, sums, photos, len(lengths), sum(lengths), films, many)


def touch_memory(folder: Path, size: int) -> int:
    """Fills memory with a file and frees it. A virtual machine gets each page of its memory at the first touch, which
    takes longer than most of what a row measures. Returns how many bytes were touched: no more than half of the free
    memory.
    """
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    size = min(size, free // 2) // MIB * MIB
    path = folder / "touched"
    try:
        block = b"\xff" * MIB
        with open(path, "wb") as file:
            for _ in range(size // MIB):
                file.write(block)
    finally:
        path.unlink(missing_ok=True)
    return size

"""The rows of a run as a table for people, as JSON, and as tables in Speed.md and README.md."""
from __future__ import annotations

import statistics
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from content import MIB, Inputs
from peers import Peer
from workloads import FIRST, SECOND

BEGIN, END = "<!-- bench table -->", "<!-- /bench table -->"
BEGIN_REMOTE, END_REMOTE = "<!-- remote table -->", "<!-- /remote table -->"
BEGIN_ROWS, END_ROWS = "<!-- bench rows -->", "<!-- /bench rows -->"
# The rows that README shows.
FIRST_ROWS = ("write", "read", "read-4k", "untar", "ls", "photos-in", "thumbnails", "peak")
ORDER = ("write", "read", "write-4k", "read-4k", "untar", "checksum", "ls", "find", "rm", "photos-in", "photos-plain",
         "large-in", "album-cost", "thumbnails", "heads", "photos-out", "rsync", "mount", "list", "cpu-write",
         "cpu-read", "peak",
         "peak-many", "stored")
OTHER_TITLES = {
    "album-cost": "times as long into an album as into a plain folder",
    "mount": "mount {mounted} files, without key derivation",
    "list": "list these {mounted} files",
    "cpu-write": "processor seconds to write 1 GiB",
    "cpu-read": "processor seconds to read 1 GiB",
    "peak": "peak memory, MiB",
    "peak-many": "peak memory with these files listed, MiB",
    "stored": "bytes in the store per byte of content",
}
TITLES = {one.key: one.title for one in FIRST + SECOND if one.title} | OTHER_TITLES
GOALS = {one.key: one.goal for one in FIRST + SECOND if one.goal}
# The most that a row of albumfs alone may be, whatever the other peers need.
OWN_GOALS = {"album-cost": 1.15}
TIMED = tuple(key for key in ORDER if key not in ("album-cost", "cpu-write", "cpu-read", "peak", "peak-many", "stored"))


@dataclass
class Cell:
    """The results of one peer in one row, by round."""
    samples: dict[int, float] = field(default_factory=dict)
    failure: str = ""

    @property
    def median(self) -> float | None:
        return statistics.median(self.samples.values()) if self.samples else None

    @property
    def spread(self) -> float:
        """Half the distance between the least and the most, in medians."""
        middle = self.median
        return (max(self.samples.values()) - min(self.samples.values())) / 2 / middle if middle else 0


@dataclass(frozen=True)
class Ratio:
    """One peer beside the best of those that encrypt: of the medians, and of single rounds."""
    value: float
    least: float
    most: float
    best: str


class Table:
    def __init__(self, peers: list[Peer], inputs: Inputs) -> None:
        self.peers = peers
        self.inputs = inputs
        self.cells = {key: {peer.name: Cell() for peer in peers} for key in ORDER}

    def put(self, key: str, peer: Peer, turn: int, value: float) -> None:
        self.cells[key][peer.name].samples[turn] = value

    def fail(self, key: str, peer: Peer, turn: int, reason: str) -> None:
        """The round has no time in this row; the first reason is kept."""
        cell = self.cells[key][peer.name]
        cell.samples.pop(turn, None)
        cell.failure = cell.failure or reason

    def title(self, key: str) -> str:
        sizes = self.inputs.sizes
        return TITLES[key].format(stream=of_bytes(sizes.stream), small=of_bytes(sizes.small),
                                  reads=f"{sizes.reads:,}", files=f"{sizes.files:,}",
                                  photos=f"{self.inputs.photo_count:,}", large=len(sizes.large),
                                  mounted=f"{sizes.mounted:,}")

    def ratio(self, key: str, peer: Peer) -> Ratio | None:
        row = self.cells[key]
        own = row[peer.name]
        others = [(median, other.name) for other in self.peers
                  if not other.is_albumfs and not other.is_reference
                  and (median := row[other.name].median) is not None]
        if own.median is None or not others:
            return None
        middle, best = min(others)
        rounds = [own.samples[turn] / value for turn, value in row[best].samples.items()
                  if turn in own.samples and value > 0]
        if not rounds or middle <= 0:
            return None
        return Ratio(own.median / middle, min(rounds), max(rounds), best)

    def own(self) -> list[Peer]:
        return [peer for peer in self.peers if peer.is_albumfs]

    def rows(self) -> list[str]:
        """The rows in which a peer has a cell."""
        return [key for key in ORDER if any(cell.samples or cell.failure for cell in self.cells[key].values())]


def of_bytes(count: int) -> str:
    return f"{count >> 30} GiB" if count % (1 << 30) == 0 else f"{count / MIB:.0f} MiB"


def of_value(key: str, value: float) -> str:
    if key in ("peak", "peak-many"):
        return f"{value:.0f}"
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def of_cell(key: str, cell: Cell, has_spread: bool) -> str:
    if cell.median is None:
        return "failed" if cell.failure else "–"
    mark = "*" if cell.failure else ""
    spread = f" ±{cell.spread:.0%}" if has_spread and len(cell.samples) > 1 else ""
    return f"{of_value(key, cell.median)}{mark}{spread}"


def of_ratio(ratio: Ratio | None) -> str:
    return f"{ratio.value:.2f} ({ratio.least:.2f}–{ratio.most:.2f})" if ratio else "–"


def of_goal(key: str, table: Table, peer: Peer) -> str:
    if key in OWN_GOALS and (median := table.cells[key][peer.name].median) is not None:
        return f"{OWN_GOALS[key]:.2f} {'yes' if median <= OWN_GOALS[key] else 'no'}"
    if key not in GOALS or (ratio := table.ratio(key, peer)) is None:
        return ""
    goal = GOALS[key][0 if "io_uring" in peer.name else 1]
    return f"{goal:.2f} {'yes' if ratio.value <= goal else 'no'}"


def text(table: Table) -> str:
    """The table for a terminal, with spreads and goals."""
    head = ["", *(peer.name for peer in table.peers)]
    for peer in table.own():
        head += [f"{peer.name} / best", "goal"]
    lines = [head]
    for key in table.rows():
        line = [table.title(key)]
        line += [of_cell(key, table.cells[key][peer.name], True) for peer in table.peers]
        for peer in table.own():
            line += [of_ratio(table.ratio(key, peer)), of_goal(key, table, peer)]
        lines.append(line)
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join("  ".join(word.ljust(width) if place == 0 else word.rjust(width)
                               for place, (word, width) in enumerate(zip(line, widths))) for line in lines)


def failures(table: Table) -> str:
    return "\n".join(f"* {table.title(key)}, {name}: {cell.failure}"
                     for key, row in table.cells.items() for name, cell in row.items() if cell.failure)


def growth(tables: dict[int, Table]) -> str:
    """For each row and peer the values at each size, and by which factor each tenfold size multiplies them."""
    factors = sorted(tables)
    most = tables[factors[-1]]
    lines = []
    for key in most.rows():
        lines.append(most.title(key))
        for peer in most.peers:
            cells = [tables[factor].cells[key][peer.name] for factor in factors]
            values = "".join(f"{f'{factor}×: {of_cell(key, cell, False)}':14}" for factor, cell in zip(factors, cells))
            grown = ", ".join(f"×{after.median / before.median:.1f}" for before, after in zip(cells, cells[1:])
                              if before.median and after.median)
            lines.append(f"  {peer.name:18}{values}  {grown and 'each tenfold: '}{grown}")
    return "\n".join(lines)


def as_json(table: Table) -> list[dict]:
    rows = []
    for key in table.rows():
        cells = {}
        for peer in table.peers:
            cell = table.cells[key][peer.name]
            ratio = table.ratio(key, peer) if peer.is_albumfs else None
            cells[peer.name] = {
                "median": cell.median, "spread": round(cell.spread, 4),
                "samples": [cell.samples[turn] for turn in sorted(cell.samples)], "failure": cell.failure or None,
                **({"ratio": {"value": ratio.value, "least": ratio.least, "most": ratio.most, "best": ratio.best}}
                   if ratio else {}),
            }
        rows.append({"key": key, "title": table.title(key), "cells": cells})
    return rows


def markdown(table: Table) -> str:
    own = table.own()
    head = ["seconds, unless the row says otherwise", *(peer.name for peer in table.peers),
            *(f"{peer.name} / best" for peer in own)]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for key in table.rows():
        line = [table.title(key), *(of_cell(key, table.cells[key][peer.name], False) for peer in table.peers),
                *(of_ratio(table.ratio(key, peer)) for peer in own)]
        lines.append(f"| {' | '.join(line)} |")
    return "\n".join(lines)


def excerpt(table: Table) -> str:
    """The rows of README, without the peer that does not encrypt and without ratios."""
    peers = [peer for peer in table.peers if not peer.is_reference]
    head = ["seconds, unless the row says otherwise", *(peer.name for peer in peers)]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for key in table.rows():
        if key in FIRST_ROWS:
            line = [table.title(key), *(of_cell(key, table.cells[key][peer.name], False) for peer in peers)]
            lines.append(f"| {' | '.join(line)} |")
    return "\n".join(lines)


def replaced(page: Path, begin: str, end: str, new: str) -> str:
    """The text of a page with `new` between two marks; nothing else changes."""
    content = page.read_text()
    if content.count(begin) != 1 or content.count(end) != 1 or content.index(begin) > content.index(end):
        raise SystemExit(f"{page} has no place for the table: {begin} and {end}, once each")
    before, _, rest = content.partition(begin)
    return f"{before}{begin}\n{new}\n{end}{rest.partition(end)[2]}"


def write_remote(page: Path, text: str, below: str) -> None:
    """Puts the tables with an object storage into the page."""
    lines = "\n".join(textwrap.wrap(below, 108))
    page.write_text(replaced(page, BEGIN_REMOTE, END_REMOTE, f"{text}\n\n{lines}"))


def write(page: Path, readme: Path, table: Table, chart: Path, below: str) -> None:
    """Puts table and chart into the page, and some rows into README."""
    place = chart.resolve().relative_to(page.resolve().parent)
    picture = f"![Times of albumfs and of each peer, relative to the best peer]({place})"
    lines = "\n".join(textwrap.wrap(below, 108))
    whole = replaced(page, BEGIN, END, f"{markdown(table)}\n\n{picture}\n\n{lines}")
    rows = replaced(readme, BEGIN_ROWS, END_ROWS, excerpt(table))
    page.write_text(whole)
    readme.write_text(rows)

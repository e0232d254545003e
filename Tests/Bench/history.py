"""What history costs: the same work on a space that keeps deleted files and makes snapshots, and on one that does not.

Both take turns on new stores, and the next round begins with the other one. A ratio compares two runs of one round, so
that a machine that grows slower meanwhile changes it little. Then many small files go at once, and the memory of the
daemon shows what it keeps of them.
"""
from __future__ import annotations

import argparse
import collections
import os
import shutil
import statistics
from pathlib import Path

import content
from measuring import Failed, Process, guarded, run
from peers import Peer, Store, albumfs
from report import Table
from rounds import Bench, say
from workloads import FIRST, SECOND

WITH, WITHOUT = "with history", "without"
# The rows of each session. `rm` comes in the second, whose first removal makes a snapshot.
ROWS = (tuple(one for one in FIRST if one.key in ("write", "untar", "photos-plain")),
        tuple(one for one in SECOND if one.key == "rm"))
# The most that the median ratio of a row may be.
GOAL = 1.03
# So many files go at once, and the daemon keeps so many bytes of memory for each at most.
MANY, BYTES_PER_FILE = 1_000_000, 80
FILES_PER_FOLDER = 10_000
# Seconds for making or removing so many.
MANY_LIMIT = 3600.0


class HistoryBench:
    def __init__(self, bench: Bench, options: argparse.Namespace) -> None:
        self.bench, self.options = bench, options
        # The daemon's processor seconds in each row, by row and peer, and then by round.
        self.used: dict[tuple[str, str], dict[int, float]] = collections.defaultdict(dict)

    def measure(self) -> Table:
        sizes = (content.QUICK if self.options.quick else content.FULL).times(self.options.size, self.options.many)
        say("making files and pictures")
        inputs = content.make_inputs(self.bench.top / "inputs", sizes, self.options.photos)
        peers = [albumfs(name, self.options.albumfs) for name in (WITH, WITHOUT)]
        table = Table(peers, inputs)
        for turn in range(self.options.rounds):
            for peer in peers if turn % 2 == 0 else reversed(peers):
                say(f"round {turn + 1} of {self.options.rounds}: {peer.name}")
                try:
                    self.play(peer, table, turn)
                except (Failed, OSError) as error:
                    for workload in ROWS[0] + ROWS[1]:
                        table.fail(workload.key, peer, turn, str(error))
        return table

    def play(self, peer: Peer, table: Table, turn: int) -> None:
        store = self.bench.make_store(peer, f"history-{turn}-{peer.name.replace(' ', '-')}")
        scratch = self.bench.top / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        try:
            taken: dict[str, float] = {}
            for rows in ROWS:
                store.mount()
                self.set_history(store, peer)
                assert store.daemon
                for row in rows:
                    before = store.daemon.processor_seconds()
                    self.bench.session((row,), store, scratch, table, turn, taken)
                    self.used[row.key, peer.name][turn] = store.daemon.processor_seconds() - before
                store.unmount()
        finally:
            self.bench.remove(store)

    def memory_of_removal(self) -> tuple[int, float, float]:
        """Returns how many small files `rm -rf` removed, and the MB of the daemon's memory before and after."""
        count = self.options.many or (MANY // 100 if self.options.quick else MANY)
        store = self.bench.make_store(albumfs(WITH, self.options.albumfs), "history-many")
        try:
            store.mount()
            assert store.daemon
            say(f"making {count:,} files")
            with guarded(MANY_LIMIT, store.daemon):
                make_files(store.mount_point / ".many", count)
            before = self.settled(store)
            say(f"removing {count:,} files")
            run(["rm", "-rf", str(store.mount_point / ".many")], MANY_LIMIT, store.daemon)
            after = self.settled(store)
            store.unmount()
            return count, before, after
        finally:
            self.bench.remove(store)

    def settled(self, store: Store) -> float:
        """MB of the daemon's own memory when all is on disk and the kernel knows no file."""
        assert store.daemon
        run(["sync", "-f", str(store.mount_point)], self.options.limit, store.daemon)
        self.bench.drop(store)
        return own_memory(store.daemon) / 1e6

    def set_history(self, store: Store, peer: Peer) -> None:
        """The setting stays in the space, but each session states it, so that both kinds do the same before."""
        switch = "--on" if peer.name == WITH else "--off"
        run([peer.program, "history", "-q", switch, "--password-file", str(store.password), str(store.mount_point)],
            self.options.limit, store.daemon, store.environment)


def make_files(folder: Path, count: int) -> None:
    for number in range(count):
        if number % FILES_PER_FOLDER == 0:
            (folder / str(number // FILES_PER_FOLDER)).mkdir(parents=True)
        name = folder / str(number // FILES_PER_FOLDER) / f"IMG_{number:07}.JPG"
        file = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
        os.write(file, b"a small file")
        os.close(file)


def own_memory(daemon: Process) -> int:
    """Bytes that are resident and of no file."""
    for line in Path(f"/proc/{daemon.child.pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise Failed("the daemon has ended")


def memory_text(count: int, before: float, after: float) -> tuple[str, bool]:
    """A sentence, and whether what the daemon keeps of each file is at most the goal."""
    each = (after - before) * 1e6 / count
    is_kept = each <= BYTES_PER_FILE
    return (f"`rm -rf` of {count:,} small files: the daemon has {before:.1f} MB before and {after:.1f} MB afterwards, "
            f"{each:.0f} bytes more for each file{'' if is_kept else f', more than {BYTES_PER_FILE}'}."), is_kept


def ratios(table: Table, key: str) -> list[float]:
    """Of each round that has both times."""
    on, off = (table.cells[key][name].samples for name in (WITH, WITHOUT))
    return [on[turn] / off[turn] for turn in sorted(on.keys() & off.keys())]


def text(table: Table, used: dict[tuple[str, str], dict[int, float]]) -> tuple[str, bool]:
    """The table, and whether each row keeps its goal. A row without a ratio does not. The last column is for busy
    machines, whose clock shows what others do: the ratio of the daemon's processor time in all rounds."""
    lines = [f"| row | {WITH}, s | {WITHOUT}, s | ratio, median of rounds (least to most) | processor time |",
             "|---|---|---|---|---|"]
    is_kept = True
    for workload in ROWS[0] + ROWS[1]:
        cells = [table.cells[workload.key][name] for name in (WITH, WITHOUT)]
        found = ratios(table, workload.key)
        if not found:
            reason = next((cell.failure for cell in cells if cell.failure), "no round has both times")
            lines.append(f"| {table.title(workload.key)} | | | failed: {reason} | |")
            is_kept = False
            continue
        middle = statistics.median(found)
        is_kept = is_kept and middle <= GOAL
        on, off = (sum(used[workload.key, name].values()) for name in (WITH, WITHOUT))
        lines.append(f"| {table.title(workload.key)} | {cells[0].median:.3f} | {cells[1].median:.3f} | {middle:.3f} "
                     f"({min(found):.3f} to {max(found):.3f}){'' if middle <= GOAL else f', more than {GOAL}'} | "
                     f"{f'{on / off:.3f}' if off else '-'} |")
    return "\n".join(lines), is_kept

"""What history costs: the same work on a space that keeps deleted files and makes snapshots, and on one that does not.

Both take turns on new stores, and the next round begins with the other one. A ratio compares two runs of one round, so
that a machine that grows slower meanwhile changes it little.
"""
from __future__ import annotations

import argparse
import shutil
import statistics

import content
from measuring import Failed, run
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


class HistoryBench:
    def __init__(self, bench: Bench, options: argparse.Namespace) -> None:
        self.bench, self.options = bench, options

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
                self.bench.session(rows, store, scratch, table, turn, taken)
                store.unmount()
        finally:
            self.bench.remove(store)

    def set_history(self, store: Store, peer: Peer) -> None:
        """The setting stays in the space, but each session states it, so that both kinds do the same before."""
        switch = "--on" if peer.name == WITH else "--off"
        run([peer.program, "history", "-q", switch, "--password-file", str(store.password), str(store.mount_point)],
            self.options.limit, store.daemon, store.environment)


def ratios(table: Table, key: str) -> list[float]:
    """Of each round that has both times."""
    on, off = (table.cells[key][name].samples for name in (WITH, WITHOUT))
    return [on[turn] / off[turn] for turn in sorted(on.keys() & off.keys())]


def text(table: Table) -> tuple[str, bool]:
    """The table, and whether each row keeps its goal. A row without a ratio does not."""
    lines = [f"| row | {WITH}, s | {WITHOUT}, s | ratio, median of rounds (least to most) |", "|---|---|---|---|"]
    is_kept = True
    for workload in ROWS[0] + ROWS[1]:
        cells = [table.cells[workload.key][name] for name in (WITH, WITHOUT)]
        found = ratios(table, workload.key)
        if not found:
            reason = next((cell.failure for cell in cells if cell.failure), "no round has both times")
            lines.append(f"| {table.title(workload.key)} | | | failed: {reason} |")
            is_kept = False
            continue
        middle = statistics.median(found)
        is_kept = is_kept and middle <= GOAL
        lines.append(f"| {table.title(workload.key)} | {cells[0].median:.3f} | {cells[1].median:.3f} | {middle:.3f} "
                     f"({min(found):.3f} to {max(found):.3f}){'' if middle <= GOAL else f', more than {GOAL}'} |")
    return "\n".join(lines), is_kept

"""The order of a run: rounds, in each round every peer, and for each peer two sessions on a new store.

Whatever fails is recorded in the cell that it belongs to, and the run goes on. `clean_up` ends what is left.
"""
from __future__ import annotations

import argparse
import collections
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import content
import measuring
from content import Inputs
from measuring import Failed, Interrupts, Late, Process, run
from peers import Peer, Store
from report import Table
from workloads import FIRST, SECOND, Site, Workload, act

GIB = 1 << 30


class Bench:
    """A run: where its files lie, and which stores exist."""

    def __init__(self, options: argparse.Namespace, top: Path, stores: Path) -> None:
        self.options = options
        self.top = top
        self.folder = stores
        self.stores: list[Store] = []
        # How often each row of each peer took too long; the third time would only cost time.
        self.late: collections.Counter[tuple[str, str]] = collections.Counter()
        self.is_dropping = measuring.can_drop_caches()

    def make_store(self, peer: Peer, name: str) -> Store:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        store = Store(peer, folder)
        self.stores.append(store)
        return store

    def drop(self, store: Store) -> None:
        """Makes the next read cold. Only root can drop the page cache; a new mount has none of its own."""
        if self.options.disk:
            run(["sync", "-f", str(self.folder)], self.options.limit)
        if self.is_dropping:
            measuring.drop_caches()
        else:
            store.unmount()
            store.mount()

    def measure(self, peers: list[Peer], inputs: Inputs, rounds: int) -> Table:
        table = Table(peers, inputs)
        many: dict[str, Store] = {}
        start = time.monotonic()
        for turn in range(rounds):
            if turn and time.monotonic() - start > self.options.minutes * 60:
                print(f"stopped after {turn} rounds: {self.options.minutes:g} minutes are over", file=sys.stderr)
                break
            first = turn % len(peers)
            for peer in peers[first:] + peers[:first]:
                say(f"round {turn + 1} of {rounds}: {peer.name}")
                try:
                    self.play(peer, table, turn)
                except (Failed, OSError) as error:
                    print(f"{peer.name}, round {turn + 1}: {error}", file=sys.stderr)
                    for workload in FIRST + SECOND:
                        if workload.title and turn not in table.cells[workload.key][peer.name].samples:
                            table.fail(workload.key, peer, turn, str(error))
            if not self.options.profile:
                for peer in (peer for peer in peers if peer.mounts_at_once):
                    self.time_mount(peer, table, turn, many)
        for store in many.values():
            self.remove(store)
        return table

    def play(self, peer: Peer, table: Table, turn: int) -> None:
        """One round of one peer, on a new store."""
        store = self.make_store(peer, f"store-{turn}-{peer.name.replace(', ', '-')}")
        scratch = self.top / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        try:
            taken: dict[str, float] = {}
            store.mount()
            empty = measuring.bytes_on_disk(store.path)
            peak = self.session(FIRST, store, scratch, table, turn, taken)
            store.unmount()
            if all(one.key in taken for one in FIRST):
                stored = measuring.bytes_on_disk(store.path) - empty
                table.put("stored", peer, turn, stored / table.inputs.content_bytes)
            if peer.is_albumfs and {"photos-in", "photos-plain"} <= taken.keys():
                table.put("album-cost", peer, turn, taken["photos-in"] / taken["photos-plain"])
            store.mount()
            peak = max(peak, self.session(SECOND, store, scratch, table, turn, taken))
            if peak:
                table.put("peak", peer, turn, peak / content.MIB)
            store.unmount()
        finally:
            self.remove(store)

    def session(self, workloads: tuple[Workload, ...], store: Store, scratch: Path, table: Table, turn: int,
                taken: dict[str, float]) -> int:
        """Runs workloads on a mounted store; returns the daemon's peak of memory."""
        peer = store.peer
        peak = 0
        for workload in workloads:
            if self.late[workload.key, peer.name] >= 2:
                continue
            if not store.is_alive():
                store.revive()
            if workload.is_cold:
                self.drop(store)
            assert store.daemon
            site = Site(peer, store.mount_point, store.daemon, table.inputs, scratch, self.options.limit,
                        store.environment, taken)
            try:
                before = store.daemon.processor_seconds()
                with self.profiled(workload, store):
                    seconds = act(workload, site)
                if workloads is FIRST:
                    run(["sync", "-f", str(store.mount_point)], self.options.limit, store.daemon)
                used = store.daemon.processor_seconds() - before
                peak = max(peak, store.daemon.peak_bytes())
            except (Failed, OSError) as error:
                print(f"{peer.name}, {workload.key}: {error}", file=sys.stderr)
                taken.pop(workload.key, None)
                if isinstance(error, Late):
                    self.late[workload.key, peer.name] += 1
                for key in (*((workload.key,) if workload.title else ()), *workload.proves):
                    table.fail(key, peer, turn, str(error))
                continue
            if workload.title:
                table.put(workload.key, peer, turn, seconds)
            if workload.key == "write":
                table.put("cpu-write", peer, turn, used / table.inputs.sizes.stream * GIB)
            if workload.key == "read":
                table.put("cpu-read", peer, turn, used / table.inputs.sizes.stream * GIB)
        return peak

    def time_mount(self, peer: Peer, table: Table, turn: int, many: dict[str, Store]) -> None:
        """Mounts a store of many files, which the first round makes."""
        say(f"round {turn + 1}: mount of {table.inputs.sizes.mounted:,} files, {peer.name}")
        if table.cells["mount"][peer.name].failure:
            return
        try:
            if peer.name not in many:
                store = many[peer.name] = self.make_store(peer, f"many-{peer.name.replace(', ', '-')}")
                # passthrough_ll would need more descriptors than a process may have; its store is the plain files.
                if not peer.is_reference:
                    store.mount()
                folder = store.path if peer.is_reference else store.mount_point
                run(["tar", "-xf", str(table.inputs.many), "-C", str(folder)], 2 * self.options.limit, store.daemon)
                store.unmount()
            store = many[peer.name]
            if self.is_dropping:
                measuring.drop_caches()
            last = table.inputs.sizes.mounted - 1
            table.put("mount", peer, turn, store.mount(f"folder-{last // 500:04}/file-{last:07}"))
            if not peer.is_reference:
                listing = self.top / "listing"
                seconds = run(["ls", "-lR", str(store.mount_point)], self.options.limit, store.daemon, stdout=listing)
                listing.unlink()
                table.put("list", peer, turn, seconds)
                table.put("peak-many", peer, turn, store.daemon.peak_bytes() / content.MIB)
            store.unmount()
        except (Failed, OSError) as error:
            print(f"{peer.name}, mount: {error}", file=sys.stderr)
            for key in ("mount", "list", "peak-many"):
                table.fail(key, peer, turn, str(error))

    @contextlib.contextmanager
    def profiled(self, workload: Workload, store: Store) -> Iterator[None]:
        if workload.key != self.options.profile or not store.daemon:
            yield
            return
        samples = self.top / "perf.data"
        perf = Process(["perf", "record", "-q", "-F", "999", "-g", "-p", str(store.daemon.pid), "-o", str(samples)])
        time.sleep(0.5)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(perf.pid, signal.SIGINT)
            with measuring.guarded(60, perf):
                perf.child.wait()
        found = self.top / "profile"
        run(["perf", "report", "-i", str(samples), "--stdio", "--no-children", "-g", "none", "--percent-limit", "0.5"],
            limit=300, stdout=found)
        print(f"{store.peer.name}, {workload.key}:")
        print("\n".join(line for line in found.read_text().splitlines() if line and not line.startswith("#")))

    def remove(self, store: Store) -> None:
        with Interrupts.deferred():
            store.remove()
            if store in self.stores:
                self.stores.remove(store)

    def clean_up(self) -> None:
        """Ends every daemon and mount of this run, and removes its files."""
        with Interrupts.deferred():
            for store in list(self.stores):
                with contextlib.suppress(Failed, OSError):
                    store.remove()
            for line in Path("/proc/self/mountinfo").read_text().splitlines():
                path = line.split(" ")[4]
                if path.startswith((f"{self.folder}/", f"{self.top}/")):
                    measuring.clear_mount(Path(path))
            shutil.rmtree(self.folder, ignore_errors=True)
            shutil.rmtree(self.top, ignore_errors=True)
            measuring.clear_mount(self.top)
            shutil.rmtree(self.top, ignore_errors=True)


def say(words: str) -> None:
    end = "\r" if sys.stderr.isatty() else "\n"
    print(f"{words:<60}", end=end, file=sys.stderr, flush=True)

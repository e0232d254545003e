"""The store: the writes of one session after the other, their times, and the part that is on disk.

Time is in micro-steps. Stamps are store time, which is the same clock here.
"""
import collections

FOREVER = 1 << 30
GRACE = 40          # 15 minutes: how long unneeded segments stay, and how far back the window reaches
ROOT = 1
RECOVERED = -1      # the directory of files that lost their name
GARBAGE = 'garbage'

# Live state. A place is (number of a data segment, cell).
Inode = collections.namedtuple('Inode', 'kind count content thumb made')

# The content of frames. `count`: how often the content was stated. `made`: the thumbnail is of this content.
State = collections.namedtuple('State', 'kind count stretches thumb made')
Frame = collections.namedtuple('Frame', 'number stamp items barrier')
# ancestry: (number, birth, first frame, cut) of every predecessor that is needed or still there, the nearest first.
Head = collections.namedtuple('Head', 'number birth boot stamp first cut ancestry checkpoints')
# Replay from this checkpoint goes on behind frame `last`; its slices know nothing behind frame `cut`.
Reference = collections.namedtuple('Reference', 'number birth last cut stamp')
Checkpoint = collections.namedtuple('Checkpoint', 'last cut inodes names ledger')


class Births:
    """Random identities, here merely different ones."""

    def __init__(self): self.last = 0

    def new(self):
        self.last += 1
        return self.last


class Segment:
    """One file. Its cells are written once, in ascending order; cell 0, the seal, is kept apart."""

    def __init__(self, kind, number, birth, born):
        self.kind, self.number, self.birth, self.born = kind, number, birth, born
        self.cells = []              # [time, record, durable]
        self.sealed = FOREVER        # when the seal was written
        self.unlinked = FOREVER
        self.finished = False        # its session writes no more to it
        self.durable = False         # its directory entry is on disk

    @property
    def key(self): return (self.kind, self.number, self.birth)


class Seen:
    """What a reader finds in one file: per cell a record, None (not yet written: the tail) or GARBAGE."""
    __slots__ = ('sealed', 'cells')

    def __init__(self, sealed, cells): self.sealed, self.cells = sealed, cells

    def cell(self, place): return self.cells[place] if place < len(self.cells) else None


class Store:
    """One timeline. `without`: rules of writing that are left out, see `TEETH` in cases.py."""

    def __init__(self, random, births, without=()):
        self.prepare(random, births, without)
        self.begin_session(0)
        self.frame([('inode', ROOT, self.state(ROOT))])
        self.barrier()
        self.barrier()

    def prepare(self, random, births, without):
        self.random, self.births, self.without = random, births, without
        self.t = 4
        self.boot = births.new()
        self.files = {}                       # key -> Segment
        self.names, self.inodes = {}, {ROOT: Inode('dir', 0, (), 0, False)}
        self.ledger = {}                      # number of a data segment -> its birth
        self.next = {'inode': 2, 'd': 1, 'j': 1, 'c': 1, 'frame': 1}
        self.retired = {}                     # number -> when its grace began; None: no barrier yet
        self.unneeded = {}                    # key of a journal or checkpoint -> when its grace began
        self.held = set()                     # keys that stay until the user agrees
        self.checkpoints = []                 # references, newest first
        self.ancestry = []
        self.journal = self.data = None
        self.unstated = set()                 # data segments whose birth this journal has not recorded
        self.proven = 0                       # everything up to this frame survives a power cut
        self.ancestors = set()                # journals that the store was mounted with, there or not
        self.unreadable = set()               # inodes that were taken over without their content
        # The truth, for the promises.
        self.log = []
        self.snapshots = {}                   # frame -> (names, {inode: values})
        self.history = []                     # (t, names, {inode: values})
        self.versions = {}                    # inode -> [(t, values)]
        self.removed, self.replaced = {}, {}  # inode -> t; inode -> (t, by)
        self.values = {}                      # (number, birth, cell) -> value
        self.picture = {}                     # value of a thumbnail -> values of the photo that it shows

    @classmethod
    def mount(cls, random, births, view, verdict, t, former, without=(), least=0, partial='restart'):
        """Mounts what a reader found, for writing. `former`: the stores that wrote it. `least`: inode numbers that
        were reserved. `partial`: see `Rule`.

        The mount first writes the shown state, and holds everything that was set aside."""
        store = cls.__new__(cls)
        store.prepare(random, births, without)
        reader = verdict.reader
        store.t = t
        for key, seen in view.items():
            segment = store.files[key] = Segment(*key, 0)
            segment.cells = [[0, record, True] for record in seen.cells]
            segment.sealed = 0 if seen.sealed else FOREVER
            segment.durable = True
        for other in former:
            store.values.update(other.values)
            store.picture.update(other.picture)
        store.ledger = dict(reader.ledger)
        store.names = dict(verdict.names)
        for number, known in verdict.known.items():
            content = tuple(place and (place[0], place[2]) for place in known.content)
            store.inodes[number] = Inode(known.kind, known.count, content, known.thumb, known.made)
        store.unreadable = {i for i in verdict.known if i not in verdict.readable | verdict.directories
                            and verdict.known[i].kind == 'file'}
        if any(name[0] == RECOVERED for name in store.names):
            store.inodes[RECOVERED] = Inode('dir', 0, (), 0, False)
            store.names[ROOT, 'Recovered'] = RECOVERED
        store.versions = {i: list(versions) for other in former for i, versions in other.versions.items()}
        for number, inode in store.inodes.items():
            store.versions.setdefault(number, [])
            if None not in inode.content: store.versions[number].append((t, store.values_of(number)))
        store.checkpoints = [c for c in reader.head.checkpoints if c.last in reader.whole and c.last <= verdict.end]
        store.head = reader.head
        store.ancestry = list(reader.head.ancestry)
        store.cut_journal(verdict.end)
        store.ancestors = {('j',) + entry[:2] for entry in store.ancestry}
        numbers = lambda kind: [key[1] for key in view if key[0] == kind]
        # Numbers that lost frames assigned are not assigned again.
        skipped = 1000 if verdict.is_partial and not {'restart', 'numbers'} & set(without) else 0
        store.next = {'inode': 1 + skipped + max([least] + list(verdict.counts) + list(store.inodes)),
                      'frame': 1 + max([verdict.end, reader.last] + [
                          cell.number for key, seen in view.items() if key[0] == 'j' for cell in seen.cells[1:]
                          if isinstance(cell, Frame)]),
                      'd': 1 + max([0] + list(store.ledger) + numbers('d')),
                      'j': 1 + max(numbers('j')), 'c': 1 + max([0] + numbers('c'))}
        if verdict.is_partial and 'held' not in without: store.held = set(view)
        store.begin_session(verdict.end)
        store.unstated = set(store.ledger)
        store.lacked = bool(verdict.holes)
        if verdict.is_partial:
            if partial == 'restart': store.state_whole(verdict)
            else: store.state_changes(verdict)
        store.barrier()
        store.barrier()
        store.mounted = store.t
        return store

    def state_whole(self, verdict):
        """The shown state is all that exists: no frame before this one counts, not even one that comes back."""
        items = [] if 'restart' in self.without else [('restart',)]
        for number in list(self.inodes):
            inode = self.inodes[number]
            if inode.kind != 'dir':
                self.inodes[number] = inode._replace(count=1 + max(verdict.counts.get(number, 0), inode.count))
            items.append(('inode', number, self.state(number)))
            items += [('extents', number, k, place) for k, place in enumerate(inode.content)]
        full = verdict.reader.steps[-1]
        items += [('entry',) + name + (0,) for name in full.names if name not in self.names]
        items += [('entry',) + name + (number,) for name, number in self.names.items()]
        items += [('gone', number) for number in full.inodes if number not in self.inodes]
        self.frame(items)

    def state_changes(self, verdict):
        """The shown state as changes of the history that there is. What is set aside stays, marked as left out."""
        full = verdict.reader.steps[-1]
        items = []
        for number in list(self.inodes):
            inode, known = self.inodes[number], full.inodes.get(number)
            content = known and tuple(place and (place[0], place[2]) for place in known.content)
            if known and (inode.kind, inode.content, inode.thumb, inode.made) == (
                    known.kind, content, known.thumb, known.made): continue
            if number in self.unreadable and known and content == inode.content: continue
            if inode.kind != 'dir' and content != inode.content:
                self.inodes[number] = inode._replace(count=1 + max(verdict.counts.get(number, 0), inode.count,
                                                                   known.count if known else 0))
                items += [('extents', number, k, place) for k, place in enumerate(inode.content)]
            items.append(('inode', number, self.state(number)))
        items += [('entry',) + name + (0,) for name in full.names if name not in self.names]
        items += [('entry',) + name + (number,) for name, number in self.names.items()
                  if full.names.get(name) != number]
        for number, known in full.inodes.items():
            if number in self.inodes: continue
            if number in verdict.aside and 'marks' not in self.without:
                items.append(('inode', number, State('left', known.count, len(known.content), 0, False)))
            else: items.append(('gone', number))
        self.frame(items)

    # ---- files ----

    def new_segment(self, kind):
        number = self.next[kind]
        self.next[kind] += 1
        segment = Segment(kind, number, 0 if 'birth' in self.without else self.births.new(), self.t)
        if 'seal last' in self.without: segment.sealed = self.t
        self.files[segment.key] = segment
        return segment

    def begin_session(self, cut):
        self.begin_journal(cut)
        self.data = self.new_segment('d')
        self.ledger[self.data.number] = self.data.birth
        self.unstated.add(self.data.number)

    def begin_journal(self, cut):
        """Everything up to frame `cut` is on disk. All other frames of the journal before are dead."""
        if self.journal: self.journal.finished = True
        self.journal = self.new_segment('j')
        self.t += 1
        # A missing one is named all the same: its frames are missing then, and not dead.
        needed = self.checkpoints[1].last if len(self.checkpoints) > 1 else 0
        ancestry = [entry for entry in self.ancestry if entry[3] > needed or (('j',) + entry[:2]) in self.files]
        self.head = Head(self.journal.number, self.journal.birth, self.boot, self.t, self.next['frame'], cut,
                         ancestry, list(self.checkpoints[:2]))
        self.journal.cells.append([self.t, self.head, True])
        self.journal.durable = True
        self.proven = max(self.proven, cut)
        if 'restate' not in self.without: self.unstated = set(self.ledger)

    def cut_journal(self, cut):
        """The newest journal ends at `cut`, and its successor names it."""
        self.ancestry = [(self.head.number, self.head.birth, self.head.first, cut)] + self.ancestry

    def record(self, value=None):
        """Writes content and returns its place."""
        if self.data.cells and self.random.random() < .4:
            self.begin_data()
        self.t += 1
        cell = len(self.data.cells)
        if value is None:
            value = self.births.new()
        self.data.cells.append([self.t, value, False])
        self.values[self.data.number, self.data.birth, cell] = value
        return (self.data.number, cell)

    def begin_data(self):
        self.data.finished = True
        if 'seal after sync' in self.without: self.data.sealed = self.t
        self.data = self.new_segment('d')
        self.ledger[self.data.number] = self.data.birth
        self.unstated.add(self.data.number)

    def value(self, place): return place and self.values.get((place[0], self.ledger.get(place[0]), place[1]))

    def values_of(self, inode): return tuple(self.value(place) for place in self.inodes[inode].content)

    # ---- frames ----

    def state(self, number):
        inode = self.inodes[number]
        return State(inode.kind, inode.count, len(inode.content), inode.thumb, inode.made)

    def frame(self, items, barrier=0):
        used = {item[3][0] for item in items if item[0] == 'extents' and item[3]}
        births = [('segment', number, self.ledger.get(number)) for number in sorted(used & self.unstated)]
        self.unstated -= used
        self.t += 1
        frame = Frame(self.next['frame'], self.t, births + items, barrier)
        self.next['frame'] += 1
        self.journal.cells.append([self.t, frame, False])
        values = {i: self.values_of(i) for i in self.inodes}
        self.snapshots[frame.number] = (dict(self.names), values)
        self.history.append((self.t, dict(self.names), values))

    def has(self, place):
        """True if this record is in the store, which it is not if a copy lacks it."""
        segment = place and self.files.get(('d', place[0], self.ledger.get(place[0])))
        return bool(segment) and Seen(True, [cell[1] for cell in segment.cells]).cell(place[1]) not in (None, GARBAGE)

    def changed(self, number):
        """Records that the content of this inode has changed."""
        if all(self.has(place) for place in self.inodes[number].content): self.unreadable.discard(number)
        self.versions.setdefault(number, []).append((self.t + 1, self.values_of(number)))

    def put(self, number, stretches):
        """Sets stretches {index: place} of a file's content. Returns the items that describe them."""
        inode = self.inodes[number]
        content = list(inode.content)
        for index, place in stretches.items(): content[index] = place
        same = [self.value(p) for p in content] == [self.value(p) for p in inode.content]
        self.inodes[number] = inode._replace(content=tuple(content), count=inode.count + 1,
                                             made=inode.made and same)
        self.changed(number)
        return [('inode', number, self.state(number))] + [
            ('extents', number, index, place) for index, place in stretches.items()]

    def barrier(self):
        """Syncs content, then records that in a frame, then syncs the frame. Finished segments get their seals."""
        last = self.next['frame'] - 1
        self.t += 1
        self.sync()
        self.t += 1
        for segment in self.files.values():
            if segment.finished and segment.sealed == FOREVER: segment.sealed = self.t
        self.frame([], barrier=last)
        self.t += 1
        for cell in self.journal.cells: cell[2] = True
        self.proven = last
        for number in self.retired:
            if self.retired[number] is None: self.retired[number] = self.t

    def sync(self):
        """The journal's frames are not in it: those of a barrier's span are synced with the barrier."""
        for segment in self.files.values():
            segment.durable = True
            if segment is self.journal: continue
            for cell in segment.cells: cell[2] = True

    def sync_all(self):
        self.sync()
        for cell in self.journal.cells: cell[2] = True

    def pass_time(self, steps):
        self.t += steps
        grace = 0 if 'grace' in self.without else GRACE
        for number, since in self.retired.items():
            if since is not None: self.unlink(('d', number, self.ledger[number]), since + grace)
        grace = 0 if 'checkpoint grace' in self.without else GRACE
        for key, since in self.unneeded.items(): self.unlink(key, since + grace)

    def unlink(self, key, due):
        segment = self.files.get(key)
        if segment and due < self.t and segment.unlinked == FOREVER and key not in self.held:
            segment.unlinked = self.t

    def lose_power(self):
        """Loses any part of the unsynced data."""
        keep = self.random.choice((0, .5, .5, .9))
        for key, segment in list(self.files.items()):
            if not segment.durable and self.random.random() > keep: del self.files[key]
            for cell in segment.cells:
                if not cell[2] and self.random.random() > keep: cell[1] = None
            if segment.sealed != FOREVER and segment.finished and segment.sealed >= self.t - 1 \
                    and self.random.random() > keep: segment.sealed = FOREVER
        self.boot = self.births.new()

    # ---- the view of a reader of the store itself ----

    def view(self):
        return {key: Seen(segment.sealed < FOREVER, [cell[1] for cell in segment.cells])
                for key, segment in self.files.items() if segment.unlinked == FOREVER}

    def times(self, mtime):
        """Returns the mtimes that rsync finds here."""
        from copiers import mtime_of
        return {key: mtime_of(segment, self.t, mtime) for key, segment in self.files.items()
                if segment.unlinked == FOREVER}

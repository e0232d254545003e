"""The journal of a space: frames, checkpoints, crashes, lost frames, and sessions of others."""
from catalog import CELLS, JUMP, ROOT, Catalog, Inode
from users import Users


class Frames(Users):
    """What is on disk, and what each kind of mount makes of it."""

    def commit(self):
        if self.catalog.next + 2 > self.reserved:
            self.reserved = self.catalog.next + 6
        self.catalog.used = self.used()
        now = self.catalog.items(self.reserved)
        frame = {key: value for key, value in now.items() if self.committed.get(key) != value}
        frame.update({key: None for key in self.committed if key not in now})
        # What a slice of a checkpoint has of a change, the next frame states, even if it came and went meanwhile.
        frame.update({key: now.get(key) for key in self.sliced})
        self.sliced = set()
        if "one-frame" in self.omitted:
            history = {key: frame.pop(key) for key in list(frame) if key[0] in "pnf"}
            self.frames += [part for part in (frame, history) if part]
        elif frame:
            self.frames.append(frame)
        self.committed = now
        for number in range(len(self.sessions) and max(self.sessions), len(self.frames) + 1):
            self.sessions[number] = self.session
        self.notes[len(self.frames)] = (dict(self.deleted), list(self.lost), dict(self.changed), dict(self.touched))

    def write_checkpoint(self):
        """In one instant; `begin_checkpoint` and `add_slice` write one while work goes on."""
        self.commit()
        self.barrier = len(self.frames)
        self.checkpoint, self.under = (self.catalog.items(self.reserved), len(self.frames)), None

    def begin_checkpoint(self):
        self.commit()
        self.under = [len(self.frames), {}, 0]

    def add_slice(self):
        kinds = ("pcsb", "i", "e", "f", "n")[self.under[2]]
        self.catalog.used = self.used()
        items = self.catalog.items(self.reserved)
        added = {key: value for key, value in items.items() if key[0] in kinds}
        self.sliced |= {key for key, value in added.items() if self.committed.get(key) != value}
        self.under[1].update(added)
        self.under[2] += 1
        if self.under[2] == 5:
            self.commit()
            self.barrier = len(self.frames)
            self.checkpoint, self.under = (self.under[1], self.under[0]), None

    def replayed(self, until, without=None, cells=None):
        items = dict(self.checkpoint[0])
        for place in range(self.checkpoint[1], until):
            if place == without:
                continue
            for key, value in self.frames[place].items():
                if value is None:
                    items.pop(key, None)
                else:
                    items[key] = value
        return Catalog.made_of(items)

    def mount(self, until, without=None):
        self.under, self.opened, self.listing = None, set(), None
        session = max((one for number, one in self.sessions.items() if number <= until), default=1)
        self.catalog = self.replayed(until, without)
        if "numbers" in self.omitted:
            self.catalog.next = max([2] + [n + 1 for n in self.catalog.named()])
        if without is not None:
            # Lost frames may have used any number up to the reserved ones.
            self.catalog.next = max(self.catalog.next, self.reserved)
            self.find_damage()
        self.catalog.finish(self.omitted, without is not None, session)
        self.free()
        self.frames = self.frames[:until]
        self.sessions = {number: one for number, one in self.sessions.items() if number <= until}
        for number in [number for number in self.segments if number not in self.catalog.segments]:
            self.next_segment = max(getattr(self, "next_segment", 1), number + 1)
            del self.segments[number]
            for place in range(CELLS):
                self.disk.pop((number, place), None)
        self.open = None
        note = next(self.notes[n] for n in range(until, -1, -1) if n in self.notes)
        self.deleted, self.lost = dict(note[0]), list(note[1])
        self.changed, self.touched = dict(note[2]), dict(note[3])
        self.notes = {until: note}
        self.labels &= set(self.catalog.points)
        self.shown = {number: tree for number, tree in self.shown.items() if number in self.catalog.points}
        # The next session, after some time.
        jump = self.chance.choice([0, 1, 3, 100])
        self.wall += jump
        self.ahead = self.chance.choice([0, 0, 0, 10 ** 6])
        self.used_before, self.began = self.catalog.used + min(jump, JUMP), self.now
        self.session = self.catalog.recorded = session + 1
        self.reserved = max(self.reserved, self.catalog.next)
        self.committed, self.sliced = {}, set()
        self.frames.append({key: None for key in self.replayed(until).items(1)})
        self.write_checkpoint()

    def find_damage(self):
        """A lost frame may have stated where content is. Nothing is removed before a repair."""
        for n in self.catalog.named() & set(self.catalog.inodes):
            inode = self.catalog.inodes[n]
            if any(cell not in self.disk for cell in inode.content):
                inode.content, inode.thumb = (), 0
            self.had.setdefault(n, set()).add(self.payloads(inode.content))
            made = self.catalog.inodes.get(inode.thumb)
            if made is None or any(cell not in self.disk for cell in made.content):
                inode.thumb = 0
            else:
                self.catalog.segments |= {cell[0] for cell in made.content}
            self.catalog.segments |= {cell[0] for cell in inode.content}
        for n in list(self.catalog.former):
            inode = self.catalog.inodes.get(n)
            if inode and any(cell not in self.disk for cell in inode.content):
                del self.catalog.former[n]
            made = inode and self.catalog.inodes.get(inode.thumb)
            if made and any(cell not in self.disk for cell in made.content):
                inode.thumb = 0

    def end(self, loses_power):
        if self.chance.random() < .5:
            self.commit()
        first = max(self.barrier, self.checkpoint[1])
        self.mount(self.chance.randint(first, len(self.frames)) if loses_power else len(self.frames))

    def lose_frame(self):
        self.commit()
        self.barrier = len(self.frames)
        if self.barrier - self.checkpoint[1] < 2:
            return
        lost = self.chance.randrange(self.checkpoint[1], self.barrier - 1)
        if not self.frames[lost]:
            return
        self.mount(len(self.frames), without=lost)
        self.deleted, self.lost = {}, []
        self.notes = {n: ({}, [], *note[2:]) for n, note in self.notes.items()}

    def older_release(self):
        """A session of a release that knows no history. It states itself, and none of what it drops."""
        self.commit()
        self.barrier = len(self.frames)
        until = len(self.frames)
        catalog = self.replayed(until)
        catalog.former, catalog.past, catalog.points = {}, {}, {}
        catalog.entries = {place: n for place, n in catalog.entries.items() if n in catalog.inodes}
        alive = catalog.alive(set())
        catalog.inodes = {n: inode for n, inode in catalog.inodes.items() if n in alive}
        before = catalog.items(self.reserved)
        files = sorted(place for place, n in catalog.entries.items() if catalog.inodes[n].kind == "f")
        for _ in range(self.chance.randint(0, 2)):
            if files and self.chance.random() < .7:
                catalog.entries.pop(files.pop(self.chance.randrange(len(files))))
            elif (ROOT, "o") not in catalog.entries:
                n = catalog.next = max(catalog.next, self.reserved) + 1
                catalog.next += 1
                catalog.inodes[n] = Inode("f")
                self.had[n] = {()}
                catalog.entries[ROOT, "o"] = n
        alive = catalog.alive(set())
        catalog.inodes = {n: inode for n, inode in catalog.inodes.items() if n in alive}
        used = {cell[0] for inode in catalog.inodes.values() for cell in inode.content}
        for number in [number for number in sorted(self.segments) if number not in used and self.chance.random() < .7]:
            catalog.segments.discard(number)
            del self.segments[number]
            for place in range(CELLS):
                self.disk.pop((number, place), None)
        after = catalog.items(max(catalog.next, self.reserved))
        frame = {key: value for key, value in after.items() if before.get(key) != value}
        frame.update({key: None for key in before if key not in after})
        frame["c",] = after["c",]
        self.frames.append(frame)
        self.session += 1
        self.sessions[len(self.frames)] = self.session
        self.barrier = len(self.frames)
        if self.chance.random() < .3:
            self.checkpoint = (after, len(self.frames))
        self.deleted, self.lost = {}, []
        self.notes = {len(self.frames): ({}, [], dict(self.changed), dict(self.touched))}
        self.reserved = max(self.reserved, after["c",][0])
        self.mount(len(self.frames))

    def copy(self):
        """What a copy shows that listed the store at `listing`, and read the journal now."""
        cells, self.listing = self.listing, None
        self.commit()
        catalog = self.replayed(len(self.frames))
        missing = {n for n, inode in catalog.inodes.items() if any(cell not in cells for cell in inode.content)}
        for n in sorted(missing):
            inode = catalog.inodes[n]
            if n in catalog.former and catalog.former[n][0] == "deleted":
                place = catalog.former.pop(n)
                for version in catalog.versions(n):
                    if catalog.former[version][0] == "overwritten":
                        catalog.former[version] = place
                inode.content = ()
            else:
                inode.content = () if n in catalog.former else self.fallback(catalog, n, cells)
            inode.thumb = 0
        for inode in catalog.inodes.values():
            if inode.thumb in missing:
                inode.thumb = 0
        for n in missing & set(catalog.former):
            del catalog.former[n]
            catalog.points, catalog.past = {}, {}
        catalog.finish(self.omitted, False, self.session)
        alive = catalog.alive(self.omitted)
        catalog.inodes = {n: inode for n, inode in catalog.inodes.items() if n in alive}
        self.check_content(catalog, cells, missing)
        self.check_points(catalog, missing)

    def fallback(self, catalog, n, cells):
        for version in catalog.versions(n):
            if all(cell in cells for cell in catalog.inodes[version].content):
                return catalog.inodes[version].content
        return ()

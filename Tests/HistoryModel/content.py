"""The clocks and the segments of a space."""
from catalog import CELLS, GUARANTEED, NEVER, Broken, Catalog, NoRoom


class Content:
    """The clocks and the segments of a space, and what a full disk costs."""

    def __init__(self, chance, omitted, room):
        self.chance, self.omitted, self.room = chance, omitted, room
        self.catalog = Catalog()
        self.disk, self.segments, self.open = {}, {}, None
        self.now, self.wall, self.used_before, self.began = 0, 0, 0, 0
        self.payload, self.reserved, self.session, self.was_full = 0, 2, 1, False
        self.catalog.recorded = 1
        self.frames, self.committed, self.barrier, self.under = [], {}, 0, None
        self.sliced = set()
        self.checkpoint, self.sessions = ({}, 0), {}
        self.opened, self.listing = set(), None
        self.changed = {}
        self.touched = {}   # Inode: the machine's clock, and the use clock, at its last change.
        self.ahead = 0      # How far the machine's clock is ahead in this session.
        # What must hold.
        self.had = {}       # Inode: contents that it had.
        self.shown = {}     # Point: the tree.
        self.deleted = {}   # Inode: (used, content)
        self.lost = []      # (used, inode, content) that was overwritten.
        self.purged = set()
        self.labels = set()
        self.notes = {}
        self.commit()
        self.write_checkpoint()

    # ---- Time ----

    def used(self):
        return self.used_before + self.now - self.began

    def clock(self):
        return self.wall + self.ahead

    def is_over(self, ended, kept):
        return (self.wall if "use-clock" in self.omitted else self.used()) - ended >= kept

    # ---- Content ----

    def cell(self):
        if self.open is None or self.segments[self.open] >= CELLS:
            if len(self.segments) >= self.room:
                raise NoRoom
            self.open = max(self.segments, default=0) + 1 if not self.segments else max(self.segments) + 1
            self.open = max(self.open, getattr(self, "next_segment", 1))
            self.next_segment = self.open + 1
            self.segments[self.open] = 0
            self.catalog.segments.add(self.open)
        place = self.open, self.segments[self.open]
        self.segments[self.open] += 1
        return place

    def written(self, count, payload=None):
        cells = []
        for _ in range(count):
            place = self.cell()
            self.payload += 1
            self.disk[place] = self.payload if payload is None else payload
            cells.append(place)
        return tuple(cells)

    def payloads(self, content):
        return tuple(self.disk.get(cell) for cell in content)

    def require_room(self, count):
        def has_room():
            free = CELLS - self.segments[self.open] if self.open is not None else 0
            return len(self.segments) + max(0, -(-(count - free) // CELLS)) <= self.room
        if has_room():
            return
        self.was_full = True
        self.remove_empty()
        while not has_room():
            if not self.give_up():
                break
            self.remove_empty()
        for _ in range(8):
            if has_room() or not self.compact():
                break
            self.remove_empty()
        if not has_room():
            raise NoRoom

    def give_up(self):
        """Gives up the oldest deleted file that is not guaranteed, with the points up to its end. A file goes after
        its versions, of which one may be younger: a program may write into a file that it has removed."""
        catalog = self.catalog
        kept = 0 if "guarantee" in self.omitted else GUARANTEED

        def is_shown(n, ended):
            return any(
                label and number > n and used <= ended for number, (used, label) in catalog.points.items())
        found = sorted((place[3], place[0] != "overwritten", n) for n, place in catalog.former.items()
                       if place[0] in ("deleted", "overwritten") and self.is_over(place[3], kept)
                       and not is_shown(n, place[3]))
        going = {}
        # What is a version of another has the greater number. After a lost frame, a version may have some itself.
        for ended, _, n in sorted(found, key=lambda one: -one[2]):
            versions = [one for one in catalog.versions(n) if catalog.former[one][0] == "overwritten"]
            if all(one in going for one in versions):
                last = [] if "after-versions" in self.omitted else [going[one] for one in versions]
                going[n] = max([ended] + last)
        found = sorted((ended, -n, n) for n, ended in going.items())
        until = found[0][0] if found else NEVER
        old = [number for number, (used, label) in catalog.points.items()
               if (not label or "label" in self.omitted) and used <= until and self.is_over(used, kept)]
        for number in old:
            del catalog.points[number]
        if old:
            self.prune()
        for _, _, n in found[:1]:
            if not self.discard(n):
                raise Broken(f"P3: a full disk waits for {n}, which stays for its versions")
        return bool(old or found[:1])

    def uses(self):
        used = {}
        for inode in self.catalog.inodes.values():
            for cell in set(inode.content):
                used.setdefault(cell[0], set()).add(cell)
        return used

    def remove_empty(self):
        used = self.uses()
        for number in [number for number in self.segments if number != self.open and number not in used]:
            self.catalog.segments.discard(number)
            self.commit()
            self.barrier = len(self.frames)
            del self.segments[number]
            for place in range(CELLS):
                self.disk.pop((number, place), None)

    def compact(self):
        used = self.uses()
        some = [number for number in self.segments if number != self.open and 0 < len(used.get(number, ())) < CELLS]
        if not some:
            return False
        number = min(some, key=lambda one: (len(used[one]), one))
        moves = [n for n in self.catalog.inodes if "moves" not in self.omitted or n in self.catalog.named()]
        cells = sorted({cell for n in moves for cell in self.catalog.inodes[n].content if cell[0] == number})
        target = {}
        for cell in cells:
            try:
                target[cell] = self.cell()
            except NoRoom:
                break
            self.disk[target[cell]] = self.disk[cell]
        for n in moves:
            inode = self.catalog.inodes[n]
            inode.content = tuple(target.get(cell, cell) for cell in inode.content)
        self.commit()
        if "moves" in self.omitted and len(target) == len(cells):
            self.catalog.segments.discard(number)
            self.commit()
            self.barrier = len(self.frames)
            self.segments.pop(number, None)
            for place in range(CELLS):
                self.disk.pop((number, place), None)
        return bool(target)

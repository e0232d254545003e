"""The catalog: inodes, names, points, past names and former places, and what follows from them."""
ROOT = 1
CELLS = 4          # Of a segment.
APART = 3          # The least time between two points, and between two versions of a file.
KEPT, GUARANTEED = 30, 8
JUMP = 3           # What the time between two sessions counts at most. Two points are no farther apart.
NEVER = 1 << 60


class NoRoom(Exception):
    pass


class Broken(Exception):
    pass


class Inode:
    def __init__(self, kind, content=(), mode=0, thumb=0, version=0):
        self.kind, self.content, self.mode, self.thumb, self.version = kind, content, mode, thumb, version

    def item(self):
        return self.kind, self.content, self.mode, self.thumb, self.version

    def copy(self):
        return Inode(*self.item())


class Catalog:
    def __init__(self):
        self.inodes = {ROOT: Inode("d")}
        self.entries = {}   # (directory, name): inode
        self.points = {}    # number: (used, label)
        self.past = {}      # (directory, name, number): child, 0: none
        self.former = {}    # inode: (reason, directory or file, name, ended)
        self.segments = set()
        self.next, self.used, self.recorded = 2, 0, 0

    def items(self, reserved=None):
        found = {("i", n): inode.item() for n, inode in self.inodes.items()}
        found.update({("e", *place): child for place, child in self.entries.items()})
        found.update({("p", n): point for n, point in self.points.items()})
        found.update({("n", *place): child for place, child in self.past.items()})
        found.update({("f", n): place for n, place in self.former.items()})
        found.update({("s", n): True for n in self.segments})
        found["c",] = reserved or self.next, self.used
        found["b",] = self.recorded
        return found

    @staticmethod
    def made_of(items):
        self = Catalog()
        self.inodes = {}
        for key, value in items.items():
            if key[0] == "i":
                self.inodes[key[1]] = Inode(*value)
            elif key[0] == "e":
                self.entries[key[1:]] = value
            elif key[0] == "p":
                self.points[key[1]] = value
            elif key[0] == "n":
                self.past[key[1:]] = value
            elif key[0] == "f":
                self.former[key[1]] = value
            elif key[0] == "s":
                self.segments.add(key[1])
            elif key[0] == "c":
                self.next, self.used = value
            elif key[0] == "b":
                self.recorded = value
        return self

    def named(self):
        return set(self.entries.values()) | {ROOT}

    def versions(self, file):
        """The newest first."""
        return sorted((n for n, place in self.former.items()
                       if place[0] in ("overwritten", "changed") and place[1] == file), reverse=True)

    def alive(self, omitted, opened=()):
        """What refers to what: all that stays."""
        reached, ahead = set(), self.named() | set(opened)
        if "keeps" not in omitted:
            for (directory, _, _), child in self.past.items():
                ahead |= {directory, child} - {0}
        for n, (reason, holder, _, _) in self.former.items():
            ahead.add(n)
            if reason == "changed" and "keeps" in omitted or reason == "deleted" and "holders" in omitted:
                continue
            ahead.add(holder)
        while ahead:
            n = ahead.pop()
            if n in reached or n not in self.inodes:
                continue
            reached.add(n)
            if self.inodes[n].thumb:
                ahead.add(self.inodes[n].thumb)
        return reached

    def newest_before(self, number):
        return max((point for point in self.points if point < number), default=0)

    def is_point(self, low, high):
        return self.newest_before(high) > low

    def is_needed(self, version):
        file = self.former[version][1]
        older = max((n for n in self.versions(file) if n < version), default=0)
        return self.is_point(max(older, file), version)

    # ---- At a point ----

    def child_at(self, directory, name, point, omitted):
        behind = [n for (d, text, n) in self.past if (d, text) == (directory, name) and n > point]
        if behind:
            child = self.past[directory, name, max(behind) if "oldest" in omitted else min(behind)]
        else:
            child = self.entries.get((directory, name), 0)
        return child if child < point or "was-there" in omitted else 0

    def version_at(self, n, point, omitted):
        behind = [version for version in self.versions(n) if version > point]
        return (behind[0] if "oldest" in omitted else behind[-1]) if behind else n

    def thumbnail_at(self, n, version, point, omitted):
        shown = self.inodes[version]
        for other in [version] + ([] if "same-content" in omitted else self.versions(n)) + [n]:
            made = self.inodes.get(self.inodes[other].thumb)
            if made and made.version == shown.version == self.inodes[other].version:
                return made
        return None

    # ---- The end of replay ----

    def finish(self, omitted, is_gap, session):
        is_whole, inodes = not is_gap or "gap" in omitted, self.inodes
        if session != self.recorded and "session" not in omitted:
            is_whole = False
        self.entries = {place: n for place, n in self.entries.items() if n in inodes and place[0] in inodes}
        named = self.named()
        while is_gap:  # Directories that nothing leads to any more.
            lost = [place for place in self.entries if place[0] not in named]
            for place in lost:
                del self.entries[place]
            named = self.named()
            if not lost:
                break
        for n, (reason, holder, name, ended) in list(self.former.items()):
            is_known = n in inodes and all(cell[0] in self.segments for cell in inodes[n].content)
            if "whole" in omitted:
                is_known = n in inodes
            if is_known and n not in named and (holder in inodes or reason == "deleted"):
                continue
            if reason in ("overwritten", "changed"):
                is_whole = False
            if n not in named or "restored" not in omitted:
                del self.former[n]
        for n in self.former.keys() & inodes.keys():
            made = inodes.get(inodes[n].thumb)
            if "whole-thumbnail" not in omitted and not (
                    made and all(cell[0] in self.segments for cell in made.content)):
                inodes[n].thumb = 0
        for n, (reason, holder, name, ended) in list(self.former.items()):
            is_living = holder in inodes and (holder in named or holder in self.former)
            if reason == "deleted" and not is_living:
                self.former[n] = (reason, ROOT, name, ended)
            if reason == "overwritten" and not is_living:
                del self.former[n]
        is_whole = is_whole and all(
            d in inodes and (not child or child in inodes and all(c[0] in self.segments for c in inodes[child].content))
            for (d, _, _), child in self.past.items())
        if not is_whole:
            self.points, self.past = {}, {}
        self.drop_unneeded(omitted)

    def drop_unneeded(self, omitted):
        while True:
            going = [n for n, place in self.former.items() if place[0] == "changed" and not self.is_needed(n)]
            going += [n for n, place in self.former.items()
                      if place[0] == "directory" and not any(
                          other[1] == n and other[0] != "changed" for other in self.former.values())]
            if not going:
                return
            for n in going:
                self.drop_former(n, omitted)

    def drop_former(self, n, omitted):
        """An older version with the same content takes the thumbnail."""
        reason, file, _, _ = self.former[n]
        older = [other for other in self.versions(file) if other < n]
        if reason in ("overwritten", "changed") and older and n in self.inodes and "pass-on" not in omitted:
            inode, next_one = self.inodes[n], self.inodes[older[0]]
            if inode.version == next_one.version and not next_one.thumb:
                next_one.thumb = inode.thumb
        del self.former[n]

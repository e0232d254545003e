"""How a space keeps its history, and gives it up."""
from catalog import APART, KEPT, NEVER, Broken
from content import Content


class Past(Content):
    """Points, past names, versions and deleted files."""

    def number(self):
        number = self.catalog.next
        self.catalog.next += 1
        return number

    def point_due(self):
        points = self.catalog.points
        if not points or self.used() - points[max(points)][0] >= APART:
            self.make_point()

    def make_point(self, label=""):
        number = self.number()
        self.catalog.points[number] = (self.used(), label)
        self.shown[number] = self.tree()
        if label:
            self.labels.add(number)

    def begin_change(self, n):
        """Before a change of what an inode is besides its content."""
        age = self.clock() - self.touched.get(n, (-NEVER,))[0]
        is_young = age < APART if "ahead" in self.omitted else 0 <= age < APART
        if not is_young and "attributes" not in self.omitted:
            self.point_due()

    def begin_removal(self, name, n):
        inode = self.catalog.inodes[n]
        if not name.startswith(".") and (inode.kind == "d" or inode.content):
            self.point_due()
        elif "odd-names" not in self.omitted:
            self.begin_change(n)

    def touch(self, n):
        self.touched[n] = self.clock(), self.used()

    def newest_point(self):
        return max(self.catalog.points, default=0)

    def keep_name(self, directory, name, child):
        catalog, point = self.catalog, self.newest_point()
        if not point or directory > point or any(
                (d, text) == (directory, name) and n > point for (d, text, n) in catalog.past):
            return
        former = catalog.entries.get((directory, name), 0)
        if former > point:
            former = 0
        if not former and not (child and child < point and "nothing" not in self.omitted):
            return
        catalog.past[directory, name, self.number()] = former

    def keep_state(self, n):
        point, versions = self.newest_point(), self.catalog.versions(n)
        if point and n < point and not (versions and versions[0] > point):
            self.add_version(n, "changed", 0)

    def add_version(self, n, reason, thumb):
        version = self.number()
        inode = self.catalog.inodes[n].copy()
        inode.thumb = thumb
        self.catalog.inodes[version] = inode
        self.catalog.former[version] = (reason, n, "", self.used() if reason == "overwritten" else NEVER)
        self.had[version] = {self.payloads(inode.content)}
        return version

    def keep_version(self, n):
        """Before content changes."""
        inode = self.catalog.inodes[n]
        if inode.content and n in self.catalog.named() and self.now - self.changed.get(n, -NEVER) >= APART:
            if "point-first" not in self.omitted:
                self.point_due()
            self.lost.append((self.used(), n, self.payloads(inode.content)))
            self.add_version(n, "overwritten", inode.thumb)
            self.changed[n] = self.now
        self.keep_state(n)

    def prune(self):
        catalog = self.catalog
        for (directory, name, number), child in sorted(catalog.past.items()):
            same = [n for (d, text, n) in catalog.past if (d, text) == (directory, name)]
            older = max((n for n in same if n < number), default=0)
            point = catalog.newest_before(number)
            needed = point > older
            if "between" in self.omitted:
                needed = number - 1 in catalog.points
            if not needed:
                del catalog.past[directory, name, number]
            elif child and child > point:
                self.forget(directory, name, number, point)
        if "between" in self.omitted:
            for n, place in list(catalog.former.items()):
                if place[0] == "changed" and n - 1 not in catalog.points:
                    del catalog.former[n]
        catalog.drop_unneeded(self.omitted)
        self.free()

    def forget(self, directory, name, number, point):
        catalog = self.catalog
        newer = [n for (d, text, n) in catalog.past if (d, text) == (directory, name) and n > number]
        next_child = (catalog.past[directory, name, min(newer)] if newer
                      else catalog.entries.get((directory, name), 0))
        if next_child and next_child < point and "forget" not in self.omitted:
            catalog.past[directory, name, number] = 0
        else:
            del catalog.past[directory, name, number]

    def discard(self, n):
        """Ends the keeping of a deleted file or a version."""
        catalog = self.catalog
        if any(place[1] == n and place[0] == "overwritten" for place in catalog.former.values()):
            return False
        reason, holder, name, _ = catalog.former[n]
        if reason == "overwritten" and catalog.is_needed(n) and "for-a-point" not in self.omitted:
            catalog.former[n] = ("changed", holder, "", NEVER)
        else:
            catalog.drop_former(n, self.omitted)
        catalog.drop_unneeded(self.omitted)
        self.free()
        return True

    def free(self):
        if "unused" in self.omitted:
            return
        while True:
            alive = self.catalog.alive(self.omitted, self.opened)
            gone = [n for n in self.catalog.inodes if n not in alive]
            for n in gone:
                del self.catalog.inodes[n]
                self.catalog.former.pop(n, None)
            if not gone:
                return

    def expire(self):
        catalog = self.catalog
        points, last = sorted(catalog.points), None
        for number in points:
            used, label = catalog.points[number]
            if label:
                continue
            # All of a short time, then the oldest of each stretch.
            age, stretch = self.used() - used, used // 6
            if age > KEPT or age > 6 and stretch == last:
                del catalog.points[number]
            else:
                last = stretch
        self.prune()
        for n in sorted(catalog.former, reverse=True):
            place = catalog.former.get(n)
            if place and place[0] in ("deleted", "overwritten") and self.is_over(place[3], KEPT):
                self.discard(n)

    def purge(self, n):
        """Removes a deleted file for good."""
        catalog = self.catalog
        versions = catalog.versions(n)
        if "purge-past" not in self.omitted:
            for (directory, name, number), child in sorted(catalog.past.items()):
                if child == n:
                    self.forget(directory, name, number, catalog.newest_before(number))
        for version in versions:
            catalog.former.pop(version)
        contents = {self.payloads(catalog.inodes[one].content) for one in [n, *versions]}
        catalog.former.pop(n)
        catalog.drop_unneeded(self.omitted)
        self.free()
        shared = {payload for inode in catalog.inodes.values() for payload in self.payloads(inode.content)}
        if n in catalog.inodes and n not in self.opened:
            raise Broken(f"P7 {n} is purged, and stays")
        self.purged |= {payload for content in contents for payload in content if payload not in shared or True}
        for tree in self.shown.values():
            for path in [path for path, shown in tree.items() if shown[1] == n]:
                del tree[path]
        self.deleted.pop(n, None)
        self.lost = [one for one in self.lost if one[1] != n]
        self.write_checkpoint()

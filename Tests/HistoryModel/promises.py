"""What must hold, after each event."""
from catalog import APART, GUARANTEED, KEPT, NEVER, ROOT, Broken, Catalog
from frames import Frames


class Space(Frames):
    """A space, and the copies of what it was."""

    def look(self, catalog, n, version, thumb):
        inode = catalog.inodes[version]
        return inode.kind, n, inode.mode, self.payloads(inode.content), thumb and self.payloads(thumb.content)

    def check_shown(self, n, name):
        """Before an inode changes, or one of its names goes."""
        stood = self.used() - self.touched.get(n, (0, -NEVER))[1]
        tree, inode = self.shown.get(self.newest_point(), {}), self.catalog.inodes[n]
        if stood >= APART and n in self.catalog.named() and not any(
                shown[:3] == (inode.kind, n, inode.mode) and name in (None, path.rpartition("/")[2])
                for path, shown in tree.items()):
            raise Broken(f"P8 {n} is changed after {stood}, and no point shows what it was")

    def tree(self):
        catalog, found, ahead = self.catalog, {}, [(ROOT, "")]
        while ahead:
            directory, path = ahead.pop()
            for (parent, name), n in catalog.entries.items():
                if parent == directory:
                    inode = catalog.inodes[n]
                    thumb = catalog.inodes.get(inode.thumb)
                    if thumb and thumb.version != inode.version:
                        thumb = None
                    found[f"{path}/{name}"] = self.look(catalog, n, n, thumb)
                    if inode.kind == "d":
                        ahead.append((n, f"{path}/{name}"))
        return found

    def tree_at(self, catalog, point):
        found, ahead = {}, [(ROOT, "")]
        while ahead:
            directory, path = ahead.pop()
            names = {name for d, name in catalog.entries if d == directory}
            names |= {name for d, name, number in catalog.past if d == directory and number > point}
            for name in names:
                n = catalog.child_at(directory, name, point, self.omitted)
                if not n:
                    continue
                version = catalog.version_at(n, point, self.omitted)
                thumb = catalog.thumbnail_at(n, version, point, self.omitted)
                found[f"{path}/{name}"] = self.look(catalog, n, version, thumb)
                if catalog.inodes[version].kind == "d":
                    ahead.append((n, f"{path}/{name}"))
            if len(found) > 1000:
                raise Broken("P2 a circle")
        return found

    def check_points(self, catalog, missing=frozenset()):
        for point in catalog.points:
            was, now = self.shown[point], self.tree_at(catalog, point)
            for path in was.keys() | now.keys():
                then, shown = was.get(path), now.get(path)
                if then and shown and then[4] is None:
                    shown = shown[:4] + (None,)  # It has been made since, of the same content.
                if then and shown and missing and (then[1] in missing or self.is_short(catalog, then[1], missing)):
                    then, shown = then[:2], shown[:2]
                elif then and shown and missing and then[:4] == shown[:4] and shown[4] is None:
                    continue
                if then != shown:
                    raise Broken(f"P2 point {point} shows at {path} {shown} and not {then}")

    def is_short(self, catalog, n, missing):
        return any(version in missing for version in catalog.versions(n))

    def check_content(self, catalog, cells, missing=frozenset()):
        for n, inode in catalog.inodes.items():
            if any(cell not in cells for cell in inode.content):
                raise Broken(f"P1 content of {n} is gone")
            if n not in missing and inode.kind != "d" and self.payloads(inode.content) not in self.had[n]:
                raise Broken(f"P1 {n} has content that it never had")

    def check(self, is_thorough):
        catalog = self.catalog
        self.check_content(catalog, self.disk)
        self.check_points(catalog)
        if not self.labels <= set(catalog.points):
            raise Broken("P2 a point with a label is gone")
        for n, (used, content) in self.deleted.items():
            age = self.used() - used
            if age >= GUARANTEED and (age >= KEPT or self.was_full):
                continue
            place = catalog.former.get(n)
            if place is None or place[0] != "deleted" or n not in catalog.inodes:
                raise Broken(f"P3 {n} was deleted {age} ago, and cannot come back")
            if self.payloads(catalog.inodes[n].content) != content:
                raise Broken(f"P3 {n} comes back with other content")
            if place[1] not in catalog.inodes:
                raise Broken(f"P4 {n} has lost its directory")
        for used, n, content in self.lost:
            age = self.used() - used
            if age >= GUARANTEED and (age >= KEPT or self.was_full) or n not in catalog.inodes:
                continue
            if all(self.payloads(catalog.inodes[version].content) != content for version in catalog.versions(n)):
                raise Broken(f"P6 {n} was overwritten {age} ago, and its content is not among its versions")
        alive = Catalog.alive(catalog, set(), self.opened)
        for n in catalog.inodes:
            if n not in alive:
                raise Broken(f"P4 {n} stays for nothing")
        for n in catalog.former:
            if n in catalog.named():
                raise Broken(f"P4 {n} has a name and counts as deleted")
        if is_thorough and not self.opened:
            self.commit()
            again = self.replayed(len(self.frames))
            again.finish(self.omitted, False, self.session)
            if again.items(1) != catalog.items(1) and again.items(again.next) != catalog.items(again.next):
                ours, theirs = catalog.items(again.next), again.items(again.next)
                wrong = [key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
                raise Broken(f"P5 replay brings back another state of {sorted(map(str, wrong))[:3]}")

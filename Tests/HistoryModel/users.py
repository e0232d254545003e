"""What users do in a space."""
from catalog import NEVER, ROOT, Broken, Inode
from past import Past


class Users(Past):
    """Files, albums, thumbnails, and how they come back."""

    def directories(self):
        return sorted(n for n in self.catalog.named() if self.catalog.inodes[n].kind == "d")

    def files(self):
        return sorted(place for place, n in self.catalog.entries.items() if self.catalog.inodes[n].kind == "f")

    def place(self, directory, name, n):
        self.keep_name(directory, name, n)
        self.catalog.entries[directory, name] = n
        self.touch(n)
        if "restored" not in self.omitted and n in self.catalog.former:
            self.catalog.drop_former(n, self.omitted)
        self.deleted.pop(n, None)

    def take(self, directory, name):
        n = self.catalog.entries[directory, name]
        self.keep_name(directory, name, 0)
        del self.catalog.entries[directory, name]
        return n

    def create(self, directory, name, count):
        if (directory, name) in self.catalog.entries:
            return
        self.require_room(count)
        n = self.number()
        self.catalog.inodes[n] = Inode("f", self.written(count))
        self.had[n] = {self.payloads(self.catalog.inodes[n].content)}
        self.place(directory, name, n)

    def make_album(self, name):
        if (ROOT, name) in self.catalog.entries:
            return
        album = self.number()
        self.catalog.inodes[album] = Inode("d")
        self.place(ROOT, name, album)
        for part in ("Photo", "Thumb"):
            folder = self.number()
            self.catalog.inodes[folder] = Inode("d")
            self.place(album, part, folder)

    def make_thumbnail(self, n):
        inode = self.catalog.inodes[n]
        self.require_room(1)
        if n not in self.catalog.named():
            return
        made = self.number()
        self.catalog.inodes[made] = Inode("t", self.written(1, self.payloads(inode.content)), version=inode.version)
        self.had[made] = {self.payloads(self.catalog.inodes[made].content)}
        inode.thumb = made
        self.free()

    def overwrite(self, n):
        count = self.chance.randint(1, 2)
        self.require_room(count)
        inode = self.catalog.inodes.get(n)
        if inode is None:
            return
        if "state-first" not in self.omitted:
            self.keep_version(n)
        new = self.written(count)
        if "lend" not in self.omitted:
            self.lend_thumbnail(n)
        inode.content = new + (inode.content[count:] if self.chance.random() < .5 else ())
        inode.version += 1
        inode.thumb = 0
        self.touch(n)
        self.had[n].add(self.payloads(inode.content))
        if "state-first" in self.omitted:
            self.keep_version(n)
        if n not in self.catalog.named() and n in self.deleted:
            self.deleted[n] = (self.deleted[n][0], self.payloads(inode.content))
        if "point-first" in self.omitted:
            self.point_due()
        self.free()

    def lend_thumbnail(self, n):
        """Before the thumbnail goes with its content."""
        inode, versions = self.catalog.inodes[n], self.catalog.versions(n)
        if inode.thumb and versions and self.catalog.inodes[inode.thumb].version == inode.version:
            newest = self.catalog.inodes[versions[0]]
            if newest.version == inode.version and not newest.thumb:
                newest.thumb = inode.thumb

    def change_mode(self, n):
        self.begin_change(n)
        self.check_shown(n, None)
        self.keep_state(n)
        self.catalog.inodes[n].mode += 1
        self.touch(n)

    def unlink(self, directory, name, opened=False):
        before, newest = self.tree(), self.newest_point()
        n = self.catalog.entries[directory, name]
        if "point-first" not in self.omitted:
            self.begin_removal(name, n)
            self.check_shown(n, name)
        self.lose(directory, name, opened)
        if "point-first" in self.omitted:
            self.point_due()
        if self.newest_point() != newest and self.shown[self.newest_point()] != before:
            raise Broken("P2 a point does not show what was there before the change that made it")

    def lose(self, directory, name, opened=False):
        n = self.take(directory, name)
        inode = self.catalog.inodes[n]
        if n not in self.catalog.named():
            holds = any(place[1] == n and place[0] != "changed" for place in self.catalog.former.values())
            if inode.kind == "f" and (inode.content and not name.startswith(".") or holds):
                self.catalog.former[n] = ("deleted", directory, name, self.used())
                self.deleted[n] = (self.used(), self.payloads(inode.content))
            elif inode.kind == "d" and holds and "holders" not in self.omitted:
                self.catalog.former[n] = ("directory", directory, name, NEVER)
            if opened:
                self.opened.add(n)
        else:
            self.touch(n)
        self.free()

    def remove_tree(self, directory, name):
        n = self.catalog.entries[directory, name]
        for place in sorted(place for place in self.catalog.entries if place[0] == n):
            self.remove_tree(*place)
        self.unlink(directory, name)

    def rename(self, directory, name, to, new):
        catalog = self.catalog
        n, other = catalog.entries[directory, name], catalog.entries.get((to, new))
        if n == other or other and "d" in (catalog.inodes[n].kind, catalog.inodes[other].kind):
            return
        if catalog.inodes[n].kind == "d" and to != ROOT:
            return
        if not name.startswith(".") or other and not new.startswith("."):
            self.point_due()
        for one in (n, other):
            if one and "odd-names" not in self.omitted:
                self.begin_change(one)
                self.check_shown(one, name if one == n else new)
        self.opened.add(n)
        self.take(directory, name)
        if other:
            self.lose(to, new)
        self.place(to, new, n)
        self.opened.discard(n)
        self.free()

    def link(self, n, directory, name):
        if (directory, name) not in self.catalog.entries:
            self.place(directory, name, n)

    def free_place(self, directory, name):
        """Where something comes back: directories are made again by their names."""
        if directory not in self.catalog.named():
            place = self.catalog.former.get(directory)
            if place is None or place[0] != "directory":
                directory = ROOT
            else:
                target = self.free_place(place[1], place[2])
                if target is None:
                    return None
                self.place(*target, directory)
        return (directory, name) if (directory, name) not in self.catalog.entries else None

    def restore(self, n):
        catalog = self.catalog
        reason, holder, name, _ = catalog.former[n]
        if reason == "overwritten":
            self.restore_version(n, holder)
            return
        if target := self.free_place(holder, name):
            self.place(*target, n)
        self.free()

    def restore_version(self, version, file):
        place = next((place for place, n in self.catalog.entries.items() if n == file), None)
        if place is None or (place[0], place[1] + "'") in self.catalog.entries:
            return
        came, catalog = version, self.catalog
        if catalog.is_needed(version) and "copies" not in self.omitted:
            catalog.former[version] = ("changed", file, "", NEVER)
            came = self.number()
            catalog.inodes[came] = catalog.inodes[version].copy()
            self.had[came] = {self.payloads(catalog.inodes[came].content)}
        content = self.payloads(catalog.inodes[version].content)
        self.place(place[0], place[1] + "'", came)
        # It has a name now, under which it changes.
        self.lost = [one for one in self.lost if one[1:] != (file, content)]
        self.had[came] = {content}
        self.free()

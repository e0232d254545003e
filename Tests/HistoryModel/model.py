#!/usr/bin/env python3
"""Random histories of a space that keeps deleted files, former versions and points, as
Sources/AlbumStore/Catalog/Past.swift and Formers.swift have them: albums with folders of their own, thumbnails,
compaction, full disks, kills, power cuts, lost frames, copies of a living store, sessions of a release without
history, and clocks that jump.

    model.py [--histories N] [--seed S]     plays N histories, and shows for each rule one that breaks without it
    model.py --find RULE                    looks for a history that breaks without the rule, and prints its seed

Promises, looked at after each event:
 P1 Whatever refers to content finds it, and it is content that this inode had.
 P2 Each point shows the tree of its instant: names, content, attributes and thumbnails. One with a label stays. In a
    copy, a file of which content is missing may show another state that it had, or none; after lost frames there may
    be no point.
 P3 A deleted file can come back for as long as is set; on a full disk for the guaranteed time.
 P4 Nothing without a name stays for nothing, and no directory is lost for what is in it.
 P5 What replay brings back is what was in memory.
 P6 Content that was overwritten is among the versions of its file for as long as deleted files stay.
 P7 What is purged is nowhere.
 P8 What an inode is besides its content, and a name of it, stood for the least time between two points: then a point
    shows it when it is lost.
"""
import argparse
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, __file__.rpartition("/")[0] or ".")

from catalog import ROOT, Broken, NoRoom
from promises import Space

# The rules that the model can leave out, each with the seed of a history that breaks without it.
RULES = {
    "nothing": (0, "a past name records that a name led to nothing, if an older inode gets it"),
    "point-first": (0, "a point comes before the change that makes it"),
    "state-first": (0, "a version is made before the change"),
    "oldest": (0, "at a point the oldest record behind it counts"),
    "was-there": (0, "what has a greater number than a point was not there"),
    "keeps": (1, "what a past name or a version refers to stays"),
    "moves": (1, "compaction moves the content of history too"),
    "one-frame": (40, "a change and what it records are in one frame"),
    "between": (1, "a record is needed while a point lies between it and the one before it"),
    "forget": (40, "a past name whose child is not needed leads to nothing, where the name leads to an older inode"),
    "for-a-point": (14, "a version whose time is over stays while a point shows it"),
    "copies": (0, "a version that comes back while a point shows it is copied"),
    "holders": (21, "a directory stays while a deleted file was in it"),
    "numbers": (1, "no number is used again after a crash"),
    "use-clock": (1, "days are days of use"),
    "guarantee": (3, "a full disk does not cost what is guaranteed"),
    "after-versions": (958, "a full disk costs a file after its versions, of which one may be younger"),
    "session": (100, "a session without history ends all points"),
    "gap": (9, "a lost frame ends all points"),
    "whole": (8, "a former place is dropped if its content is in a segment that is gone"),
    "whole-thumbnail": (375, "so is a thumbnail of which the segment is gone"),
    "lend": (60, "when content changes, the newest version that has it takes the thumbnail"),
    "pass-on": (404, "when a version goes, the next older one that has the same content takes the thumbnail"),
    "same-content": (14, "at a point a photo has the thumbnail of any version with the same content"),
    "label": (14, "a full disk does not cost what a point with a label shows"),
    "unused": (1, "an inode goes when nothing refers to it any more"),
    "purge-past": (9, "a purge takes a file out of the past"),
    "attributes": (0, "a change of attributes makes a point too"),
    "odd-names": (4, "so does the loss of a name that is hidden, or leads to nothing of worth"),
    "ahead": (110, "an inode of which the time is ahead of the clock was not changed just now"),
    "restored": (1, "a file that gets a name again is not deleted any more"),
}

EVENTS = "ccccccmmooooootttttuuuuurrrrRRlhhxXXCCkkkkKpPeeEwTFFFVGyyYYZ"


def play(seed, omitted=frozenset()):
    """Returns what is broken; None if nothing is."""
    chance = random.Random(seed)
    space = Space(chance, omitted, chance.choice([4, 5, 6, 10, 40]))
    try:
        for _ in range(chance.randint(6, 80)):
            passed = chance.choice([0, 0, 1, 1, 2, 5])
            space.now, space.wall = space.now + passed, space.wall + passed
            try:
                step(space, chance, chance.choice(EVENTS))
            except NoRoom:
                space.was_full = True
                space.free()
            if len(space.segments) >= space.room:
                space.was_full = True
            if chance.random() < .7:
                space.commit()
            space.check(chance.random() < .3)
        space.check(True)
    except Broken as broken:
        return str(broken)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        if not omitted:
            raise
        return f"the model fails: {error!r}"
    return None


def step(space, chance, event):
    catalog, files = space.catalog, space.files()
    directory = chance.choice(space.directories())
    name = chance.choice(["a", "b", "c", ".t"])
    deleted = sorted(n for n, place in catalog.former.items() if place[0] in ("deleted", "overwritten"))
    if event == "c":
        space.create(directory, name, chance.randint(1, 3))
    elif event == "m":
        space.make_album(chance.choice("DE"))
    elif event == "o" and files:
        space.overwrite(catalog.entries[chance.choice(files)])
    elif event == "t" and files:
        space.make_thumbnail(catalog.entries[chance.choice(files)])
    elif event == "u" and files:
        space.unlink(*chance.choice(files), opened=chance.random() < .2)
    elif event == "r" and catalog.entries:
        place = chance.choice(sorted(catalog.entries))
        is_file = catalog.inodes[catalog.entries[place]].kind == "f"
        space.rename(*place, directory if is_file else ROOT, name if is_file else chance.choice("DE"))
    elif event == "R" and catalog.entries:
        space.remove_tree(*chance.choice(sorted(catalog.entries)))
    elif event == "l" and files:
        space.link(catalog.entries[chance.choice(files)], directory, name)
    elif event == "h" and catalog.entries:
        space.change_mode(chance.choice(sorted(catalog.entries.values())))
    elif event in "xX":
        space.end(event == "X")
    elif event == "C":
        space.compact()
        space.remove_empty()
    elif event == "k":
        space.add_slice() if space.under else space.begin_checkpoint()
    elif event == "K":
        space.write_checkpoint()
    elif event == "p":
        space.make_point(chance.choice(["", "named"]))
    elif event == "P":
        space.commit()
        space.barrier = len(space.frames)
    elif event in "eE":
        space.expire()
        space.remove_empty()
    elif event == "w" and space.opened:
        space.overwrite(chance.choice(sorted(space.opened)))
    elif event == "T" and space.opened:
        space.opened.discard(chance.choice(sorted(space.opened)))
        space.free()
    elif event == "F" and deleted:
        space.restore(chance.choice(deleted))
    elif event == "V":
        space.older_release()
    elif event == "G":
        space.lose_frame()
    elif event == "y":
        space.listing = set(space.disk)
    elif event == "Y" and space.listing is not None:
        space.copy()
    elif event == "Z":
        gone = [n for n in deleted if catalog.former[n][0] == "deleted" and n not in space.opened]
        if gone:
            space.purge(chance.choice(gone))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--histories", type=int, default=3000)
    parser.add_argument("--find", choices=RULES)
    options = parser.parse_args()
    if options.find:
        for seed in range(100_000):
            if broken := play(seed, {options.find}):
                print(f'"{options.find}": {seed}  {broken}')
                return
        sys.exit(f"no history breaks without this rule: {options.find}")
    print(f"seed {options.seed}")
    for seed in range(options.seed, options.seed + options.histories):
        if broken := play(seed):
            sys.exit(f"error: the history of seed {seed}: {broken}")
    for rule, (seed, text) in RULES.items():
        if not play(seed, {rule}):
            sys.exit(f"error: the history of seed {seed} does not notice that this rule is left out: {text}")
    print(f"{options.histories} histories keep the promises; {len(RULES)} break one, each without one rule")


if __name__ == "__main__":
    main()

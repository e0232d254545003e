"""The promises to a user, checked on a verdict and the true history. Each function returns a violation in words,
or None."""
from store import RECOVERED, Frame


def alive_at(store, t):
    found = store.history[0]
    for entry in store.history:
        if entry[0] > t: break
        found = entry
    return found


def faults(store, verdict, since):
    """Inodes that are read (wrong, as they were before `since`, right)."""
    wrong, old, good = [], [], set()
    for number in verdict.readable:
        versions = store.versions.get(number, [])
        at = [k for k, (_, values) in enumerate(versions) if values == verdict.values[number]]
        if not at: wrong.append(number)
        elif at[-1] + 1 < len(versions) and versions[at[-1] + 1][0] <= since: old.append(number)
        else: good.add(number)
    return wrong, old, good


def wrong_thumbs(store, verdict):
    """Photos whose thumbnail is said to be of their content, and is not; or is of another photo."""
    bad = []
    for photo, (value, made) in verdict.thumbs.items():
        source = store.picture.get(value)
        if made and photo in verdict.readable and source != verdict.values[photo]: bad.append(photo)
        elif source not in [v for _, v in store.versions.get(photo, [])]: bad.append(photo)
    return bad


def wrong_in_timeline(store, verdict):
    """No content is read that this timeline never held."""
    wrong, _, _ = faults(store, verdict, 0)
    if wrong: return f'wrong bytes: {wrong}'
    thumbs = wrong_thumbs(store, verdict)
    if thumbs: return f'wrong thumbnails: {thumbs}'
    return None


def is_kept(store, number, good):
    """Whether a file is there, or the user removed it, or what it was replaced by is there."""
    if number in good or number in store.removed: return True
    return number in store.replaced and is_kept(store, store.replaced[number][1], good)


def p1(store, verdict, begin):
    """Two runs: everything that existed when the first began is there, and nothing older."""
    if not verdict.mounts: return 'does not mount'
    bad = wrong_in_timeline(store, verdict)
    if bad: return bad
    _, old, good = faults(store, verdict, begin)
    if old: return f'older than the first run: {old}'
    start, names, inodes = alive_at(store, begin)
    since = [entry for entry in store.history if entry[0] >= start]
    for name, number in names.items():
        if number in store.unreadable: continue
        if inodes[number] == ():
            if number not in store.removed and number not in verdict.directories:
                return f'lost directory: i{number} {name}'
        elif not is_kept(store, number, good): return f'lost: i{number} {name}'
        if number in verdict.recovered: continue
        if verdict.names.get(name) != number and all(entry[1].get(name) == number for entry in since):
            return f'lost name: {name} of i{number}'
    for name, number in verdict.names.items():
        had = number in verdict.recovered or number in store.replaced or any(
            entry[1].get(name) == number for entry in since)
        if not had: return f'name that it never had: {name} of i{number}'
    if any(number not in store.unreadable for _, number in verdict.damage): return f'not clean: {verdict.damage}'
    if verdict.others: return f'said to be of another timeline: {verdict.others}'
    return None


def p2(store, verdict, begin):
    """Nothing wrong is read, and everything that changed since the begin is reported."""
    if not verdict.mounts: return 'does not mount'
    bad = wrong_in_timeline(store, verdict)
    if bad: return bad
    if verdict.holes or verdict.cut: return None      # reported: history has holes, or ends early
    _, old, good = faults(store, verdict, begin)
    for number in old:
        if number not in verdict.told: return f'old and not told: i{number}'
    _, names, inodes = alive_at(store, begin)
    for number in set(names.values()):
        chain = number
        while chain in store.replaced and chain not in verdict.told: chain = store.replaced[chain][1]
        if inodes[number] != () and not is_kept(store, number, good) and not {number, chain} & verdict.told:
            return f'lost and not told: i{number}'
    return None


def same(verdict, names, values):
    """Exactly these names and contents are shown."""
    if not verdict.mounts: return 'does not mount'
    if verdict.names != names: return f'names: {verdict.names} instead of {names}'
    for number in set(names.values()):
        if not values.get(number): continue
        if number not in verdict.readable: return f'does not read: i{number}'
        if verdict.values[number] != values[number]: return f'other content: i{number}'
    return None


def lacks_changes(store, verdict):
    """Content that was written since the store was mounted is shown."""
    if not verdict.mounts: return 'does not mount'
    for number in store.inodes:
        versions = store.versions.get(number)
        if number in store.unreadable or not versions or versions[-1][0] <= store.mounted: continue
        if not versions[-1][1]: continue
        if number in store.names.values() and verdict.values.get(number) != versions[-1][1]: return f'lost: i{number}'
    return None


def differs(whole, hurt, touched_inodes, touched_names):
    """A file that is not touched is shown as in the whole store; of the others what is read is no other."""
    if not hurt.mounts: return 'does not mount'
    for name, number in whole.names.items():
        if number in touched_inodes or name in touched_names: continue
        if number in whole.directories:
            if number not in hurt.directories: return f'lost directory: {name}'
            continue
        if number not in whole.readable: continue
        if name[0] != RECOVERED and hurt.names.get(name) != number: return f'lost name: {name} of i{number}'
        if hurt.values.get(number) != whole.values[number]: return f'lost: i{number} {name}'
    return None


def loses_more_than_segment(whole, hurt, lost):
    """P3: a missing part costs the files that had content in it, and these are reported."""
    if not hurt.mounts: return 'does not mount'
    inside = lambda known: any(place and place[:2] == lost[1:] for place in known.content)
    touched = {i for i, known in whole.known.items() if inside(known)}
    bad = differs(whole, hurt, touched, ())
    if bad: return bad
    for number in touched & whole.readable:
        if number not in hurt.told and hurt.values.get(number) != whole.values[number]: return f'not told: i{number}'
    return None


def cuts_more_than_tail(store, verdict):
    """Where a power cut is possible, a loss may end history too, but only behind the last proven barrier."""
    bad = wrong_in_timeline(store, verdict)
    if bad: return bad
    return None if verdict.end >= verdict.reader.proven else f'cut before the barrier: {verdict.end}'


def damage_is_told(whole, hurt, key, place):
    bad = loses_more_than_segment(whole, hurt, key)
    if bad: return bad
    for number, known in whole.known.items():
        if number in whole.readable and key[1:] + (place,) in known.content and number in whole.names.values():
            if ('content', number) not in hurt.damage: return f'not called damage: i{number}'
    return None


def loses_more_than_frames(whole, hurt, journal):
    """P3: a lost journal segment costs what its frames describe and nothing else, and never what follows."""
    if hurt.cut: return f'sets aside what follows: {hurt.cut} frames'
    inodes, names = set(), set()
    for frame in journal.cells:
        if not isinstance(frame, Frame): continue
        for item in frame.items:
            if item[0] in ('inode', 'extents', 'gone'): inodes.add(item[1])
            elif item[0] == 'entry':
                names.add(item[1:3])
                inodes.add(item[3])
    # Files in a directory that was made there go to Recovered.
    names |= {name for name in whole.names if name[0] in inodes}
    lost = {i for i in whole.readable if i not in inodes and whole.values[i] != hurt.values.get(i)}
    if lost: return f'lost: {lost}'
    return differs(whole, hurt, inodes, names)


def power_cut_prefix(store, verdict, proven, last):
    """P5: the shown state is a prefix of history, no older than the proven part."""
    if not verdict.mounts: return 'does not mount'
    if verdict.damage - {('content', i) for i in store.unreadable}: return f'called damage: {verdict.damage}'
    for number in range(last, proven - 1, -1):
        if number in store.snapshots and not same(verdict, *store.snapshots[number]): return None
    return f'no prefix behind {proven}: ends at {verdict.end}, {verdict.names}'


def changed_by_writing(before, after):
    """P4: everything that a writing mount showed is shown for ever."""
    if not after.mounts: return 'does not mount'
    named = {n: i for n, i in before.names.items() if n[0] != RECOVERED}
    shown = {n: i for n, i in after.names.items() if n[0] != RECOVERED and i != RECOVERED}
    if named != shown: return f'names: {shown} instead of {named}'
    if before.readable != after.readable: return f'read: {after.readable} instead of {before.readable}'
    if before.values != after.values: return 'other content'
    if after.former or after.aside - before.aside: return f'told again: {after.former} {after.aside}'
    return None


def commanded_by(verdict, source, fork):
    """Whose timeline was chosen, and the other."""
    key = ('j', verdict.reader.head.number, verdict.reader.head.birth)
    return (source, fork) if key in source.files else (fork, source)


def other_timeline_is_told(owner, other, verdict, view):
    """A journal segment that only the other timeline wrote is reported."""
    foreign = [key for key, seen in view.items() if key[0] == 'j' and seen.cell(0) and key in other.files
               and key not in owner.files and key not in owner.ancestors]
    if foreign and not verdict.others: return f'not told: {foreign}'
    return None

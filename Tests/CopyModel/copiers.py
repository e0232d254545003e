"""Copiers: they list directories and read files at instants of their own choice, each file in ascending offsets.

A target is ({key: Seen}, {key: mtime})."""
from store import Seen

HASTES = ('', 'older first', 'older first', 'halves', 'data first', 'journals first', 'edges')


def read_file(segment, start, pace):
    """Reads the file from `start` on, one cell per `pace`. A later cell may be newer than an earlier one."""
    cells = [cell[1] if cell[0] <= start + pace * (k + 1) else None for k, cell in enumerate(segment.cells)]
    return Seen(segment.sealed <= start, cells)


def mtime_of(segment, t, how):
    """What rsync compares, the size being constant. 'bytes': a checksum of them; 'seconds': of the last write."""
    if how == 'bytes':
        records = [cell[1] if cell[0] <= t else None for cell in segment.cells]
        while records and records[-1] is None: records.pop()
        return records, segment.sealed <= t
    return max([segment.born] + [cell[0] for cell in segment.cells if cell[0] <= t]) // 12


def span(random, haste, store, kind, number, begin, end):
    """When this file is listed and read."""
    middle = (begin + end) // 2
    early, late = (begin, (3 * begin + end) // 4), ((begin + 3 * end) // 4, end)
    if haste == 'halves': return random.choice(((begin, middle), (middle, end)))
    if haste == 'older first': return late if store.next[kind] - number <= random.choice((1, 1, 2)) else early
    if haste == 'data first': return early if kind == 'd' else late
    if haste == 'journals first': return early if kind == 'j' else late
    if haste == 'edges': return random.choice(((begin, begin), (end, end)))
    return begin, end


def rsync(store, random, begin, end, former=None, delete=True, mtime='bytes'):
    """Makes one run. A file that vanishes between listing and reading stays unchanged in the target."""
    held, times = former or ({}, {})
    copy, new_times = {}, {}
    haste = random.choice(HASTES)
    for key, segment in store.files.items():
        listed, last = span(random, haste, store, key[0], key[1], begin, end)
        listed = random.randint(listed, last)
        start = random.randint(listed, last)
        pace = min(random.choice((0, 0, 0, 1, 3)), (end - start) // (len(segment.cells) + 1))
        if not segment.born <= listed < segment.unlinked: continue
        time = mtime_of(segment, listed, mtime)
        if key in held and (times.get(key) == time or start >= segment.unlinked): copy[key] = held[key]
        elif start < segment.unlinked: copy[key] = read_file(segment, start, pace)
        if key in copy: new_times[key] = time
    if not delete:
        for key in held:
            if key not in copy: copy[key], new_times[key] = held[key], times.get(key)
    return copy, new_times


def interrupted(random, target, refreshed):
    """A run that came part of the way: some files are the new ones, some of those to be deleted are gone."""
    copy = {}
    for key in sorted(set(target) | set(refreshed)):
        done = random.random() < .5
        source = refreshed if done else target
        if key in source: copy[key] = source[key]
    return copy

"""The actions of users and the daemon. Each event changes the catalog, writes frames, and returns what it did, or
None if it has nothing to do."""
from store import FOREVER, ROOT, Checkpoint, Inode, Reference

FILE_NAMES = 'abc'
TEMPORARY = 't'
DIRECTORY_NAMES = 'DE'

PROFILES = {
    'mixed': dict(create=6, over=4, whole=2, replace=4, thumb=3, rename=3, link=1.5, rm=2, exchange=1, mkdir=2,
                  rmdir=1, movedir=1, barrier=4, compact=4, retire=4, checkpoint=2, journal=2, kill=1, session=1),
    'compaction': dict(create=4, over=5, whole=2, replace=3, thumb=2, rename=2, link=1, rm=2, exchange=1, barrier=6,
                       compact=7, retire=7, checkpoint=1, journal=1, kill=.5, session=.5),
    'journals': dict(create=5, over=3, whole=2, replace=4, thumb=2, rename=3, link=2, rm=3, exchange=2, mkdir=3,
                     rmdir=2, movedir=2, barrier=3, compact=3, retire=2, checkpoint=2, journal=7, kill=1, session=.5),
    'checkpoints': dict(create=4, over=4, replace=3, rename=2, rm=1, barrier=2, compact=2, retire=2, checkpoint=8,
                        journal=2, kill=1),
    'flat': dict(create=6, over=4, whole=2, replace=4, rename=3, rm=2, barrier=4, compact=4, retire=4, checkpoint=2,
                 journal=2, kill=1, session=1),
}


# ---- Helpers ----

def of_kind(store, kind): return [number for number, inode in store.inodes.items() if inode.kind == kind]


def names_of_kind(store, kind): return [n for n, i in store.names.items() if store.inodes[i].kind == kind]


def some_name(store, names): return store.random.choice(of_kind(store, 'dir')), store.random.choice(names)


def lies_below(store, directory, top):
    while directory not in (ROOT, top):
        directory = next(parent for (parent, _), i in store.names.items() if i == directory)
    return directory == top


def new_inode(store, kind, stretches=0):
    number = store.next['inode']
    store.next['inode'] += 1
    store.inodes[number] = Inode(kind, 0, (None,) * stretches, 0, False)
    return number


def write_new(store):
    """Makes a new file of two stretches, often in one record. Returns it and the items that describe it."""
    number = new_inode(store, 'file', 2)
    first = store.record()
    second = first if store.random.random() < .5 else store.record()
    return number, store.put(number, {0: first, 1: second})


def drop(store, name, by=0):
    """Removes a name, and with the last one the inode and its thumbnail. Returns the items except that of the name."""
    number = store.names.pop(name)
    if number in store.names.values(): return []
    inode = store.inodes.pop(number)
    if by: store.replaced[number] = (store.t, by)
    else: store.removed[number] = store.t
    if not inode.thumb: return [('gone', number)]
    del store.inodes[inode.thumb]
    return [('gone', number), ('gone', inode.thumb)]


# ---- Files ----

def create(store):
    name = some_name(store, FILE_NAMES)
    if name in store.names: return None
    number, items = write_new(store)
    store.names[name] = number
    store.frame(items + [('entry',) + name + (number,)])
    return f'create {name} = i{number}'


def over(store, both=False):
    have = of_kind(store, 'file')
    if not have: return None
    number = store.random.choice(have)
    stretches = (0, 1) if both else (store.random.randrange(2),)
    store.frame(store.put(number, {k: store.record() for k in stretches}))
    return f'overwrite i{number} {stretches}'


def whole(store): return over(store, True)


def thumb(store):
    """Replaces the thumbnail by one of the photo's current content."""
    have = [i for i in of_kind(store, 'file') if not store.inodes[i].made and i not in store.unreadable]
    if not have: return None
    photo = store.random.choice(have)
    old = store.inodes[photo].thumb
    number = new_inode(store, 'thumb', 1)
    place = store.record()
    store.picture[store.value(place)] = store.values_of(photo)
    items = store.put(number, {0: place})
    store.inodes[photo] = store.inodes[photo]._replace(thumb=number, made=True)
    items.append(('inode', photo, store.state(photo)))
    if old:
        del store.inodes[old]
        items.append(('gone', old))
    store.frame(items)
    return f'thumbnail i{number} of i{photo}'


def replace(store):
    """Writes another file and renames it over one."""
    have = [name for name in names_of_kind(store, 'file') if name[1] != TEMPORARY]
    if not have: return None
    name = store.random.choice(have)
    temporary = (name[0], TEMPORARY)
    if temporary in store.names: return None
    old = store.names[name]
    number, items = write_new(store)
    store.names[temporary] = number
    store.frame(items + [('entry',) + temporary + (number,)])
    if store.random.random() < .2: return f'create {temporary} = i{number}'
    del store.names[temporary]
    items = drop(store, name, number)
    store.names[name] = number
    store.frame([('entry',) + temporary + (0,), ('entry',) + name + (number,)] + items)
    return f'replace {name}: i{old} by i{number}'


def rename(store):
    have = names_of_kind(store, 'file')
    if not have: return None
    name, target = store.random.choice(have), some_name(store, FILE_NAMES)
    if target == name or store.names.get(target) == store.names[name]: return None
    number = store.names.pop(name)
    items = drop(store, target, number) if target in store.names else []
    store.names[target] = number
    store.frame([('entry',) + name + (0,), ('entry',) + target + (number,)] + items)
    return f'rename {name} -> {target}'


def link(store):
    have = of_kind(store, 'file')
    if not have: return None
    number, name = store.random.choice(have), some_name(store, FILE_NAMES)
    if name in store.names: return None
    store.names[name] = number
    store.frame([('inode', number, store.state(number)), ('entry',) + name + (number,)])
    return f'link i{number} as {name}'


def rm(store):
    have = names_of_kind(store, 'file')
    if not have: return None
    name = store.random.choice(have)
    number = store.names[name]
    store.frame([('entry',) + name + (0,)] + drop(store, name))
    return f'rm {name} = i{number}'


def exchange(store):
    have = names_of_kind(store, 'file')
    if len(have) < 2: return None
    a, b = store.random.sample(have, 2)
    if store.names[a] == store.names[b]: return None
    store.names[a], store.names[b] = store.names[b], store.names[a]
    store.frame([('entry',) + a + (store.names[a],), ('entry',) + b + (store.names[b],)])
    return f'exchange {a} {b}'


# ---- Directories ----

def mkdir(store):
    name = some_name(store, DIRECTORY_NAMES)
    if name in store.names: return None
    number = new_inode(store, 'dir')
    store.names[name] = number
    store.frame([('inode', number, store.state(number)), ('entry',) + name + (number,)])
    return f'mkdir {name} = i{number}'


def rmdir(store):
    full = {directory for directory, _ in store.names}
    have = [name for name in names_of_kind(store, 'dir') if store.names[name] not in full]
    if not have: return None
    name = store.random.choice(have)
    store.frame([('entry',) + name + (0,)] + drop(store, name))
    return f'rmdir {name}'


def movedir(store):
    have = names_of_kind(store, 'dir')
    if not have: return None
    name = store.random.choice(have)
    number = store.names[name]
    target = some_name(store, DIRECTORY_NAMES)
    if target in store.names or lies_below(store, target[0], number): return None
    del store.names[name]
    store.names[target] = number
    store.frame([('entry',) + name + (0,), ('entry',) + target + (number,)])
    return f'move directory {name} -> {target}'


# ---- The daemon ----

def barrier(store):
    store.barrier()
    return 'barrier'


def living(store): return {place[0] for inode in store.inodes.values() for place in inode.content if place}


def is_held(store, number): return ('d', number, store.ledger.get(number)) in store.held


def compact(store):
    """Moves the living content of one segment. The copies are synced before the frame."""
    have = [n for n in living(store) if n != store.data.number and not is_held(store, n)]
    if not have: return None
    source, moved, items = store.random.choice(sorted(have)), {}, []
    if store.random.random() < .6: store.begin_data()
    for number in sorted(store.inodes):
        stretches = {}
        for index, place in enumerate(store.inodes[number].content):
            if not place or place[0] != source or not store.has(place): continue
            if place not in moved: moved[place] = store.record(store.value(place))
            stretches[index] = moved[place]
        if stretches: items += store.put(number, stretches)
    if not items: return None
    store.t += 1
    store.sync()
    store.frame(items)
    return f'compact d{source}: {moved}'


def retire(store):
    """Retires segments without living content. Their grace begins with the next barrier."""
    alive = living(store)
    dead = [n for n in store.ledger if n not in alive and n != store.data.number and n not in store.retired
            and not is_held(store, n) and ('d', n, store.ledger[n]) in store.files]
    if not dead: return None
    for number in dead: store.retired[number] = None
    store.frame([('retired', number) for number in dead])
    if store.random.random() < .6:
        store.t += 4
        store.barrier()
    return f'retire {dead}'


def checkpoint(store):
    """Slices under short holds while work goes on; then a barrier; then the head of a new journal names it."""
    random, log = store.random, []
    last = store.next['frame'] - 1
    segment = store.new_segment('c')
    inodes, names = {}, {}
    slices = random.choice((1, 1, 2, 3))

    def meanwhile():
        if slices > 1 and random.random() < .6: log.append(random.choice((create, over, replace, rename, rm))(store))

    for part in range(slices):
        for i, inode in store.inodes.items():
            if i % slices != part: continue
            content = tuple(place and (place[0], store.ledger.get(place[0]), place[1]) for place in inode.content)
            inodes[i] = (store.state(i), content)
        meanwhile()
    ledger = dict(store.ledger)
    for part in range(slices):
        names.update({name: i for name, i in store.names.items() if name[0] % slices == part})
        meanwhile()
    cut = store.next['frame'] - 1
    store.barrier()
    store.t += 1
    segment.cells.append([store.t, Checkpoint(last, cut, inodes, names, ledger), True])
    segment.durable = segment.finished = True
    store.t += 1
    segment.sealed = store.t
    store.checkpoints.insert(0, Reference(segment.number, segment.birth, last, cut, store.t))
    store.sync_all()
    new_journal(store)
    supersede(store)
    return f'checkpoint {last}..{cut} {[what for what in log if what]}'


def supersede(store):
    """Begins the grace of everything that neither the newest checkpoint nor the former one needs."""
    kept = store.checkpoints[:2]
    needed = {('c', reference.number, reference.birth) for reference in kept}
    for key, segment in store.files.items():
        if segment.kind == 'c' and key not in needed: store.unneeded.setdefault(key, store.t)
    if len(kept) < 2: return
    for number, birth, _, cut in store.ancestry:
        if cut <= kept[1].last and ('j', number, birth) in store.files:
            store.unneeded.setdefault(('j', number, birth), store.t)


def new_journal(store):
    last = store.next['frame'] - 1
    store.cut_journal(last)
    store.begin_journal(last)


def journal(store):
    store.barrier()
    store.sync_all()
    new_journal(store)
    return 'new journal'


def new_session(store):
    last = store.next['frame'] - 1
    store.cut_journal(last)
    store.begin_session(last)


def kill(store):
    """Kills the daemon and starts it again. No session finishes the segments of the killed one."""
    store.sync_all()
    older = list(store.files.values())
    new_session(store)
    for segment in older: segment.finished = segment.sealed < FOREVER
    return 'kill, mount'


def session(store):
    store.barrier()
    store.barrier()
    for segment in store.files.values():
        segment.finished = segment.finished or segment in (store.data, store.journal)
        if segment.finished and segment.sealed == FOREVER: segment.sealed = store.t + 1
    store.t += 4
    new_session(store)
    return 'unmount, mount'


EVENTS = {f.__name__: f for f in (create, over, whole, thumb, replace, rename, link, rm, exchange, mkdir, rmdir,
                                  movedir, barrier, compact, retire, checkpoint, journal, kill, session)}


def live(store, count, profile='mixed', pace=4):
    """`count` events at random, some time apart."""
    weights = PROFILES[profile]
    for _ in range(count):
        store.pass_time(pace * store.random.choice((1, 1, 1, 2, 3)))
        done = EVENTS[store.random.choices(list(weights), weights.values())[0]](store)
        if done: store.log.append(f't{store.t} [{store.next["frame"] - 1}] {done}')
    store.pass_time(4)

"""Random cases: each makes a history, changes the store, reads the result and checks the promises."""
import collections
import random as randoms

from copiers import interrupted, rsync
from events import PROFILES, live
from promises import (changed_by_writing, commanded_by, cuts_more_than_tail, damage_is_told, loses_more_than_frames,
                      lacks_changes, loses_more_than_segment, other_timeline_is_told, p1, p2, power_cut_prefix, same,
                      wrong_in_timeline)
from reader import NEXT, read
from store import FOREVER, GARBAGE, GRACE, Births, Frame, Head, Seen, Store

ELSEWHERE = -1      # the boot of a reader on another machine, or after a restart


class Case:
    """One history and the findings about it. `verdicts`: promise -> (violation or None)."""

    def __init__(self, seed, rule=NEXT, without=(), mtime='bytes', profile=None):
        self.seed, self.rule, self.without, self.mtime = seed, rule, without, mtime
        self.random = randoms.Random(seed)
        self.births = Births()
        self.found = []              # (promise, violation or None, what was seen)
        self.profile = profile or self.random.choice(sorted(PROFILES))
        self.pace = self.random.choice((0, 1, 1, 2, 5))
        self.store = Store(self.random, self.births, without)

    def live(self, least, most, store=None):
        live(store or self.store, self.random.randint(least, most), self.profile, self.pace)

    def reader_boot(self, store=None): return self.random.choice(((store or self.store).boot, ELSEWHERE))

    def ask(self, promise, violation, verdict, view):
        self.found.append((promise, violation, verdict, view))

    def shown(self, view):
        lines = list(self.store.log)
        for key, seen in sorted(view.items()):
            cells = ['-' if c is None else '?' if c is GARBAGE else 'H' if isinstance(c, Head)
                     else str(c.number) if isinstance(c, Frame) else 'x' for c in seen.cells]
            lines.append(f'  {key[0]}{key[1]}.{key[2]}{" sealed" if seen.sealed else ""}: {" ".join(cells)}')
        return '\n      '.join(lines)


def copies(case):
    """A store in use is copied, by one run and by two."""
    r, store = case.random, case.store
    if r.random() < .15:
        case.live(1, 8)
        power_cut(case)
        store = case.store
    began = store.t
    case.live(2, 24)
    end = store.t
    second = r.randint(began + 1, end)
    first = r.randint(began, second)
    last = min(end + 8, second + r.choice((GRACE - 1, r.randint(0, GRACE - 1))))
    boot = case.reader_boot()
    one = rsync(store, r, first, second, mtime=case.mtime)
    two = rsync(store, r, second, last, one, r.random() < .5, case.mtime)
    verdict = read(two[0], boot, case.rule)
    case.ask('P1 two runs, the second within the grace', p1(store, verdict, first), verdict, two[0])
    verdict = read(one[0], boot, case.rule)
    short = second - first < GRACE
    case.ask('P2 one run' if short else 'P2 one run longer than the grace', p2(store, verdict, first), verdict, one[0])
    slow = rsync(store, r, second, end + 8, one, True, case.mtime)
    verdict = read(slow[0], boot, case.rule)
    short = end + 8 - second < GRACE
    case.ask('P2 two runs' if short else 'P2 two runs, the second longer than the grace',
             p2(store, verdict, first), verdict, slow[0])
    # A copy that loses a data segment differs from the whole one only in files that had content in it.
    datas = [key for key in two[0] if key[0] == 'd']
    if datas:
        lost = r.choice(datas)
        hurt = {key: seen for key, seen in two[0].items() if key != lost}
        a, b = read(two[0], store.boot, case.rule), read(hurt, store.boot, case.rule)
        case.ask('P3 a copy loses a data segment', loses_more_than_segment(a, b, lost), b, hurt)


def losses(case):
    """The store itself, at rest or after a kill, loses one segment, or one record."""
    r = case.random
    case.live(3, 24)
    store = case.store
    view = store.view()
    whole = read(view, store.boot, case.rule)
    names, values = dict(store.names), {i: store.values_of(i) for i in store.inodes}
    bad = same(whole, names, values) or (f'{whole.damage} {whole.others}' if whole.damage or whole.others else None)
    case.ask('the whole store is as it was', bad, whole, view)
    kinds = lambda kind: [key for key in view if key[0] == kind]
    lost = r.choice(kinds('d'))
    hurt = {key: seen for key, seen in view.items() if key != lost}
    verdict = read(hurt, store.boot, case.rule)
    case.ask('P3 lost data segment', loses_more_than_segment(whole, verdict, lost), verdict, hurt)
    verdict = read(hurt, ELSEWHERE, case.rule)
    case.ask('P3 lost data segment, machine restarted, nothing set aside' if not verdict.cut else
             'P3 lost data segment, machine restarted, end set aside',
             cuts_more_than_tail(store, verdict) if verdict.cut else loses_more_than_segment(whole, verdict, lost),
             verdict, hurt)
    cells = [(key, k) for key in kinds('d') for k, cell in enumerate(view[key].cells) if cell is not None]
    if cells:
        key, place = r.choice(cells)
        hurt = dict(view)
        hurt[key] = Seen(view[key].sealed, [GARBAGE if k == place else c for k, c in enumerate(view[key].cells)])
        verdict = read(hurt, store.boot, case.rule)
        case.ask('P3 damaged record', damage_is_told(whole, verdict, key, place), verdict, hurt)
    others = [key for key in kinds('j') if key != store.journal.key]
    if others:
        lost = r.choice(others)
        hurt = {key: seen for key, seen in view.items() if key != lost}
        verdict = read(hurt, case.reader_boot(), case.rule)
        if verdict.mounts:
            case.ask('P3 lost journal segment', loses_more_than_frames(whole, verdict, view[lost]), verdict, hurt)


def power_cut(case):
    """The machine loses power. The store is mounted again and continues."""
    store = case.store
    last = store.next['frame'] - 1
    store.lose_power()
    view = store.view()
    verdict = read(view, store.boot, case.rule)
    case.ask('P5 power cut', power_cut_prefix(store, verdict, store.proven, last), verdict, view)
    if not verdict.mounts: return
    case.store = Store.mount(case.random, case.births, view, verdict, store.t + 4, [store], case.without,
                             store.next['inode'], case.rule.partial)
    case.store.log = store.log + [f't{case.store.t} power cut: frames behind {verdict.end} lost']


def power(case):
    case.live(1, 20)
    power_cut(case)


def writing(case):
    """A copy is mounted for writing and continues. Everything that was set aside is still there."""
    r, store = case.random, case.store
    case.live(3, 20)
    begin = r.randint(5, store.t)
    end = min(store.t + 8, begin + r.randint(0, 2 * GRACE))
    view = rsync(store, r, begin, end)[0]
    if r.random() < .3:
        lost = r.choice(sorted(view)) if view else None
        view = {key: seen for key, seen in view.items() if key != lost}
    verdict = read(view, case.reader_boot(), case.rule)
    if not verdict.mounts: return
    mounted = Store.mount(r, case.births, view, verdict, max(end, store.t) + 4, [store], case.without,
                          partial=case.rule.partial)
    mounted.pass_time(GRACE + 8)
    for _ in range(3): mounted.barrier()
    mounted.pass_time(GRACE + 8)
    again = read(mounted.view(), case.reader_boot(mounted), case.rule)
    case.ask('P4 mounted for writing: the same is shown later', changed_by_writing(verdict, again), again,
             mounted.view())
    live(mounted, 10, 'compaction', 5)
    gone = [key for key in view if mounted.files[key].unlinked != FOREVER]
    bad = f'removed without consent: {gone}' if gone and verdict.is_partial else None
    case.ask('P4 what is set aside stays', bad, verdict, mounted.view())


def forks(case):
    """A copy is mounted for writing, continues, and is refreshed from its source."""
    r, source = case.random, case.store
    case.live(2, 14)
    begin = r.randint(5, source.t)
    end = min(source.t + 4, begin + r.randint(0, GRACE - 1))
    view = rsync(source, r, begin, end, mtime=case.mtime)[0]
    verdict = read(view, case.reader_boot(), case.rule)
    if not verdict.mounts: return
    fork = Store.mount(r, case.births, view, verdict, end + r.randint(1, 8), [source], case.without,
                       partial=case.rule.partial)
    case.live(0, 10, fork)
    began = source.t
    case.live(0, 12)
    source.log += ['the fork:'] + fork.log
    # Times of listing and reading are the source's; the fork rests.
    first = r.randint(began, source.t)
    second = r.randint(first, source.t)
    last = min(source.t + 4, second + r.randint(0, GRACE - 1))
    boot = case.reader_boot()
    target = (fork.view(), fork.times(case.mtime))
    one = rsync(source, r, first, second, target, True, case.mtime)
    two = rsync(source, r, second, last, one, True, case.mtime)
    verdict = read(two[0], boot, case.rule)
    case.ask('fork, two runs with --delete: the source', p1(source, verdict, first), verdict, two[0])
    kept = rsync(source, r, second, last, rsync(source, r, first, second, target, False, case.mtime), False, case.mtime)
    part = interrupted(r, target[0], one[0])
    for what, view in (('one run with --delete', one[0]), ('two runs without --delete', kept[0]),
                       ('an interrupted run', part)):
        verdict = read(view, boot, case.rule)
        if not verdict.mounts: continue
        owner, other = commanded_by(verdict, source, fork)
        case.ask(f'fork, {what}: nothing wrong is read', wrong_in_timeline(owner, verdict), verdict, view)
        case.ask(f'fork, {what}: another timeline is told', other_timeline_is_told(owner, other, verdict, view),
                 verdict, view)
    verdict = read(kept[0], boot, case.rule)
    if verdict.mounts and commanded_by(verdict, source, fork)[0] is fork:
        values = {i: fork.values_of(i) for i in fork.inodes if i not in fork.unreadable}
        bad = same(verdict, fork.names, values)
        # Frames that the fork lacked count again when they come back.
        if case.rule.partial == 'changes' and fork.lacked: bad = lacks_changes(fork, verdict)
        case.ask('fork, two runs without --delete, the fork is newer: all of the fork', bad, verdict, kept[0])
    elif verdict.mounts:
        bad = p1(source, verdict, first)
        bad = None if bad and bad.startswith('said to be') else bad
        case.ask('fork, two runs without --delete, the source is newer: all of the source', bad, verdict, kept[0])


CASES = {'copies': copies, 'losses': losses, 'power': power, 'writing': writing, 'forks': forks}

# Histories that former forms of the rule got wrong.
FOUND = [('copies', seed) for seed in (100002219, 100010906, 100023556, 188006470, 200022267, 200097516, 288006148,
                                       288017799, 300036634, 388022247, 488027199, 688012190, 398312401775,
                                       231732962004)] + [
         ('forks', seed) for seed in (5008162, 377001211, 400010293, 577008056, 600046908)]

# What is left out, which cases show it, and the promises of which one must then be broken. Of rare ones the
# profile of the history that shows it, and a seed to begin with.
Tooth = collections.namedtuple('Tooth', 'cases promises rule without mtime profile seed')


def tooth(cases, promises, rule=None, without='', mtime='bytes', profile=None, seed=1):
    return Tooth(cases.split(), promises.split(), NEXT._replace(**(rule or {})), (without,), mtime, profile, seed)


TEETH = {
    'the floor is the last barrier': tooth('copies', 'P1', dict(window='barrier')),
    'the window is half the grace': tooth('copies', 'P1', dict(window=.5)),
    'no step 4': tooth('copies', 'P1', dict(aside=False)),
    'content is asked for behind the last barrier but one':
        tooth('copies power', 'P1 P5', dict(power='proven'), profile='compaction'),
    'what a hole hides is not taken for replaced':
        tooth('copies', 'P1', dict(replaced=False), profile='flat', seed=2366),
    'a power cut is not told from a copy': tooth('power', 'P5', dict(power='')),
    'statements are not counted': tooth('copies', 'P1 P2', dict(counts=False), profile='journals'),
    'a hole ends history': tooth('losses', 'P3', dict(hole='cut')),
    'a head names one predecessor only': tooth('copies', 'P1', dict(ancestry=1)),
    'a head names one predecessor, the one before is guessed': tooth('forks', 'fork', dict(ancestry=1, guess=True)),
    'tails and seals prove nothing': tooth('losses', 'P3', dict(evidence=False)),
    'data segments are unlinked without grace': tooth('copies', 'P1', without='grace', profile='compaction'),
    'checkpoints and journals are unlinked without grace':
        tooth('copies', 'P1', without='checkpoint grace', profile='checkpoints'),
    'segments have no birth': tooth('forks', 'fork', without='birth'),
    'mtime is the second of the last write': tooth('copies', 'P1', mtime='seconds'),
    'journals do not state births anew': tooth('losses', 'P3', without='restate'),
    'nothing is held': tooth('writing', 'P4', without='held'),
    'history does not restart where a partial copy is mounted': tooth('writing forks', 'P4 fork', without='restart'),
    'numbers that lost frames used are given again':
        tooth('forks', 'fork', dict(partial='changes'), without='numbers', seed=2842),
    'the seal is written at birth': tooth('copies', 'P1', without='seal last'),
    'the seal is written before the sync': tooth('power', 'P5', without='seal after sync'),
}

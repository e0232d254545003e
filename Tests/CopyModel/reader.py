"""How a reader interprets the files that it finds: the rules. See `run` for the rules in words."""
import collections
import copy

from store import GARBAGE, GRACE, RECOVERED, ROOT, Frame, Head

# hole: 'step' over missing frames, or 'cut' history there (REC).
# power: what follows the last barrier may be cut after a power cut: '' never; 'synced': content is asked for
#   behind the last barrier, frames behind the last but one; 'proven': both behind the last but one.
# window: how much of the grace the floor reaches back; 'barrier': only to the last barrier.
# aside, replaced, counts, evidence: leave out that unfinished files are set aside, what may have been replaced where a
#   hole hides it, the count of statements, or what seals and tails prove.
# ancestry: how many predecessors a head names. guess: an unnamed one is taken to be the next lower number.
# partial: what a mount for writing states of a partial copy: 'restart' (rule 8), or 'changes' of the history.
Rule = collections.namedtuple('Rule', 'hole power window aside replaced counts evidence ancestry guess partial')
NEXT = Rule('step', 'synced', 1, True, True, True, True, 99, False, 'restart')
REC = NEXT._replace(hole='cut', power='')
# A head names three, and where none of them is there the next lower number is taken: what the code did.
THREE = NEXT._replace(ancestry=3, guess=True)
# What the code does: a head names 15. And a mount for writing states what it shows as changes, which needs a reader that
# begins at the newest checkpoint.
CODE = THREE._replace(ancestry=15, partial='changes')

# An inode as replay knows it. content: (number, birth, cell), or None if no existing frame describes it;
# lost: '', or what took a statement of its content: a 'new' hole (in the window) or an 'old' one.
# stamp: when its content was stated last.
Known = collections.namedtuple('Known', 'kind count content thumb made lost stamp')
# The catalog behind one frame. valid: False inside the span of a checkpoint that was written meanwhile.
Step = collections.namedtuple('Step', 'number stamp names inodes valid')
Hole = collections.namedtuple('Hole', 'first last is_old')
Start = collections.namedtuple('Start', 'last cut stamp inodes names ledger')


class Verdict:
    """The shown files and the reports."""

    def __init__(self):
        self.mounts = True
        self.names = {}           # (directory, name) -> inode
        self.known = {}           # inode -> Known: the version that is shown; thumbnails, too
        self.readable = set()     # inodes whose content is shown
        self.values = {}          # what is read of these
        self.thumbs = {}          # photo -> (value, is of this content), where a thumbnail is shown
        self.directories = set()
        self.damage = set()       # (what, inode): exit 26
        self.former = set()       # inodes shown in a former version: a note
        self.aside = set()        # inodes set aside: a note
        self.recovered = set()    # inodes named in Recovered: a note
        self.holes = []           # missing frames
        self.cut = 0              # the number of frames set aside at the end
        self.others = set()       # keys of segments of other timelines
        self.end = 0              # the last frame that counts
        self.counts = {}          # inode -> the highest statement count that any frame names

    @property
    def told(self): return self.former | self.aside | self.recovered | {i for _, i in self.damage}

    @property
    def is_partial(self): return bool(self.told or self.holes or self.cut)


class Reader:
    def __init__(self, view, boot, rule):
        self.view, self.boot, self.rule = view, boot, rule
        self.verdict = Verdict()
        self.verdict.reader = self

    def read(self):
        verdict = self.verdict
        if not self.choose_timeline():
            verdict.mounts = False
            return verdict
        self.collect_frames()
        if not self.replay():
            verdict.mounts = False
            return verdict
        self.find_others()
        if self.is_power_cut(): self.cut_behind_barrier()
        if not any(step.valid for step in self.steps):
            self.steps[-1] = self.steps[-1]._replace(valid=True)
        valid = [step for step in self.steps if step.valid]
        base = max([k for k, step in enumerate(valid) if step.stamp <= self.floor], default=0)
        self.valid = valid[base:]
        self.settle()
        return verdict

    # ---- Which timeline ----

    def choose_timeline(self):
        """The newest journal segment is one that no other head names. If there are several, the one with the newest
        stamp counts."""
        self.all_heads = {key[1:]: seen.cell(0) for key, seen in self.view.items()
                          if key[0] == 'j' and isinstance(seen.cell(0), Head)}
        if not self.all_heads: return False
        limit = self.rule.ancestry
        named = {entry[:2] for head in self.all_heads.values() for entry in head.ancestry[:limit]}
        newest = max((k for k in self.all_heads if k not in named), key=lambda k: (self.newest_stamp(k), k[0]))
        self.head = self.all_heads[newest]
        # The frames that count: first, cut. None: all, and no head says whether any are missing behind them.
        self.spans = {newest: (self.head.first, None)}
        head = self.head
        while head:
            following = None
            for number, birth, first, cut in head.ancestry[:limit]:
                self.spans.setdefault((number, birth), (first, cut))
                if limit < 99: following = following or self.all_heads.get((number, birth))
            if limit < 99 and not following and self.rule.guess:
                # Of a number that is named no other birth is taken.
                taken = {number for number, _ in self.spans}
                lower = [k for k in self.all_heads if k[0] < head.number and k[0] not in taken]
                if lower:
                    following = self.all_heads[max(lower)]
                    self.spans[max(lower)] = (following.first, None)
            head = following
        self.heads = [self.all_heads[k] for k in sorted(self.spans) if k in self.all_heads]
        return True

    def frames_of(self, key):
        return [cell for cell in self.view[('j',) + key].cells[1:] if isinstance(cell, Frame)]

    def newest_stamp(self, key):
        return max([self.all_heads[key].stamp] + [frame.stamp for frame in self.frames_of(key)])

    def find_others(self):
        """Returns the segments that are not of this timeline. Those that its journals name are of it, and those that
        these name in turn."""
        ours, grown = set(self.spans), True
        while grown:
            more = {entry[:2] for k in ours if k in self.all_heads
                    for entry in self.all_heads[k].ancestry[:self.rule.ancestry]}
            grown = not more <= ours
            ours |= more
        others = self.verdict.others
        others |= {('j',) + k for k in self.all_heads if k not in ours}
        # A journal that continued after the one behind it had been written.
        for k in self.spans:
            behind = [h.stamp for h in self.heads if any(entry[:2] == k for entry in h.ancestry[:self.rule.ancestry])]
            if k in self.all_heads and behind and self.newest_stamp(k) > min(behind): others.add(('j',) + k)
        others |= {key for key in self.view if key[0] == 'd' and self.ledger.get(key[1], key[2]) != key[2]}

    # ---- Frames ----

    def collect_frames(self):
        """Returns the frames by number, the dead numbers, the last number that a frame names, and the floor."""
        self.frames, self.dead, self.last = {}, set(), 0
        for head in self.heads:
            cut = self.spans[head.number, head.birth][1]
            for frame in self.frames_of((head.number, head.birth)):
                if cut is None or frame.number <= cut: self.frames[frame.number] = frame
            self.last = max(self.last, head.cut)
            self.dead |= set(range(head.cut + 1, head.first))
        spans = [self.spans[k] for k in sorted(self.spans)]     # by segment number: an empty one has no frames
        for (_, cut), (first, _) in zip(spans, spans[1:]):
            if cut is not None: self.dead |= set(range(cut + 1, first))
        for number in self.dead: self.frames.pop(number, None)
        self.last = max([self.last] + list(self.frames))
        newest = max([h.stamp for h in self.heads] + [f.stamp for f in self.frames.values()])
        if self.rule.window == 'barrier':
            self.floor = max([0] + [f.stamp for f in self.frames.values() if f.barrier])
        else: self.floor = newest - int(GRACE * self.rule.window)

    def starts(self):
        """Whole checkpoints that heads name, and the birth of the space, in order."""
        found = {}
        for head in self.heads:
            for ref in head.checkpoints:
                seen = self.view.get(('c', ref.number, ref.birth))
                if seen is None or seen.cell(0) in (None, GARBAGE): continue
                c = seen.cell(0)
                inodes = {i: Known(s.kind, s.count, content, s.thumb, s.made, '', ref.stamp)
                          for i, (s, content) in c.inodes.items()}
                found[c.last] = Start(c.last, c.cut, ref.stamp, inodes, c.names, c.ledger)
        if any(head.number == 1 for head in self.heads): found[0] = Start(0, 0, 0, {}, {}, {})
        self.whole = set(found)
        # A mount of a partial copy for writing writes the whole state anew, and nothing before counts.
        restarts = [n for n, frame in self.frames.items() if ('restart',) in frame.items]
        if restarts:
            at = max(restarts) - 1
            found = {k: start for k, start in found.items() if k > at}
            found[at] = Start(at, at, self.frames[at + 1].stamp, {}, {}, {})
        return [found[k] for k in sorted(found)]

    # ---- Replay ----

    def replay(self):
        """All states from the newest start that is not behind the floor, else from the oldest."""
        starts = self.starts()
        if not starts: return False
        start = ([s for s in starts if s.stamp <= self.floor] or starts[:1])[-1]
        position, stamp = start.last, start.stamp
        inodes, names, self.ledger = dict(start.inodes), dict(start.names), dict(start.ledger)
        later_starts = {s.last: s for s in starts if s.last > position}
        self.gone, self.hole = set(), ''
        self.holders = collections.defaultdict(list)   # name -> inodes that had it
        # inode -> ([(what was renamed over it, that name)], its own names where that is a guess)
        self.replaced = {}
        self.placed = {}                               # inode -> its newest name
        self.steps, holes = [], []
        newer = None                                   # a start whose slices know frames that are missing here

        def note(): self.steps.append(Step(position, stamp, dict(names), dict(inodes), position >= start.cut))
        note()

        def go_on_from(checkpoint):
            # The frames before it were replayed to learn which file replaced which.
            nonlocal start, inodes, names
            start = self.taken_up_to(position, checkpoint)
            self.note_vanished(start, before, inodes, names)
            inodes, names = start.inodes, start.names

        while position < self.last:
            if position in later_starts and holes:
                # A checkpoint bridges a hole.
                go_on_from(later_starts.pop(position))
                holes, self.hole, stamp = [], '', start.stamp
                note()
            elif position in later_starts and self.begins_here(later_starts[position]):
                newer = later_starts.pop(position)
            number = position + 1
            if number in self.dead:
                position = number
                continue
            if number not in self.frames:
                hole = self.hole_at(number, later_starts)
                if not holes: before = dict(inodes)
                if newer:
                    go_on_from(newer)
                    newer = None
                    note()
                holes.append(hole)
                if self.rule.hole == 'cut' and not hole.is_old and not any(k >= hole.last for k in later_starts):
                    self.verdict.cut = len([n for n in self.frames if n > number])
                    break
                self.hole = 'old' if hole.is_old else 'new'
                position = hole.last
                continue
            frame = self.frames[number]
            position, stamp = number, frame.stamp
            self.apply(frame, inodes, names, self.hole or number <= start.cut)
            note()
        self.verdict.holes, self.verdict.end = holes, position
        return True

    def begins_here(self, start):
        """True if replay goes on from a checkpoint because frames that its slices know are missing behind it."""
        return self.rule.partial != 'restart' and any(
            number not in self.frames and number not in self.dead for number in range(start.last + 1, start.cut + 2))

    def taken_up_to(self, position, start):
        """Returns a start with the frames up to `position`, which its slices may know already. Which file replaced
        which is known from the replay without it."""
        inodes, names, self.ledger = dict(start.inodes), dict(start.names), dict(start.ledger)
        known = copy.deepcopy((self.holders, self.replaced, self.placed, self.gone))
        for number in range(start.last + 1, position + 1):
            if number in self.frames: self.apply(self.frames[number], inodes, names, True)
        self.holders, self.replaced, self.placed, self.gone = known
        return start._replace(inodes=inodes, names=names)

    def hole_at(self, first, later_starts):
        """The far side is the earliest frame that certainly comes behind the hole, or a checkpoint in it."""
        last = min([n for n in self.frames if n > first], default=self.last + 1) - 1
        inside = [n for n in later_starts if first <= n < last and self.rule.partial != 'restart']
        if inside: return Hole(first, min(inside), later_starts[min(inside)].stamp < self.floor)
        far = [head.stamp for head in self.heads if head.first == last + 1 or head.cut == last]
        if last + 1 in self.frames: far.append(self.frames[last + 1].stamp)
        return Hole(first, last, min(far) < self.floor)

    def apply(self, frame, inodes, names, is_blurred):
        """`is_blurred`: what a name led to before may be stated by a frame that is lost, or not any more: slices of a
        checkpoint may know what comes later."""
        extents = collections.defaultdict(dict)
        for item in frame.items:
            if item[0] == 'segment': self.ledger[item[1]] = item[2]
            elif item[0] == 'extents': extents[item[1]][item[2]] = item[3]
        had = {}                       # names of this frame -> what they led to
        gone = []
        for item in frame.items:
            if item[0] == 'inode': self.apply_inode(item[1], item[2], extents.get(item[1]), frame, inodes)
            elif item[0] == 'entry':
                name, number = item[1:3], item[3]
                had[name] = names.pop(name, 0)
                if had[name]: self.holders[name].append(had[name])
                if number:
                    names[name] = number
                    self.placed[number] = name
            elif item[0] == 'gone':
                gone.append(item[1])
                inodes.pop(item[1], None)
                self.gone.add(item[1])
        given = [(names[name], name) for name in had if name in names]
        for number in gone:
            over = [(new, name) for new, name in given if had[name] == number]
            own = [name for name, i in list(names.items()) + list(had.items()) if i == number]
            self.note_replaced(number, over, given if is_blurred else [], own)

    def note_vanished(self, start, before, inodes, names):
        """What is in no checkpoint behind a hole may have been replaced in the hole by what got a name there."""
        born = [(i, name) for name, i in start.names.items() if i not in before or names.get(name) != i]
        for number in sorted(inodes.keys() - start.inodes.keys()):
            mine = [name for name, i in names.items() if i == number]
            self.note_replaced(number, [(i, name) for i, name in born if name in mine], born, mine)

    def note_replaced(self, number, over, guessed, own):
        """`over`: what was renamed over it, and where; `guessed`: what may have been, if that is not known."""
        self.replaced.pop(number, None)      # the latest is the last
        if over: self.replaced[number] = over, None
        elif guessed and self.rule.replaced: self.replaced[number] = guessed, own

    def apply_inode(self, number, state, extents, frame, inodes):
        old = inodes.get(number)
        count, own = (old.count if old else 0), (1 if extents else 0)
        self.verdict.counts[number] = max(state.count, self.verdict.counts.get(number, 0))
        if self.rule.counts and state.count < count: return      # a slice of a checkpoint knew more
        if old and len(old.content) != state.stretches: old, count = None, 0
        content = list(old.content) if old else [None] * state.stretches
        lost, stamp = (old.lost, old.stamp) if old else ('', frame.stamp)
        if self.rule.counts and state.count > count + own:       # a lost frame described its content
            content, lost = [None] * state.stretches, self.hole or 'new'
        if own and (state.count > count or not self.rule.counts or self.rule.partial != 'restart'):
            stamp = frame.stamp
            for index, place in extents.items():
                content[index] = place and (place[0], self.ledger.get(place[0]), place[1])
        if None not in content: lost = ''
        inodes[number] = Known(state.kind, state.count, tuple(content), state.thumb, state.made, lost, stamp)
        self.gone.discard(number)

    # ---- Content ----

    def read_at(self, place):
        """Returns the record there, None or GARBAGE. A birth that no frame names decrypts nothing."""
        if place is None or place[1] is None: return None
        seen = self.view.get(('d', place[0], place[1]))
        return seen.cell(place[2]) if seen else None

    def opens(self, place): return self.read_at(place) not in (None, GARBAGE)

    def is_whole(self, known): return all(self.opens(place) for place in known.content)

    def is_certainly_damaged(self, place):
        """True if the missing part was written before the file was read, so the reader was not too early."""
        if place is None or place[1] is None or not self.rule.evidence: return False
        seen = self.view.get(('d', place[0], place[1]))
        return seen is not None and (seen.cell(place[2]) is GARBAGE
                                     or seen.cell(place[2]) is None and seen.sealed)

    def newest(self, number):
        for step in reversed(self.steps):
            if number in step.inodes: return step.inodes[number]
        return None

    def version(self, number):
        """Returns the shown version of an inode, and its state: 'whole', 'former', 'damage', 'aside' or 'unknown'."""
        newest = self.newest(number)
        if newest is None: return None, 'unknown'
        if self.is_whole(newest): return newest, 'whole'
        if newest.lost == 'old' or any(self.is_certainly_damaged(p) for p in newest.content):
            return newest, 'damage'
        for step in reversed(self.valid):
            known = step.inodes.get(number)
            if known and self.is_whole(known): return known, 'former'
        return newest, 'damage' if number in self.valid[0].inodes else 'aside'

    # ---- A power cut ----

    def is_power_cut(self):
        """True if a power cut may have left everything that is missing unwritten."""
        if not self.rule.power or self.head.boot == self.boot: return False
        barriers = [f.barrier for n, f in sorted(self.frames.items()) if f.barrier and n >= self.head.first]
        # Content is synced before the barrier is written that covers it; frames only with that barrier.
        self.proven = max([self.head.cut] + barriers[-2:-1])
        self.synced = max([self.head.cut] + barriers[-1:]) if self.rule.power == 'synced' else self.proven
        if any(hole.first <= self.proven and not hole.is_old for hole in self.verdict.holes): return False
        before = [step for step in self.steps if step.number <= self.synced]
        if not before: return False
        for known in before[-1].inodes.values():
            if known.stamp >= self.floor and not self.is_whole(known): return False
        if not self.rule.evidence: return True
        proven = {place[0] for frame in self.frames.values() if frame.number <= self.synced
                  for place in self.places(frame)}
        for frame in self.frames.values():
            if frame.number <= self.synced: continue
            for place in self.places(frame):
                if self.is_certainly_damaged(place): return False
                absent = ('d', place[0], place[1]) not in self.view
                if absent and place[0] in proven: return False     # its directory entry was on disk
        return True

    def places(self, frame):
        return [(item[3][0], self.ledger.get(item[3][0]), item[3][1]) for item in frame.items
                if item[0] == 'extents' and item[3]]

    def cut_behind_barrier(self):
        """Behind the barrier, history is the longest run of frames whose content all decrypts."""
        keep = []
        for step in self.steps:
            frame = self.frames.get(step.number)
            if frame and step.number > self.proven:
                expected = max(keep[-1].number if keep else 0, self.proven) + 1
                while expected in self.dead: expected += 1
                if step.number > expected: break
                if step.number > self.synced and not all(self.opens(p) for p in self.places(frame)): break
            keep.append(step)
        self.verdict.cut = len(self.steps) - len(keep)
        if not self.verdict.cut: return
        self.steps, self.verdict.end = keep, keep[-1].number
        self.verdict.holes = [hole for hole in self.verdict.holes if hole.first <= self.verdict.end]
        self.gone, self.replaced = set(), {}

    # ---- What is shown ----

    def settle(self):
        verdict, full = self.verdict, self.steps[-1]
        self.names = dict(full.names)
        self.shown = {}
        aside = self.set_aside_unstated() + self.set_aside_unfinished()
        self.put_back(aside)
        for number, names in aside:
            # A free name leads to the inode that was set aside, which cannot be read.
            if number in full.inodes:
                for name in names: self.names.setdefault(name, number)
        self.reach_directories()
        verdict.names = self.names
        for number in set(self.names.values()): self.show(number)
        if any(hole.is_old for hole in verdict.holes): verdict.damage.add(('frames', 0))

    def show(self, number):
        verdict = self.verdict
        known, how = self.how(number)
        verdict.known[number] = known
        if known.kind == 'dir':
            verdict.directories.add(number)
            return
        if how in ('whole', 'former'):
            verdict.readable.add(number)
            verdict.values[number] = tuple(self.read_at(place) for place in known.content)
        if how == 'former': verdict.former.add(number)
        if how == 'damage' or how == 'aside' and not self.rule.aside: verdict.damage.add(('content', number))
        thumb = self.newest(known.thumb) if known.thumb else None
        if thumb and self.is_whole(thumb):
            verdict.thumbs[number] = (self.read_at(thumb.content[0]), known.made)
            verdict.known[known.thumb] = thumb
        elif known.thumb: verdict.known[number] = known._replace(thumb=0, made=False)   # pending

    def how(self, number):
        if number not in self.shown: self.shown[number] = self.version(number)
        return self.shown[number]

    def take_names(self, number):
        taken = [name for name, i in self.names.items() if i == number]
        for name in taken: del self.names[name]
        return number, taken

    def set_aside_unstated(self):
        """Names that lead to what no frame states, behind a hole: dropped, or again what they led to."""
        living = self.steps[-1].inodes
        unstated = [self.take_names(i) for i in sorted(set(self.names.values())) if i not in living]
        for _, names in unstated:
            for name in names:
                for old in reversed(self.holders[name]):
                    if old in living and old not in self.names.values():
                        self.names[name] = old
                        break
        # Heirs that no state describes and that no name leads to: another file took their name later.
        known = {number for number, _ in unstated}.union(self.gone, *(step.inodes for step in self.steps))
        heirs = {new for over, _ in self.replaced.values() for new, _ in over}
        return [(number, names) for number, names in unstated if number not in self.gone] \
            + [(number, []) for number in sorted(heirs - known)]

    def set_aside_unfinished(self):
        """Step 4: files that were born behind the floor and were never whole since."""
        if not self.rule.aside: return []
        there = set(self.names.values())
        if self.verdict.holes:       # inodes that lost their name in a hole
            there |= {i for i, known in self.steps[-1].inodes.items() if known.kind == 'file' and i not in self.gone}
        numbers = [i for i in sorted(there) if self.how(i)[1] == 'aside']
        self.verdict.aside |= set(numbers)
        return [self.take_names(number) for number in numbers]

    def put_back(self, aside):
        """What was renamed over by what is set aside comes back, the one replaced last first: under the name at which
        it was replaced if its replacement has that, or nobody; else under another of its replacement; else in
        Recovered. Where the replacement is a guess it has its own name or none."""
        free = {}                      # inode -> names that it may take
        waiting = [(number, names, set()) for number, names in aside]
        while waiting:
            number, names, seen = waiting.pop()
            for old, (over, own) in self.replaced.items():
                if old in seen or number not in [new for new, _ in over]: continue
                seen.add(old)
                known, how = self.how(old)
                at = [name for new, name in over if new == number]
                if how in ('aside', 'unknown'):
                    if how == 'aside': self.verdict.aside.add(old)
                    waiting.append((old, names or at, seen))
                elif known.kind != 'thumb':
                    nobodys = [n for n in at if n not in self.steps[-1].names]
                    first = [n for n in names if n in at] + nobodys + [n for n in names if n not in at]
                    free.setdefault(old, []).extend(first if own is None else own)
        for old in reversed(self.replaced):
            if old not in free or old in self.names.values(): continue
            names = [n for n in free[old] if n not in self.names and self.is_directory(n[0])]
            self.names[names[0] if names else (RECOVERED, f'i{old}')] = old
            if not names: self.verdict.recovered.add(old)

    def is_directory(self, number):
        known = self.steps[-1].inodes.get(number)
        return known is not None and known.kind == 'dir'

    def reach_directories(self):
        """A directory has one name, the newest; what the root does not lead to goes to Recovered."""
        for number in [i for i in set(self.names.values()) if self.is_directory(i)]:
            names = sorted(name for name, i in self.names.items() if i == number)
            best = self.placed.get(number)
            for name in names:
                if name != (best if best in names else names[-1]): del self.names[name]
        if not self.verdict.holes and not self.verdict.aside: return
        inodes = self.steps[-1].inodes
        while True:
            reached, grown = {ROOT, RECOVERED}, True
            while grown:
                more = {i for n, i in self.names.items() if n[0] in reached and self.is_directory(i)}
                grown = not more <= reached
                reached |= more
            for name in list(self.names):
                if name[0] not in reached and not self.is_directory(name[0]): del self.names[name]
            used = set(self.names.values())
            lost = [i for i, known in inodes.items() if i not in (ROOT, RECOVERED) and i not in used
                    and known.kind not in ('thumb', 'left') and i not in self.verdict.aside and i not in self.gone]
            if not lost:
                circle = [n for n, i in self.names.items() if self.is_directory(i) and i not in reached]
                if not circle: return
                lost = [self.names.pop(min(circle))]
            for number in lost:
                self.names[RECOVERED, f'i{number}'] = number
                self.verdict.recovered.add(number)


def read(view, boot, rule=NEXT):
    return Reader(view, boot, rule).read()

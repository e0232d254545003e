"""Does random calls in a directory of a mount and in one of a tmpfs, and compares what every call returns.

    compare.py MOUNTED PLAIN SEED COUNT USERS

USERS are numbers separated by commas, each of whom acts in turn; only root can have others act. Every caller has the
group of the same number, and the last one is in the group of the first as well. Afterwards both trees must be equal:
kinds, modes, owners, links, sizes, contents, extended attributes, and the times that a caller set.
"""
import ctypes
import errno
import os
import random
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
NAMES = ("a", "b", "c", "d")
LIMIT = 4
XATTRS = ("user.one", "user.two")


def renameat2(old, new, flags):
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def write(path, flags, mode, data):
    descriptor = os.open(path, flags, mode)
    try:
        if flags & 3:
            return os.write(descriptor, data)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return "a directory"
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


def described(path):
    found = os.lstat(path)
    mode = found.st_mode
    # FUSE leaves set-group-id without the right to execute alone when a stranger writes; Linux's own file systems take
    # it away since 6.0.
    if stat.S_ISREG(mode) and not mode & stat.S_IXGRP:
        mode &= ~stat.S_ISGID
    # These bits mean nothing where nothing can be executed; albumfs keeps them when the owner changes.
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and not stat.S_ISLNK(mode):
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    # Nobody says how large a directory is.
    size = None if stat.S_ISDIR(found.st_mode) else found.st_size
    return oct(mode), found.st_uid, found.st_gid, found.st_nlink, size


def with_umask(mask, call, *words):
    os.umask(mask)
    try:
        return call(*words)
    finally:
        os.umask(0)


def set_times(path, times, follow):
    os.utime(path, ns=times, follow_symlinks=follow) if times else os.utime(path, follow_symlinks=follow)
    if times:
        found = os.stat(path, follow_symlinks=follow)
        return found.st_atime_ns, found.st_mtime_ns
    return None


CALLS = {
    "open": write, "mkdir": os.mkdir, "rmdir": os.rmdir, "unlink": os.unlink, "rename": os.rename,
    "renameat2": renameat2, "link": lambda old, new: os.link(old, new, follow_symlinks=False), "symlink": os.symlink,
    "readlink": os.readlink, "chmod": os.chmod, "chown": os.chown, "lchown": os.lchown, "utime": set_times,
    "truncate": os.truncate, "mknod": os.mknod, "access": lambda path, mode: os.access(path, mode),
    "list": lambda path: sorted(os.listdir(path)), "stat": described, "setxattr": os.setxattr,
    "getxattr": os.getxattr, "removexattr": os.removexattr,
}
# The arguments that are paths below the root.
PATHS = {"rename": 2, "renameat2": 2, "link": 2}


def perform(root, name, mask, words):
    """The result of a call, or the name of its error."""
    places = range(PATHS.get(name, 1)) if name != "symlink" else (1,)
    words = [os.path.join(root, word) if place in places else word for place, word in enumerate(words)]
    try:
        return with_umask(mask, CALLS[name], *words)
    except OSError as error:
        return errno.errorcode[error.errno]


class Chooser:
    """Chooses the next call."""

    def __init__(self, seed, users):
        self.random = random.Random(seed)
        self.users = users

    def path(self):
        count = self.random.choices(range(1, LIMIT + 1), (6, 6, 1, 1))[0]
        return "/".join(self.random.choice(NAMES) for _ in range(count))

    def mode(self):
        usual = self.random.choice((0o777, 0o777, 0o755, 0o644, 0o700, 0o660, 0o770, 0o000, 0o555))
        return usual | self.random.choices((0, 0o1000, 0o2000, 0o4000, 0o6000, 0o7000), (8, 1, 1, 1, 1, 1))[0]

    def owners(self):
        """A user and a group. A stranger who asks for no change at all gets no error from FUSE."""
        both = self.random.choice([-1, *self.users]), self.random.choice([-1, *self.users])
        return both if both != (-1, -1) else self.owners()

    def call(self):
        choose, path = self.random.choice, self.path()
        flags = choose((os.O_RDONLY, os.O_WRONLY, os.O_RDWR)) | choose((0, os.O_CREAT, os.O_CREAT | os.O_EXCL)) \
            | choose((0, 0, os.O_TRUNC, os.O_APPEND, os.O_DIRECTORY, os.O_NOFOLLOW)) | os.O_NONBLOCK
        if flags & os.O_CREAT:
            # Linux itself changed what both together mean.
            flags &= ~os.O_DIRECTORY
        times = choose((None, (1_000_000_000_000_000_007, 2_000_000_000_000_000_009), (-5_000_000_000, 3)))
        return choose((
            ("open", (path, flags, self.mode(), self.random.randbytes(self.random.randrange(5000)))),
            ("open", (path, flags | os.O_CREAT, self.mode(), b"some bytes")),
            ("mkdir", (path, self.mode())), ("mkdir", (path, 0o777)), ("rmdir", (path,)), ("unlink", (path,)),
            ("rename", (path, self.path())), ("rename", (path, self.path())),
            ("renameat2", (path, self.path(), choose((1, 2, 3)))),
            ("link", (path, self.path())), ("symlink", (choose(NAMES + ("./b", "a/c", "missing")), path)),
            ("readlink", (path,)), ("chmod", (path, self.mode())), ("chmod", (path, self.mode())),
            ("chown", (path, *self.owners())), ("lchown", (path, *self.owners())),
            ("utime", (path, times, choose((True, False)))), ("truncate", (path, self.random.randrange(9000))),
            ("mknod", (path, choose((stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK)) | self.mode())),
            ("access", (path, self.random.randrange(8))), ("list", (path,)), ("stat", (path,)), ("stat", (path,)),
            ("setxattr", (path, choose(XATTRS), self.random.randbytes(9), choose((0, 0, 1, 2)))),
            ("getxattr", (path, choose(XATTRS))), ("removexattr", (path, choose(XATTRS))),
        ))


class Person:
    """A process of one user, which does the calls."""

    def __init__(self, user, groups):
        self.requests, theirs = os.pipe()[::-1]
        replies, mine = os.pipe()
        if os.fork() == 0:
            if os.getuid() == 0:
                os.setgroups(groups)
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
            with os.fdopen(theirs, "r") as incoming, os.fdopen(mine, "w") as outgoing:
                os.close(self.requests)
                for line in incoming:
                    print(repr(perform(*eval(line))), file=outgoing, flush=True)
            os._exit(0)
        os.close(theirs), os.close(mine)
        self.outgoing, self.incoming = os.fdopen(self.requests, "w"), os.fdopen(replies)

    def perform(self, *words):
        print(repr(words), file=self.outgoing, flush=True)
        return self.incoming.readline()


def tree(root):
    """Everything below a directory, as the one who compares sees it."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            try:
                kind, *rest = described(path)
            except PermissionError:
                found[os.path.relpath(path, root)] = None
                continue
            content = None
            if stat.S_ISLNK(int(kind, 8)):
                content = os.readlink(path)
            elif stat.S_ISREG(int(kind, 8)) and os.access(path, os.R_OK):
                with open(path, "rb") as file:
                    content = file.read()
            names = os.listxattr(path, follow_symlinks=False) if os.access(path, os.R_OK) else []
            values = {name: os.getxattr(path, name, follow_symlinks=False) for name in sorted(names)}
            found[os.path.relpath(path, root)] = kind, rest, content, values
    return found


def main():
    mounted, plain = sys.argv[1:3]
    seed, count = int(sys.argv[3]), int(sys.argv[4])
    users = [int(word) for word in sys.argv[5].split(",")]
    os.umask(0)
    chooser = Chooser(seed, users)
    last = users[-1]
    people = {user: Person(user, [users[0]] if user == last and user != users[0] else []) for user in users}
    history, failures = [], 0
    for step in range(count):
        user, mask = chooser.random.choice(users), chooser.random.choice((0, 0, 0o022, 0o077))
        name, words = chooser.call()
        results = [people[user].perform(root, name, mask, words) for root in (mounted, plain)]
        history.append((user, oct(mask), name, words, results[1].strip()))
        if results[0] != results[1]:
            for entry in history[-int(os.environ.get("HISTORY", 25)):]:
                print(str(entry)[:300])
            sys.exit(f"seed {seed}, step {step}: the mount returned {results[0].strip()[:300]}")
        failures += results[0].startswith("'E")
        if step % 500 == 499 or step == count - 1:
            both = tree(mounted), tree(plain)
            if both[0] != both[1]:
                for path in sorted(both[0].keys() | both[1].keys()):
                    if both[0].get(path) != both[1].get(path):
                        print(path, both[0].get(path), both[1].get(path))
                sys.exit(f"seed {seed}, step {step}: the trees differ")
    print(f"seed {seed}: {count} calls, {failures} of them errors, {len(both[0])} names in the end")


main()

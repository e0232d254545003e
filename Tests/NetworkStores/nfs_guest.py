"""The part of nfs.py that runs inside the kernel that is a process. It has no network but its own."""
import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Waiting"))
from waiting import be_slow, eventually

LEASE = 10
ALBUMFS = sys.argv[1] + "/albumfs"
SEED = int(sys.argv[2])
EXPORT = Path("/mnt/export")


def run(*words: str) -> None:
    subprocess.run(words, check=True)


class Network:
    """The way from a machine to the server."""

    def __init__(self, number: int) -> None:
        self.number, self.link, net = number, f"v{number}", f"c{number}"
        run("ip", "netns", "add", net)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "e0", "netns", net)
        run("ip", "addr", "add", f"10.9.{number}.1/24", "dev", self.link)
        run("ip", "link", "set", self.link, "up")
        for words in (["addr", "add", f"10.9.{number}.2/24", "dev", "e0"], ["link", "set", "e0", "up"],
                      ["link", "set", "lo", "up"]):
            run("ip", "-n", net, *words)


class Client:
    """A machine: a network, a host name and mounts of its own."""

    def __init__(self, net: Network) -> None:
        self.link, self.number = net.link, net.number
        number = net.number
        self.shell = subprocess.Popen(
            ["ip", "netns", "exec", f"c{number}", "unshare", "--uts", "--mount", "--propagation", "private", "bash"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        home = f"/mnt/home{number}"
        self.must(f"hostname client{number}; mkdir -p {home} /run/n /run/m; mount -t tmpfs t /run/m; "
                  f"mkdir /run/m/net /run/m/space /run/m/run; export HOME={home} XDG_RUNTIME_DIR=/run/m/run")
        # The server may still start.
        mount = f"mount -t nfs4 -o vers=4.2,nosharecache 10.9.{number}.1:/ /run/m/net"
        eventually(lambda: self.do(mount)[0] == 0)

    def begin(self, command: str) -> None:
        print(f"client {self.number}: {command}", flush=True)
        self.shell.stdin.write(f"{{ {command}\n}} < /dev/null\necho __END $?\n")
        self.shell.stdin.flush()

    def end(self) -> tuple[int, str]:
        lines = []
        for line in self.shell.stdout:
            if line.startswith("__END"):
                code = int(line.split()[1])
                print(f"  exit {code}: {''.join(lines)[-1500:]}", flush=True)
                return code, "".join(lines)
            lines.append(line)
        raise SystemExit(f"the shell of client {self.number} ended: {''.join(lines)}")

    def do(self, command: str) -> tuple[int, str]:
        self.begin(command)
        return self.end()

    def must(self, command: str) -> str:
        code, text = self.do(command)
        require(code == 0, f"client {self.number}: {command}: exit {code}: {text}")
        return text

    def is_linked(self, up: bool) -> None:
        run("ip", "link", "set", self.link, "up" if up else "down")

    def mount(self, *options: str) -> tuple[int, str]:
        return self.do(f"{ALBUMFS} mount /run/m/net/store /run/m/space --password-file /mnt/password -q "
                       + " ".join(options))

    def writing(self, album: str, count: int) -> str:
        """A command that writes files, syncs each, and tells which are stored."""
        return (f"mkdir /run/m/space/{album}; for n in $(seq {count}); do f=/run/m/space/{album}/Photo/$n.bin; "
                f"{{ cat /mnt/random && printf %s {album}$n; }} > $f && sync $f && echo stored {album}/$n; done")

    def store(self, album: str, count: int) -> set[str]:
        return stored_by(self.do(self.writing(album, count))[1])

    def expect(self, stored: set[str]) -> None:
        """Requires that each stored file is there, whole."""
        wrong = self.do(
            f"for one in {' '.join(sorted(stored))}; do album=${{one%/*}}; n=${{one#*/}}; "
            "{ cat /mnt/random; printf %s $album$n; } | cmp - /run/m/space/$album/Photo/$n.bin "
            "|| echo wrong $one; done")[1]
        require("wrong" not in wrong, f"files were stored, and client {self.number} shows otherwise: {wrong}")


def stored_by(text: str) -> set[str]:
    return {line.split()[1] for line in text.splitlines() if line.startswith("stored ")}


def require(holds: bool, what: str) -> None:
    if not holds:
        print(f"error: {what}", flush=True)
        sys.exit(1)


def serve() -> None:
    """Starts the server; leases are short."""
    Path("/proc/fs/nfsd/nfsv4gracetime").write_text(str(LEASE))
    Path("/proc/fs/nfsd/nfsv4leasetime").write_text(str(LEASE))
    run("rpc.nfsd", "-N", "3", "-V", "4", "-V", "4.1", "-V", "4.2", "4")


def prepare() -> None:
    run("mount", "-t", "tmpfs", "t", "/var/lib/nfs")
    for name in ("sm", "sm.bak", "v4recovery", "rpc_pipefs"):
        Path(f"/var/lib/nfs/{name}").mkdir()
    for name in ("etab", "rmtab", "state", "xtab"):
        Path(f"/var/lib/nfs/{name}").touch()
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    run("exportfs", "-i", "-o", "rw,no_root_squash,sync,fsid=0,no_subtree_check,insecure", f"*:{EXPORT}")
    subprocess.Popen(["rpc.mountd", "-N", "3", "--no-udp", "-F"])


def main() -> None:
    run("ip", "link", "set", "lo", "up")
    EXPORT.mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=700m", "t", str(EXPORT))
    prepare()
    Path("/mnt/password").write_text("a password of two machines\n")
    Path("/mnt/random").write_bytes(os.urandom(400000))
    nets = [Network(1), Network(2)]
    serve()
    one, two = (Client(net) for net in nets)

    one.must(f"{ALBUMFS} init /run/m/net/store --chaff 0 --segment-size 1M "
             "--password-file /mnt/password -q")
    require(one.mount()[0] == 0, "the first machine mounts")
    stored = one.store("first", 5)
    require(len(stored) == 5, "the first machine stores")

    code, text = two.mount()
    require(code != 0 and text.strip() != "", "a second writer is refused, with the reason")
    require(two.mount("--read-only")[0] == 0, "a second machine reads")
    two.expect(stored)
    more = one.store("second", 2)
    eventually(lambda: two.do("test -s /run/m/space/second/Photo/2.bin")[0] == 0)
    two.expect(more)
    two.must(f"{ALBUMFS} umount /run/m/space -q")
    stored |= more

    print("== the server is killed and started again while one copies", flush=True)
    one.begin(one.writing("third", 30))
    run("rpc.nfsd", "0")
    serve()
    saved = stored_by(one.end()[1])
    require(len(saved) == 30, f"whoever copies while the server starts again waits: {len(saved)} of 30 files")
    stored |= saved

    print("== the first machine is off the network for longer than its lock lives", flush=True)
    one.is_linked(False)
    eventually(lambda: two.mount()[0] == 0)
    two.expect(stored)
    others = two.store("other", 5)
    require(len(others) == 5, "the second machine stores")
    stored |= others

    print("== the first machine comes back", flush=True)
    one.is_linked(True)
    late = one.store("late", 5)
    require(not late, f"a machine that lost its lock stores nothing more, and said so of {sorted(late)}")
    text = one.do(f"{ALBUMFS} status /run/m/space")[1]
    print(text, flush=True)
    require("Writable: yes" not in " ".join(text.split()), "it says that it does not write")
    one.do(f"timeout 200 {ALBUMFS} umount /run/m/space")
    two.expect(stored)
    stored |= two.store("last", 2)
    two.must(f"{ALBUMFS} umount /run/m/space -q")

    require(one.mount()[0] == 0, "the first machine mounts again")
    one.expect(stored)
    one.must(f"{ALBUMFS} umount /run/m/space -q")
    check = f"{ALBUMFS} check /run/m/net/store --password-file /mnt/password -q"
    require("late" in one.do(check)[1], "check names what the first machine had not finished")
    require(one.do(f"{check} --repair")[0] in (0, 26), "a repair brings that back")
    one.must(check)

    chance = random.Random(SEED)
    print(f"== a daemon is killed while one copies, at random moments; seed {SEED}", flush=True)
    for number in range(8):
        one, two = two, one
        require(one.mount()[0] == 0, "a machine mounts after a kill on the other one")
        one.expect(stored)
        one.begin(one.writing(f"kill{number}", 12))
        be_slow(chance.uniform(0, 4))
        run("pkill", "-KILL", "-f", "albumfs daemon")
        stored |= stored_by(one.end()[1])
        one.do("umount -l /run/m/space")
    require(two.mount()[0] == 0, "the other machine mounts")
    two.expect(stored)
    two.must(f"{ALBUMFS} umount /run/m/space -q")
    require(one.do(check)[0] in (0, 26), "check ends")
    print(f"{len(stored)} files were stored by two machines and are there", flush=True)


main()

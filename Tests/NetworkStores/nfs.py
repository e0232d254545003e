#!/usr/bin/env python3
"""Two machines and one NFSv4.2 server with a store. The kernel that runs this machine may know no NFS, so all three
run in a Linux kernel that is a process (user-mode-linux); each client has a network and mounts of its own.

    nfs.py --programs DIRECTORY [--seed N]     DIRECTORY has albumfs

Promises:
 - One machine writes; another one is refused with the reason, and reads what the writer has stored.
 - A machine that was off the network for longer than the server keeps its lock (a laptop that slept) stores nothing
   more once another machine writes: no program is told that a file is stored. What was stored before stays.
 - A server that is killed and started again costs nothing: whoever copies meanwhile waits.
 - Files that any machine stored are there at the next mount, whole; and check finds nothing wrong.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 1800
GUEST = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/mnt
mount -t proc proc /proc; mount -t sysfs s /sys; mount -t devtmpfs d /dev; mount -t tmpfs t /run
mount -t tmpfs t /mnt
exec > /dev/console 2>&1 < /dev/null
for name in fuse veth nfs nfsv4 nfsd; do
  modprobe -d {scratch} -S "$(uname -r)" --show-depends "$name" | while read -r verb file rest; do
    [ "$verb" != insmod ] || insmod "$file"
  done
done
python3 -B {guest} {programs} {seed}
code=$?; dmesg | tail -30; echo "guest ended: $code"
echo o > /proc/sysrq-trigger
exec tail -f /dev/null
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True, type=Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    if not shutil.which("linux.uml"):
        print("user-mode-linux is missing: scripts/dependencies --tests --long", file=sys.stderr)
        return 1
    scratch = Path(tempfile.mkdtemp(prefix="albumfs-nfs-", dir="/var/tmp"))
    try:
        modules = shutil.copytree("/usr/lib/uml/modules", scratch / "lib/modules")
        for version in modules.iterdir():
            subprocess.run(["/sbin/depmod", "-b", scratch, version.name], check=True)
        start = scratch / "init"
        start.write_text(GUEST.format(
            scratch=scratch, guest=HERE / "nfs_guest.py", programs=options.programs.resolve(), seed=options.seed))
        start.chmod(0o755)
        words = ["linux.uml", "mem=2500M", "root=/dev/root", "rootfstype=hostfs", "hostfs=/", "ro", "quiet",
                 f"init={start}", f"uml_dir={scratch}", "con=null", "con0=null,fd:1", "ssl=null"]
        ran = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=LIMIT, text=True, errors="replace", env={**os.environ, "TMPDIR": "/dev/shm"})
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(ran.stdout)
    return 0 if "guest ended: 0" in ran.stdout else 1


if __name__ == "__main__":
    sys.exit(main())

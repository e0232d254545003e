"""Runs the tests of object storages over the gateway of a real Ceph (Tests/Ceph/ceph.py).

    rgw.py --programs DIR [--filter REGEX] [--serve]

--serve runs no test, but prints the address of the gateway and waits for the end of its input.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parents[1] / "Ceph"))

from ceph import Missing, running

# Those that take ALBUMFS_OBJECT_SERVER, and its user.
SUITES = (r"^(ObjectStoreTests\.(ObjectStoreTests|S3ServerTests)"
          r"|MountTests\.(BucketMountTests|WritableBucketTests|CopyTests))/")
KEY, SECRET = "albumkey", "albumsecret"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path)
    parser.add_argument("--filter", default=SUITES)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if not options.serve and not options.programs:
        parser.error("--programs is missing")
    try:
        with running() as ceph:
            ceph.start_storage()
            ceph.start_gateway(KEY, SECRET)
            if options.serve:
                print(ceph.authority, flush=True)
                sys.stdin.read()
                return 0
            words = [f"{options.programs}/albumfsPackageTests.xctest", "--testing-library", "swift-testing",
                     "--no-parallel", "--filter", options.filter]
            return subprocess.run(words, env=dict(os.environ, ALBUMFS_OBJECT_SERVER=ceph.authority)).returncode
    except Missing as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

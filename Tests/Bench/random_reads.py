"""Reads 4 KiB at random places of a file, prints the seconds, then compares what it read with the original.

    random_reads.py FILE ORIGINAL COUNT
"""
import os
import random
import sys
import time

BLOCK = 4096


def main() -> None:
    path, original, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    blocks = os.path.getsize(original) // BLOCK
    choice = random.Random(4)
    places = [choice.randrange(blocks) * BLOCK for _ in range(count)]
    start = time.perf_counter()
    file = os.open(path, os.O_RDONLY)
    found = [os.pread(file, BLOCK, place) for place in places]
    seconds = time.perf_counter() - start
    os.close(file)
    with open(original, "rb") as source:
        for place, data in zip(places, found):
            source.seek(place)
            if source.read(BLOCK) != data:
                sys.exit(f"{path} has other bytes at {place}")
    print(seconds)


main()

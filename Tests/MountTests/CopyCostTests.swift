import AlbumTestSupport
import Glibc
import Testing

/// What a photo costs that is copied into a plain folder, in counts that no machine changes: the bytes that the
/// daemon hands to the kernel, and its calls of read(2), write(2) and their kind.
@Suite(.enabled(if: geteuid() == 0, "only root sees the counts of a process that keeps secrets"))
struct CopyCostTests {
  @Test func aCopiedPhotoCostsFewCallsAndIsNotWrittenManyTimes() throws {
    try MountedStore.use(mountOptions: ["--transport", "device"]) { mounted in
      let counts = try mounted.sh(
        """
        mkdir $W/photos $M/folder
        for number in $(seq 40); do head -c 1000000 /dev/urandom >$W/photos/$number.bin; done
        daemon=$(albumfs status --json $M | grep '"pid"' | tr -dc 0-9)
        count() { awk -v what="$1:" '$1 == what { print $2 }' /proc/$daemon/io; }
        albumfs sync -q $M
        before="$(count wchar) $(count syscr) $(count syscw)"
        cp $W/photos/* $M/folder
        albumfs sync -q $M
        echo $before $(count wchar) $(count syscr) $(count syscw)
        """
      ).split(separator: " ").compactMap { Int($0) }
      try #require(counts.count == 6)
      // Measured: 2.13 times the bytes, 12 and 13 calls; on a busy machine 14 and 18.
      #expect(counts[3] - counts[0] < 40 * 1_000_000 * 24 / 10)
      #expect(counts[4] - counts[1] < 40 * 22)
      #expect(counts[5] - counts[2] < 40 * 24)
    }
  }
}

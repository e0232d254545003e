import Posix
import Testing

/// What a file system reports of itself: CephFS, s3fs and sshfs report such numbers.
struct ReportedNumbersTests {
  private static let numbers: [UInt] = [
    0, 1, 511, 4096, 1 << 31, 1 << 32, 1 << 52, 1 << 62, 1 << 63, .max - 4095, .max - 1, .max,
  ]

  @Test func noNumberTrapsOrLeavesTheLimits() {
    for unit in Self.numbers {
      for blocks in Self.numbers {
        let room = StorageCapacity(
          f_bsize: unit, f_frsize: blocks, f_blocks: blocks, f_bfree: unit, f_bavail: blocks,
          f_files: blocks, f_ffree: unit)
        for bytes in [room.totalBytes, room.freeBytes, room.availableBytes] {
          #expect(0...1 << 60 ~= bytes)
        }
        #expect(room.totalFiles >= 0 && room.freeFiles >= 0 && room.blockSize >= 1)
      }
    }
  }

  @Test func aNumberWithoutALimitIsMuchRoomAndANegativeOneNone() {
    func available(_ blocks: UInt) -> Int64 {
      StorageCapacity(
        f_bsize: 4096, f_frsize: 0, f_blocks: 100, f_bfree: 50, f_bavail: blocks, f_files: .max,
        f_ffree: .max
      ).availableBytes
    }
    #expect(available(.max) == 1 << 60)
    #expect(available(UInt(bitPattern: -7)) == 0)
    #expect(available(10) == 40_960)
  }
}

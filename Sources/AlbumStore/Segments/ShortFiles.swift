import AlbumFormat
import AlbumModel
import AlbumSecrets
import Logging
import Posix

/// Fills up files that a power cut left short with random bytes, whosever they are: a short one tells
/// that it is a space's own, since chaff is written before it gets its name known. Touches no byte that
/// exists, and no file that has another name: such a file is not the store's alone.
///
/// Whoever may write to the store may put thousands of empty files there, so what one session does for
/// them is bounded. A power cut leaves a few at most, which all fit:
///
/// - in bytes: `segmentLimit` segments, and a hundredth of what is free on the disk;
/// - in time: one file a round of the housekeeping thread, which no barrier and no user waits for, and
///   only while no frame waits for its barrier;
/// - the rest stays short. `albumfs check` tells how many there are.
package struct ShortFiles {
  /// So many are filled up in one session at most.
  package static let segmentLimit = 16
  /// What may be filled up of the room on the disk.
  static let shareOfFreeRoom: Int64 = 100
  /// Files that are looked at in one round.
  static let filesPerRound = 256
  /// What is younger, in seconds, another albumfs may be writing.
  static let minimumAge: Int64 = 600

  /// Files that were not looked at yet; nil: this session has written nothing yet, and so leaves alone
  /// what another albumfs may be writing.
  private var unexamined: [SegmentName]?
  private var filled = 0
  /// Bytes that this session may still write.
  private var allowance: Int64 = 0

  /// False before the first round.
  var isBegun: Bool { unexamined != nil }

  /// True while files are left to look at.
  var hasUnexamined: Bool { unexamined.map { !$0.isEmpty } ?? false }

  /// Looks at the next files, and fills up one of them at most, and none while somebody `isBusy`.
  mutating func round(
    _ files: SegmentFiles, _ room: DiskRoom, _ logger: Logger, isBusy: () -> Bool
  ) throws(StoreError) {
    if unexamined == nil {
      // In no order that says anything.
      unexamined = try files.list().names.shuffled()
      allowance = try room.capacity().availableBytes / ShortFiles.shareOfFreeRoom
    }
    for _ in 0..<ShortFiles.filesPerRound {
      guard let name = unexamined?.popLast() else { return }
      let path = SegmentPath.path(of: name)
      do throws(Errno) {
        guard let size = try shortSize(path, files) else { continue }
        let missing = files.segmentSize - size
        if filled == ShortFiles.segmentLimit || Int64(missing) > allowance {
          return giveUp(logger)
        }
        if isBusy() {
          unexamined?.append(name)
          return
        }
        filled += 1
        allowance -= Int64(missing)
        try fill(path, from: size, files)
        return
      } catch {
        // One that is gone meanwhile was not needed any more; what is no file is told by a check.
        if error == .noEntry || error.isMisplaced { continue }
        logger.warning("\(StoreError(writing: path, error))")
        return
      }
    }
  }

  private mutating func giveUp(_ logger: Logger) {
    unexamined = []
    logger.notice(
      "the store holds more short files than a power cut leaves; the rest stays as it is")
  }

  /// How long a file is that is to be filled up; nil: it is not.
  private func shortSize(_ path: String, _ files: SegmentFiles) throws(Errno) -> Int? {
    let file = try files.directory.open(path, .read)
    let size = Int(try file.size())
    if size >= files.segmentSize { return nil }
    // Another name of it may be in a backup that shares files with the store, or outside of any.
    if try file.hasOtherNames() { return nil }
    let modified = try file.modificationTime()
    return modified > SystemClock.wallSeconds() - ShortFiles.minimumAge ? nil : size
  }

  private func fill(_ path: String, from size: Int, _ files: SegmentFiles) throws(Errno) {
    let image = SegmentImage(byteCount: files.segmentSize)
    let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: image.bytes[size...])
    unsafe RandomFill.fill(tail)
    let file = try files.directory.open(path, .readWrite)
    try unsafe file.write(UnsafeRawBufferPointer(tail), at: Int64(size))
    image.used = try unsafe file.read(into: image.bytes, at: 0)
    if image.used < files.segmentSize { return }
    let checksum = unsafe SegmentChecksum(UnsafeRawBufferPointer(image.bytes))
    try file.setModificationTime(seconds: checksum.time)
  }
}

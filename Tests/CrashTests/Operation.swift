import AlbumTestSupport

/// One operation of a workload. Numbers are bytes. Each writing operation writes bytes that no other
/// operation writes.
enum Operation: Hashable, Sendable {
  /// Creates and closes a file.
  case create(String)
  /// Writes the file anew, as `cat >` does.
  case write(String, Int)
  case append(String, Int)
  case overwrite(String, at: Int, Int)
  case truncate(String, to: Int)
  /// fallocate with FALLOC_FL_ZERO_RANGE, which also makes a file longer.
  case allocate(String, Range<Int>)
  case rename(String, String)
  /// Saves as editors do: writes and closes a temporary file, then renames it over the file.
  case replace(String, Int)
  case exchange(String, String)
  case link(String, String)
  case unlink(String)
  case makeDirectory(String)
  case removeDirectory(String)
  case setAttribute(String, Int)
  /// Appends, and leaves the file open.
  case leaveOpen(String, Int)
  case closeAll
  case syncFile(String)
  case syncDirectory(String)
  case barrier
  /// Brings everything to the bucket.
  case send
  /// Makes the thumbnails that are due.
  case thumbnails
  case checkpoint
  case compaction
  /// A round of background compaction.
  case sweep
  case addSpace
  case changePassword
  /// The process is killed, and another mounts.
  case kill
  case remount

  /// Every kind of operation, with few names: photos and files in the root, a plain directory, an album. The
  /// space refuses operations on missing files, as the plain model says.
  static let all: [Operation] = [
    .create("c"), .write("A/Photo/y", 1200), .append("a", 700), .overwrite("a", at: 300, 600),
    .truncate("a", to: 100), .allocate("a", 200..<2200), .rename("a", "c"),
    .rename("A/Photo/x", "A/Photo/z"), .rename("b", "A/Photo/x"), .rename("A", "D"),
    .replace("a", 900), .exchange("a", "A/Photo/x"), .link("a", ".d/l"), .unlink("a"),
    .unlink("A/Photo/x"), .makeDirectory("B"), .removeDirectory(".e"), .setAttribute("a", 300),
    .leaveOpen("b", 800), .syncFile("b"), .syncDirectory(""), .barrier, .thumbnails, .checkpoint,
    .compaction, .sweep, .addSpace, .changePassword, .kill, .remount,
  ]

  /// Operations that may run within another call's sync, because they take no barrier.
  static let interrupting: [Operation] = all.filter { operation in
    switch operation {
    case .syncFile, .syncDirectory, .barrier, .checkpoint, .compaction, .sweep, .addSpace,
      .changePassword, .kill, .remount:
      false
    default: true
    }
  }

  /// Further operations that may run while a slow disk takes a checkpoint, for which no caller waits.
  static let besideCheckpoint: [Operation] = [.syncFile("b"), .barrier, .compaction, .sweep]

  /// Operations that sync, and during which others may run.
  static let interrupted: [Operation] = [.syncFile("b"), .barrier, .checkpoint, .compaction]

  /// The operations that prepare every workload: two files, an album with a photo and its thumbnail, two
  /// plain directories.
  static let preparation: [Operation] = [
    .makeDirectory("A"), .makeDirectory(".d"), .makeDirectory(".e"), .write("a", 1500),
    .write("b", 900), .write("A/Photo/x", 2000), .thumbnails, .remount,
  ]

  /// Any operation, over more names.
  static func random(_ random: inout SeededRandom) -> Operation {
    let files = ["a", "b", "c", ".d/a", ".d/b", "A/Photo/x", "A/Photo/y", "A/z", "B/Photo/x"]
    let folders = ["A", "B", ".d", ".e", ".d/f"]
    func file() -> String { files.randomElement(using: &random) ?? "a" }
    func folder() -> String { folders.randomElement(using: &random) ?? "A" }
    func size(_ limit: Int) -> Int { Int.random(in: 1...limit, using: &random) }
    switch Int.random(in: 0..<34, using: &random) {
    case 0: return .create(file())
    case 1...5: return .write(file(), size(4000))
    case 6, 7: return .append(file(), size(1500))
    case 8, 9: return .overwrite(file(), at: size(2000), size(1500))
    case 10: return .truncate(file(), to: size(2000))
    case 11:
      let start = size(1000)
      return .allocate(file(), start..<start + size(2000))
    case 12, 13: return .rename(file(), file())
    case 14: return .replace(file(), size(3000))
    case 15: return .exchange(file(), file())
    case 16: return .link(file(), file())
    case 17, 18: return .unlink(file())
    case 19, 20: return .makeDirectory(folder())
    case 21: return .removeDirectory(folder())
    case 22: return .setAttribute(file(), size(300))
    case 23: return .leaveOpen(file(), size(900))
    case 24: return .closeAll
    case 25: return .syncFile(file())
    case 26: return .syncDirectory(folder())
    case 27: return .barrier
    case 28: return .thumbnails
    case 29: return .checkpoint
    case 30: return .compaction
    case 31: return .sweep
    case 32: return .kill
    default: return .remount
    }
  }
}

package import Posix

/// Opens the files that a search compares.
package protocol DuplicateSource {
  /// nil if the file cannot be opened; then it equals no other.
  func open(_ file: UnitFile, in folder: Int) -> FolderFile?
  /// True if nobody waits for the result any more.
  var isStopped: Bool { get }
  /// So many files of that number are compared.
  func isAt(_ done: Int, of total: Int)
}

/// Which files hold the same bytes. It reads only files of which another one has the size: a part of each
/// first, and those whole whose parts are equal.
struct FileContents {
  /// Equal numbers stand for equal bytes. By inode.
  private(set) var numbers: [UInt64: Int] = [:]
  private var count = 0

  private struct Item {
    var file: UnitFile
    var folder: Int
  }

  /// The bytes that are read of the beginning and of the end of a file.
  private static let part = 4096

  /// The number of a file that was added.
  func number(of file: UnitFile) -> Int? { numbers[file.inode] }

  mutating func add(
    _ files: [(file: UnitFile, folder: Int)], from source: some DuplicateSource
  ) {
    var items: [Item] = []
    var known = Set(numbers.keys)
    for (file, folder) in files where known.insert(file.inode).inserted {
      items.append(Item(file: file, folder: folder))
    }
    let bySize = Dictionary(grouping: items) { $0.file.size }
    let total = bySize.values.lazy.map { $0.count > 1 ? $0.count : 0 }.reduce(0, +)
    var done = 0
    for same in bySize.values where !source.isStopped {
      if same.count == 1 {
        numbers[same[0].file.inode] = next()
        continue
      }
      addEqualSizes(same, from: source) {
        done += 1
        source.isAt(done, of: total)
      }
    }
  }

  private mutating func addEqualSizes(
    _ items: [Item], from source: some DuplicateSource, _ advance: () -> Void
  ) {
    var firsts: [[UInt8]: [Item]] = [:]
    for item in items where !source.isStopped {
      defer { advance() }
      guard let opened = source.open(item.file, in: item.folder),
        let part = FileContents.part(of: opened, item.file.size)
      else {
        numbers[item.file.inode] = next()
        continue
      }
      let same = firsts[part]?.first { first in
        FileContents.isEqual(opened, to: first, from: source)
      }
      if same == nil { firsts[part, default: []].append(item) }
      numbers[item.file.inode] = same.flatMap { numbers[$0.file.inode] } ?? next()
    }
  }

  private mutating func next() -> Int {
    count += 1
    return count
  }

  /// nil if the file cannot be read, or has another size by now.
  private static func part(of file: FolderFile, _ size: Int64) -> [UInt8]? {
    guard file.entry.size == size, let start = try? file.bytes(part, at: 0),
      let end = try? file.bytes(part, at: max(0, size - Int64(part)))
    else { return nil }
    return start + end
  }

  private static func isEqual(
    _ file: FolderFile, to item: Item, from source: some DuplicateSource
  ) -> Bool {
    guard let other = source.open(item.file, in: item.folder) else { return false }
    return (try? file.hasSameBytes(as: other) { source.isStopped }) ?? false
  }
}

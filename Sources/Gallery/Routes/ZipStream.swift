import AlbumModel
import PhotoGroups
import Posix

/// The zip file of some photos as a stream. Each call reads a bounded piece of one photo, and only when the
/// client has taken the piece before.
///
/// @unchecked because one call follows the other.
final class ZipStream: @unchecked Sendable {
  struct Item: Sendable {
    /// In the zip file.
    var path: String
    var photo: UInt64
  }

  private let space: OpenSpace
  private var items: ArraySlice<Item>
  private let zip: ZipArchive
  private var file: FolderFile?
  private var offset: Int64 = 0
  private var rest: Int64 = 0
  private var isOver = false

  private static let piece = 1 << 18

  init(_ space: OpenSpace, _ items: [Item]) throws {
    self.space = space
    self.items = items[...]
    zip = try ZipArchive()
  }

  /// The next bytes; nil at the end.
  func next() throws -> [UInt8]? {
    var made: [UInt8] = []
    while made.isEmpty, !isOver {
      if file == nil, !(try begin()) {
        try zip.end()
        isOver = true
      } else if let file {
        try append(from: file)
      }
      made = zip.take()
    }
    return made.isEmpty ? nil : made
  }

  /// Begins the next file that can be opened. What was removed meanwhile is left out.
  private func begin() throws -> Bool {
    while let item = items.popFirst() {
      guard let photo = space.index.photo(item.photo),
        let opened = try? space.mount.open(photo)
      else { continue }
      try zip.begin(
        item.path, size: opened.entry.size, modified: opened.entry.modified)
      (file, offset, rest) = (opened, 0, opened.entry.size)
      return true
    }
    return false
  }

  /// A file that cannot be read ends the stream, so that the client sees a zip file without its end.
  private func append(from opened: FolderFile) throws {
    let count = Int(min(rest, Int64(ZipStream.piece)))
    let bytes = count == 0 ? [] : try opened.bytes(count, at: offset)
    if bytes.count < count { throw Errno.stale }
    if !bytes.isEmpty { try zip.append(bytes) }
    offset += Int64(count)
    rest -= Int64(count)
    if rest == 0 { file = nil }
  }

  /// The paths of photos in a zip file, of which some belong together: where one name is taken, all of a
  /// group get the same number.
  static func items(_ groups: [PhotoFiles], below top: [FileName]?) -> [Item] {
    var taken: Set<String> = []
    return groups.flatMap { group -> [Item] in
      let folders = top.map { Array(group.album.found.path.dropFirst($0.count)) } ?? []
      let prefix = folders.map { $0.display + "/" }.joined()
      var number = 0
      var paths: [String] = []
      repeat {
        number += 1
        paths = group.files.map { prefix + $0.name.numbered(number).display }
      } while paths.contains(where: taken.contains)
      taken.formUnion(paths)
      return group.files.enumerated().map { Item(path: paths[$0], photo: $1.row.inode) }
    }
  }
}

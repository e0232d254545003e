import AlbumFormat
import AlbumModel

/// The plain model: what a space must hold after the calls that were made, by the rules of albums and of
/// POSIX, in the simplest form. It knows no segments, frames or inode numbers.
///
/// Albums lie in the root. Names with a dot are plain directories. No operation puts anything into Thumb.
struct PlainTree: Equatable, Sendable {
  struct File: Equatable, Sendable {
    var isDirectory = false
    var content: [UInt8] = []
    /// The written bytes that were neither closed nor synced yet.
    var pending: [UInt8]?
    var attributes: [[UInt8]: [UInt8]] = [:]
    /// True if the file has been in the place of a photo.
    var isPhoto = false
    var needsThumbnail = false
    var thumbnail: [UInt8]?
    var writers = 0
  }

  private(set) var files: [Int: File] = [0: File(isDirectory: true)]
  private(set) var names: [String: Int] = ["": 0]
  private var next = 1

  subscript(path: String) -> File? { names[path].flatMap { files[$0] } }
  func isDirectory(_ path: String) -> Bool { self[path]?.isDirectory ?? false }
  func isFile(_ path: String) -> Bool { self[path].map { !$0.isDirectory } ?? false }

  static func parent(_ path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
  }

  /// True for a path directly in an album or in its Photo.
  private func isPhotoPlace(_ path: String) -> Bool {
    let folder = path.split(separator: "/").dropLast()
    guard let album = folder.first, album.first != "." else { return false }
    return folder.count == 1 || folder.count == 2 && folder.last == "Photo"
  }

  // MARK: Calls. Each returns false, and changes nothing, if it is refused.

  mutating func create(_ path: String) -> Bool {
    if names[path] != nil || !isDirectory(PlainTree.parent(path)) { return false }
    add(path, File())
    return true
  }

  private mutating func add(_ path: String, _ file: File) {
    files[next] = file
    names[path] = next
    next += 1
    arrive(path)
  }

  private mutating func arrive(_ path: String) {
    guard let number = names[path], files[number]?.isDirectory == false, isPhotoPlace(path),
      files[number]?.isPhoto == false
    else { return }
    files[number]?.isPhoto = true
    files[number]?.needsThumbnail = true
  }

  mutating func open(_ path: String) -> Bool {
    guard isFile(path), let number = names[path] else { return false }
    files[number]?.writers += 1
    return true
  }

  mutating func release(_ number: Int) {
    commit(number)
    files[number]?.writers -= 1
    dropUnnamed()
  }

  mutating func write(_ number: Int, _ bytes: [UInt8], at offset: Int) {
    guard var content = files[number]?.pending ?? files[number]?.content else { return }
    if content.count < offset + bytes.count {
      content += [UInt8](repeating: 0, count: offset + bytes.count - content.count)
    }
    content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    files[number]?.pending = content
  }

  /// Makes pending bytes a part of history.
  mutating func commit(_ number: Int) {
    guard let pending = files[number]?.pending else { return }
    files[number]?.pending = nil
    set(number, pending)
  }

  mutating func commitAll() {
    for number in files.keys.sorted() { commit(number) }
  }

  private mutating func set(_ number: Int, _ content: [UInt8]) {
    files[number]?.content = content
    // The thumbnail shows content that is gone, so it goes too.
    files[number]?.thumbnail = nil
    if files[number]?.isPhoto == true { files[number]?.needsThumbnail = true }
  }

  mutating func truncate(_ path: String, to size: Int) -> Bool {
    guard isFile(path), let number = names[path] else { return false }
    commit(number)
    guard var content = files[number]?.content, content.count != size else { return true }
    content =
      Array(content.prefix(size)) + [UInt8](repeating: 0, count: max(0, size - content.count))
    set(number, content)
    return true
  }

  /// fallocate with FALLOC_FL_ZERO_RANGE.
  mutating func zero(_ path: String, _ range: Range<Int>) -> Bool {
    guard isFile(path), let number = names[path] else { return false }
    commit(number)
    var content = files[number]?.content ?? []
    if content.count < range.upperBound {
      content += [UInt8](repeating: 0, count: range.upperBound - content.count)
    }
    content.replaceSubrange(range, with: repeatElement(0, count: range.count))
    set(number, content)
    return true
  }

  mutating func rename(_ from: String, _ to: String) -> Bool {
    guard let number = names[from], let file = files[number], isDirectory(PlainTree.parent(to))
    else { return false }
    if file.isDirectory {
      if names[to] != nil { return false }
      let moved = names.filter { $0.key == from || $0.key.hasPrefix(from + "/") }
      for (path, child) in moved {
        names[path] = nil
        names[to + path.dropFirst(from.count)] = child
      }
      return true
    }
    if isDirectory(to) { return false }
    commit(number)
    if names[to] == number { return true }
    names[from] = nil
    names[to] = number
    dropUnnamed()
    arrive(to)
    return true
  }

  mutating func exchange(_ one: String, _ other: String) -> Bool {
    guard let first = names[one], let second = names[other] else { return false }
    commit(first)
    commit(second)
    if first == second { return true }
    names[one] = second
    names[other] = first
    arrive(one)
    arrive(other)
    return true
  }

  mutating func link(_ path: String, _ new: String) -> Bool {
    guard isFile(path), let number = names[path], names[new] == nil,
      isDirectory(PlainTree.parent(new))
    else { return false }
    commit(number)
    names[new] = number
    arrive(new)
    return true
  }

  mutating func unlink(_ path: String) -> Bool {
    guard isFile(path) else { return false }
    names[path] = nil
    dropUnnamed()
    return true
  }

  mutating func makeDirectory(_ path: String) -> Bool {
    if names[path] != nil || !isDirectory(PlainTree.parent(path)) { return false }
    add(path, File(isDirectory: true))
    if PlainTree.parent(path).isEmpty, path.first != "." {
      for part in ["Photo", "Thumb"] { add("\(path)/\(part)", File(isDirectory: true)) }
    }
    return true
  }

  mutating func removeDirectory(_ path: String) -> Bool {
    guard isDirectory(path) else { return false }
    let inside = names.keys.filter { $0.hasPrefix(path + "/") }
    let isAlbum = PlainTree.parent(path).isEmpty && path.first != "."
    let parts = isAlbum ? ["\(path)/Photo", "\(path)/Thumb"] : []
    if inside.contains(where: { !parts.contains($0) }) { return false }
    for name in inside + [path] { names[name] = nil }
    dropUnnamed()
    return true
  }

  mutating func setAttribute(_ path: String, _ name: [UInt8], _ value: [UInt8]) -> Bool {
    guard let number = names[path] else { return false }
    files[number]?.attributes[name] = value
    return true
  }

  /// Makes all thumbnails that the thumbnailer can make now.
  mutating func makeThumbnails() {
    for (number, file) in files
    where file.needsThumbnail && file.writers == 0 && !file.content.isEmpty {
      files[number]?.needsThumbnail = false
      files[number]?.thumbnail = PlainTree.thumbnail(of: file.content)
    }
  }

  static func thumbnail(of content: [UInt8]) -> [UInt8] {
    Array("thumbnail of ".utf8) + content.prefix(200)
  }

  /// Ends the process: content that was neither closed nor synced is gone, and so are the handles.
  mutating func endProcess() {
    for number in files.keys {
      files[number]?.pending = nil
      files[number]?.writers = 0
    }
    dropUnnamed()
  }

  private mutating func dropUnnamed() {
    let named = Set(names.values)
    files = files.filter { named.contains($0.key) || $0.value.writers > 0 }
  }
}

extension PlainTree {
  /// Describes the first difference between a space's content and this tree; nil if there is none.
  func disagreement(with snapshot: Snapshot) -> String? {
    var expected: [String: (isDirectory: Bool, content: [UInt8], links: Int?)] = [:]
    var links: [Int: Int] = [:]
    for number in names.values { links[number, default: 0] += 1 }
    for (path, number) in names {
      guard let file = files[number] else { continue }
      expected[path] = (file.isDirectory, file.content, file.isDirectory ? nil : links[number])
      if let thumbnail = file.thumbnail, !file.isDirectory, isPhotoPlace(path) {
        expected[thumbnailPath(path)] = (false, thumbnail, nil)
      }
    }
    for (path, entry) in snapshot.entries {
      guard let wanted = expected[path] else { return "there is \(path)" }
      if wanted.isDirectory != (entry.state.kind == .directory) {
        return "\(path) is of another kind"
      }
      if wanted.content != entry.content {
        return "\(path) has \(entry.content.count) bytes that are not the \(wanted.content.count)"
      }
      if let links = wanted.links, links != Int(entry.state.links) {
        return "\(path) has \(entry.state.links) links and not \(links)"
      }
      if let file = self[path], file.attributes != entry.attributes {
        return "\(path) has other extended attributes"
      }
    }
    let missing = Set(expected.keys).subtracting(snapshot.entries.keys)
    return missing.isEmpty ? nil : "\(missing.sorted()) is not there"
  }

  private func thumbnailPath(_ photo: String) -> String {
    let parts = photo.split(separator: "/")
    return "\(parts[0])/Thumb/\(parts[parts.count - 1])"
  }
}

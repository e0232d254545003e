// Copies of a store as rsync, cp and tar make them: the tool lists folders at one instant, reads each file
// later, and sets the time that the listing showed.

/// The files of a copy.
package struct StoreCopy: Sendable, Equatable {
  package struct File: Sendable, Equatable {
    package var bytes: [UInt8]
    package var modified: Int64
    /// The fraction of the modification time, as `DiskChronicle` counts it.
    package var fraction = 0
  }

  package var files: [String: File] = [:]
  package var directories: Set<String> = [""]

  package init() {}

  /// The store itself at one instant.
  package init(of chronicle: DiskChronicle, at position: Int) {
    directories.formUnion(chronicle.folders(at: position))
    for folder in directories {
      for path in chronicle.paths(in: folder, at: position) {
        guard let file = chronicle.file(path, at: position),
          let version = chronicle.version(of: file, at: position)
        else { continue }
        files[path] = File(
          bytes: version.bytes, modified: version.modified, fraction: version.fraction)
      }
    }
  }

  /// The content of a disk.
  package init(_ image: DiskImage) {
    for (path, node) in image.nodes {
      switch node {
      case .directory: directories.insert(path)
      case .file(let number):
        guard let file = image.files[number] else { continue }
        files[path] = File(bytes: file.bytes, modified: file.modified)
      }
    }
  }

  /// A disk with this content; all of it is certain.
  package var image: DiskImage {
    var image = DiskImage()
    for folder in directories { image.nodes[folder] = .directory }
    for (place, entry) in files.sorted(by: { $0.key < $1.key }).enumerated() {
      var file = DiskImage.File()
      file.bytes = entry.value.bytes
      file.durable = file.bytes
      file.modified = entry.value.modified
      image.files[place + 1] = file
      image.nodes[entry.key] = .file(place + 1)
    }
    image.durable = image.nodes
    return image
  }

  // MARK: Times

  /// The treatment of modification times in a copy.
  package enum Times: Sendable, Hashable, CaseIterable {
    /// As the tool set them.
    case kept
    /// All equal to the time of the copy: after `touch`, or from a tool that does not keep times.
    case renewed
    case random
  }

  package func with(_ times: Times, now: Int64, _ random: inout SeededRandom) -> StoreCopy {
    var copy = self
    for path in files.keys.sorted() {
      switch times {
      case .kept: continue
      case .renewed:
        copy.files[path]?.modified = now
      case .random:
        copy.files[path]?.modified = Int64.random(in: 0...2 * now, using: &random)
      }
    }
    return copy
  }
}

/// One run of a copying tool.
package struct CopyPass: Sendable, CustomStringConvertible {
  /// The order in which the tool lists folders and reads files.
  package enum Order: Sendable, CaseIterable {
    /// Each at a separate instant.
    case any
    /// Folder by folder: reads each right after its listing.
    case folderByFolder
    /// Lists all folders first.
    case listedFirst
  }

  /// The instants between which the tool runs.
  package var window: ClosedRange<Int>
  package var order = Order.any
  /// `--delete-delay`: removes unlisted files at the end.
  package var deletes = false
  /// Reads files in pieces, each later than the one before.
  package var isSlow = false
  /// `--modify-window=-1`: compares times to the nanosecond; the default is whole seconds.
  package var comparesFractions = false

  package init(_ window: ClosedRange<Int>) { self.window = window }

  package var description: String {
    "\(window.lowerBound)-\(window.upperBound) \(order)\(deletes ? " delete" : "")"
      + "\(isSlow ? " slow" : "")\(comparesFractions ? " nanoseconds" : "")"
  }

  private struct Listed {
    var path: String
    var position: Int
    /// When the tool may read it.
    var reading: ClosedRange<Int>
  }

  /// Copies files into `copy` that differ from it by size or time.
  package func run(
    _ chronicle: DiskChronicle, into copy: inout StoreCopy, _ random: inout SeededRandom
  ) {
    var listed: Set<String> = []
    for found in list(chronicle, into: &copy, &random) {
      listed.insert(found.path)
      guard let file = chronicle.file(found.path, at: found.position),
        let seen = chronicle.version(of: file, at: found.position)
      else { continue }
      if let old = copy.files[found.path], isSame(old, seen) { continue }
      guard let bytes = read(found, chronicle, &random) else { continue }
      copy.files[found.path] = StoreCopy.File(
        bytes: bytes, modified: seen.modified, fraction: seen.fraction)
    }
    if deletes { copy.files = copy.files.filter { listed.contains($0.key) } }
  }

  private func isSame(_ old: StoreCopy.File, _ seen: DiskChronicle.Version) -> Bool {
    old.bytes.count == seen.bytes.count && old.modified == seen.modified
      && (!comparesFractions || old.fraction == seen.fraction)
  }

  private func list(
    _ chronicle: DiskChronicle, into copy: inout StoreCopy, _ random: inout SeededRandom
  ) -> [Listed] {
    let (first, last) = (window.lowerBound, window.upperBound)
    // The tool may or may not meet files in folders that were made meanwhile.
    let folders = chronicle.folders(at: instant(window, &random)).shuffled(using: &random)
    copy.directories.formUnion(folders)
    var cursors: [Int] = []
    for _ in 0...folders.count { cursors.append(Int.random(in: window, using: &random)) }
    cursors.sort()
    var found: [Listed] = []
    for (place, folder) in folders.enumerated() {
      var position = first
      var reading = window
      switch order {
      case .any:
        position = instant(window, &random)
        reading = position...last
      case .folderByFolder:
        position = cursors[place]
        reading = position...cursors[place + 1]
      case .listedFirst:
        position = Int.random(in: first...first + (last - first) / 4, using: &random)
        reading = max(position, cursors[place])...last
      }
      for path in chronicle.paths(in: folder, at: position) {
        found.append(Listed(path: path, position: position, reading: reading))
      }
    }
    return found
  }

  /// An instant of the range; the ends are more likely than those between them.
  private func instant(_ range: ClosedRange<Int>, _ random: inout SeededRandom) -> Int {
    switch Int.random(in: 0..<6, using: &random) {
    case 0, 1: range.lowerBound
    case 2: range.upperBound
    default: Int.random(in: range, using: &random)
    }
  }

  /// The bytes of a file; nil if it has vanished.
  private func read(
    _ listed: Listed, _ chronicle: DiskChronicle, _ random: inout SeededRandom
  ) -> [UInt8]? {
    var position = order == .any ? instant(listed.reading, &random) : listed.reading.lowerBound
    guard let file = chronicle.file(listed.path, at: position),
      let opened = chronicle.version(of: file, at: position)
    else { return nil }
    if !isSlow { return opened.bytes }
    var bytes: [UInt8] = []
    while bytes.count < opened.bytes.count {
      guard let now = chronicle.version(of: file, at: position) else { break }
      let end = min(
        opened.bytes.count,
        bytes.count + 512 * Int.random(in: 1...max(1, opened.bytes.count / 1024), using: &random))
      if now.bytes.count < end { break }
      bytes += now.bytes[bytes.count..<end]
      position = Int.random(in: position...listed.reading.upperBound, using: &random)
    }
    return bytes
  }
}

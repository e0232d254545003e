import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Glibc
import Posix

@testable import AlbumStore

/// Describes a copy that breaks a promise, for a developer. With ALBUMFS_EXPLAIN set, the tests print the
/// first few. ALBUMFS_COPY_LIFE repeats one life of a run, with other names and keys of segments, so that it
/// may take a few tries.
enum Explanation {
  static let life = unsafe getenv("ALBUMFS_COPY_LIFE").flatMap { unsafe Int(String(cString: $0)) }
  private static let isWanted = unsafe getenv("ALBUMFS_EXPLAIN") != nil
  private static let left = Mutex(12, rank: .test)

  static func explain(
    _ copy: StoreCopy, _ life: CopyLife, _ faults: [Fault], _ circumstances: String,
    _ seen: Sighting
  ) {
    if !isWanted || faults.isEmpty { return }
    let isShown = left.withLock { count in
      count -= 1
      return count >= 0
    }
    if !isShown { return }
    var lines = ["#### \(faults) \(circumstances)", "findings \(seen.findings) \(seen.refusal)"]
    for (path, entry) in (seen.view?.entries ?? [:]).sorted(by: { $0.key < $1.key }) {
      let reads = seen.view?.unreadable[path] == nil ? "" : ", cannot be read"
      lines.append("  \(path): \(entry.state.number.rawValue), \(entry.state.size) bytes\(reads)")
    }
    lines += describe(copy, life.keys)
    lines.append("== all that ever was in the store")
    lines += describe(everything(life), life.keys)
    print(lines.joined(separator: "\n"))
    fflush(nil)
  }

  /// Returns all files that the store ever had, each in its last version.
  private static func everything(_ life: CopyLife) -> StoreCopy {
    var all = StoreCopy()
    for position in 0...life.chronicle.end {
      let copy = StoreCopy(of: life.chronicle, at: position)
      all.directories.formUnion(copy.directories)
      all.files.merge(copy.files) { $1 }
    }
    return all
  }

  private static func describe(_ copy: StoreCopy, _ keys: SpaceKeys) -> [String] {
    let store = CrashStore.store(on: CopiedDisk(copy))
    let files = SegmentFiles(
      directory: store.directory, keys: keys, segmentSize: store.configuration.segmentSize)
    guard let listing = try? files.list() else { return [] }
    var lines: [String] = []
    for kind: SegmentKind in [.checkpoint, .data, .journal] {
      for number in listing.numbers(of: kind).sorted() {
        let id = SegmentID(kind: kind, number: number)
        for one in listing.own[id] ?? [] {
          files.use(id, one.birth)
          let seal = (try? files.seal(of: id)).flatMap(\.self).map { "\($0.reason)" } ?? "no seal"
          lines.append(
            "\(kind) \(number.rawValue) \(files.path(id)) session \(one.birth.rawValue), \(seal)")
          if kind == .journal, let scan = try? JournalScan(id, files: files) {
            lines += describe(scan)
          }
        }
      }
    }
    return lines
  }

  private static func describe(_ scan: JournalScan) -> [String] {
    var lines: [String] = []
    if let head = scan.head {
      let checkpoints = [head.checkpoint, head.formerCheckpoint].filter(\.exists).map {
        "checkpoint \($0.firstSegment.rawValue) up to frame \($0.lastFrame.rawValue)"
      }
      lines.append(
        "   head: behind \(head.predecessor.rawValue), cut at \(head.cutFrame.rawValue), "
          + "\(head.time.milliseconds) ms, \(checkpoints.joined(separator: ", "))")
    }
    for found in scan.frames {
      var items: [String] = []
      try? decodeItems(found.frame.items) { items.append(describe($0)) }
      lines.append(
        "   frame \(found.frame.number.rawValue), \(found.frame.time.milliseconds) ms: "
          + items.joined(separator: " "))
    }
    return lines
  }

  private static func describe(_ item: JournalItem) -> String {
    switch item {
    case .inode(let state):
      let marks = state.marks.rawValue
      return
        "\(state.number.rawValue)[\(state.contentStatements) statements, \(state.size) bytes, "
        + "\(state.links) links, marks \(marks), thumbnail \(state.thumbnail.rawValue)]"
    case .inodeGone(let number): return "-\(number.rawValue)"
    case .extents(let number, let from, let to, let extents):
      let places = extents.map { "\($0.segment.rawValue)@\($0.grid)" }
      return "\(number.rawValue)(\(from)..<\(to): \(places.joined(separator: " ")))"
    case .entry(let directory, let name, let inode):
      return "\(directory.rawValue)/\(name.display)=\(inode?.rawValue ?? 0)"
    case .segment(let kind, let number, let birth, let state, _):
      return "\(kind) \(number.rawValue) of \(birth.rawValue) \(state)"
    default: return "\(item)"
    }
  }
}

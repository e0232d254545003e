import AlbumModel
import ControlProtocol
import Posix

/// Finds the files of albums: those of Photo count as the album's own, and Thumb has none.
struct ExportWalk {
  private(set) var walk: SourceWalk
  /// Names at the top of the target, of which each album has its own.
  private var taken: Set<FileName> = []

  init() {
    walk = SourceWalk(forbidding: [], isImport: false) { name, parent, _ in
      // In a Photo, people may make any folder.
      if parent == .photo { return .folder(name) }
      return switch name {
      case .photo: .merged
      case .thumb: .skipped
      default: .folder(name)
      }
    }
  }

  /// Adds an album, a file of one, or by the mount point all albums.
  mutating func add(_ typed: String) throws(Failure) {
    let (mount, inside) = try MountPath.find(typed)
    var names = inside.split(separator: "/").map(String.init)
    if names.count > 1, names.last == "Photo" { names.removeLast() }
    if names.count > 1, names.dropFirst().contains("Thumb") {
      throw Failure(.usage, "\(typed) has thumbnails, and export copies originals. Give an album.")
    }
    let path = PlainPath(([mount.mountPoint] + names).joined(separator: "/"))
    let entry: PlainEntry
    do throws(Errno) { entry = try PlainEntry(path) } catch {
      throw Failure(.usage, "\(typed) cannot be read: \(error)")
    }
    if !names.isEmpty, let name = path.name {
      walk.add(path, in: entry.kind == .directory ? [ownName(name)] : [])
      return
    }
    // A link could lead out of the space.
    for name in (try? path.names()) ?? [] where !name.isHidden {
      guard let entry = walk.look(at: path.appending(name)) else { continue }
      walk.add(path.appending(name), in: entry.kind == .directory ? [ownName(name)] : [])
    }
  }

  private mutating func ownName(_ name: FileName) -> FileName {
    var number = 1
    while !taken.insert(NumberedName.of(name, number)).inserted { number += 1 }
    return NumberedName.of(name, number)
  }
}

/// The limits of the file system that an export writes to.
struct ExportTarget {
  private let type: String
  private let room: StorageCapacity

  init(type: String, room: StorageCapacity) {
    (self.type, self.room) = (type, room)
  }

  /// `folder` is a directory of it.
  init(_ folder: PlainPath) throws(Failure) {
    let text = folder.text
    type = try MountPath.table().mount(holding: MountPath.resolve(text))?.type ?? ""
    do throws(Errno) { room = try PosixDirectory(path: text).capacity() } catch {
      throw Failure(.other, "\(text) cannot be read: \(error)")
    }
  }

  private var isFAT: Bool { type == "vfat" || type == "msdos" }

  /// Why a file cannot be stored; nil if it can.
  func obstacle(folders: [FileName], name: FileName, size: Int64) -> String? {
    if isFAT, size > Int64(UInt32.max) {
      return "it has 4 GiB or more, and the target is FAT"
    }
    guard isFAT || type == "exfat" else { return nil }
    for name in folders + [name] {
      if let bad = name.bytes.first(where: { $0 < 0x20 || "*?<>|\":\\".utf8.contains($0) }) {
        let shown = String(UnicodeScalar(bad)).printable
        return "the target is FAT or exFAT, whose names cannot have \(shown)"
      }
      if [UInt8(ascii: "."), UInt8(ascii: " ")].contains(name.bytes.last) {
        return "the target is FAT or exFAT, whose names cannot end with a dot or a blank"
      }
    }
    return nil
  }

  /// Throws if files of these sizes do not fit.
  func require(_ sizes: [Int64], in folder: PlainPath) throws(Failure) {
    let block = Int64(max(1, room.blockSize))
    let need = sizes.lazy.map { size -> Int64 in
      let rest = size % block
      return rest == 0 ? size : (size - rest).saturatingAdd(block)
    }.saturatingSum
    if need <= room.availableBytes { return }
    throw Failure(
      .diskFull,
      "The export needs \(SizeArgument.readable(need)), and \(folder.text) has "
        + "\(SizeArgument.readable(room.availableBytes)) free. Nothing was copied.")
  }
}

extension Failure {
  /// The failure that an error of an export's target means for every further file; nil if the next file may
  /// succeed.
  init?(ofTarget error: Errno) {
    switch error {
    case .noSpace, .quota: self.init(.diskFull, "The target is full. Make room and run it again.")
    case .readOnly, .io: self.init(.other, "The target cannot be written: \(error).")
    default: self.init(ofDeadSpace: error)
    }
  }
}

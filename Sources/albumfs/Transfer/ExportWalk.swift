import ControlProtocol
import Posix

/// Finds the files of albums: those of Photo count as the album's own, and Thumb has none.
struct ExportWalk {
  private(set) var walk: SourceWalk
  /// Names at the top of the target, of which each album has its own.
  private var taken: Set<String> = []

  init() {
    walk = SourceWalk(forbidding: []) { name, parent, _ in
      // In a Photo, people may make any folder.
      if parent == "Photo" { return .folder(name) }
      return switch name {
      case "Photo": .merged
      case "Thumb": .skipped
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
    let path = ([mount.mountPoint] + names).joined(separator: "/")
    let entry: PlainEntry
    do throws(Errno) { entry = try PlainEntry(path) } catch {
      throw Failure(.usage, "\(typed) cannot be read: \(error)")
    }
    if let name = names.last {
      walk.add(path, in: entry.kind == .directory ? [ownName(name)] : [])
      return
    }
    let all = (try? PosixDirectory(path: path).list("").sorted()) ?? []
    for name in all where !name.hasPrefix(".") {
      let isFolder = (try? PlainEntry("\(path)/\(name)"))?.kind == .directory
      walk.add("\(path)/\(name)", in: isFolder ? [ownName(name)] : [])
    }
  }

  private mutating func ownName(_ name: String) -> String {
    var number = 1
    while !taken.insert(NumberedName.of(name, number)).inserted { number += 1 }
    return NumberedName.of(name, number)
  }
}

/// What the file system of an export can hold.
struct ExportTarget {
  private let type: String
  private let room: StorageCapacity

  init(type: String, room: StorageCapacity) {
    (self.type, self.room) = (type, room)
  }

  /// `folder` is a directory of it.
  init(_ folder: String) throws(Failure) {
    type = try MountPath.table().mount(holding: MountPath.resolve(folder))?.type ?? ""
    do throws(Errno) { room = try PosixDirectory(path: folder).capacity() } catch {
      throw Failure(.other, "\(folder) cannot be read: \(error)")
    }
  }

  private var isFAT: Bool { type == "vfat" || type == "msdos" }

  /// Why a file cannot be stored; nil if it can.
  func obstacle(folders: [String], name: String, size: Int64) -> String? {
    if isFAT, size > Int64(UInt32.max) {
      return "it has 4 GiB or more, and the target is FAT"
    }
    guard isFAT || type == "exfat" else { return nil }
    for name in folders + [name] {
      if let bad = name.unicodeScalars.first(where: {
        $0.value < 0x20 || "*?<>|\":\\".unicodeScalars.contains($0)
      }) {
        let shown = String(Character(bad)).printable
        return "the target is FAT or exFAT, whose names cannot have \(shown)"
      }
      if name.last == "." || name.last == " " {
        return "the target is FAT or exFAT, whose names cannot end with a dot or a blank"
      }
    }
    return nil
  }

  /// Throws if files of these sizes do not fit.
  func require(_ sizes: [Int64], in folder: String) throws(Failure) {
    let block = Int64(max(1, room.blockSize))
    let need = sizes.reduce(0) { $0 + ($1 + block - 1) / block * block }
    if need <= room.availableBytes { return }
    throw Failure(
      .diskFull,
      "The export needs \(SizeArgument.readable(need)), and \(folder) has "
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

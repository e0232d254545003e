import AlbumModel
import PhotoGroups
import PictureMetadata
import Posix

/// Files of one folder that `import` and `export` treat as one (`PhotoGroup`).
struct TransferGroup {
  struct Item {
    let file: SourceWalk.File
    let name: MemberName
  }

  /// The leader first.
  let items: [Item]

  var files: [SourceWalk.File] { items.map(\.file) }

  init(items: [Item]) { self.items = items }

  /// A file that belongs to no other.
  init(_ file: SourceWalk.File) { items = [Item(file: file, name: MemberName(file.name))] }

  /// The files of a walk in groups, in the order in which the walk found the first of each.
  ///
  /// - Parameter joinsParts: the parts of a Takeout count as one source.
  static func groups(of files: [SourceWalk.File], joinsParts: Bool = false) -> [TransferGroup] {
    let places = Dictionary(grouping: files.indices) { place in
      let path = files[place].path
      let joined = joinsParts ? Takeout.folder(of: path) : nil
      return Folder(path: joined ?? path.parent, target: files[place].folders)
    }
    var found: [(first: Int, group: TransferGroup)] = []
    for (_, places) in places {
      let groups = PhotoGrouping.groups(of: places.map { files[$0].name }) { place in
        files[places[place]].livePhotoIdentifier
      }
      for group in groups {
        let items = group.members.map { Item(file: files[places[$0.place]], name: $0.name) }
        let first = group.members.lazy.map { places[$0.place] }.min() ?? 0
        found.append((first, TransferGroup(items: items)))
      }
    }
    return found.sorted { $0.first < $1.first }.map(\.group)
  }

  /// One folder of a source. What lies in it goes to one place.
  private struct Folder: Hashable {
    let path: PlainPath
    let target: [FileName]
  }
}

extension SourceWalk.File {
  fileprivate var livePhotoIdentifier: String? {
    read { size, read in LivePhoto.identifier(size: size, read) }
  }

  /// When its content was taken, as it says itself.
  var statedDate: FileDate? {
    read { size, read in FileDate(size: size, read) }
  }

  /// The camera that made it, as people call it.
  var camera: String? {
    read { size, read in CameraFacts.find(size: size, read).camera }
  }

  /// Calls `body` with the size and the bytes of the file. Of a file in a zip file, only the begin can be
  /// read.
  private func read<Result>(_ body: (Int64, CaptureDate.Read) -> Result?) -> Result? {
    if let (zip, member) = member {
      let head = member.head(in: zip)
      return body(member.size) { count, offset in
        guard offset >= 0, count >= 0, offset <= Int64(head.count) else { return nil }
        return Array(head.dropFirst(Int(offset)).prefix(count))
      }
    }
    guard let reader = try? PlainReader(path) else { return nil }
    return body(reader.size) { try? reader.bytes($0, at: $1) }
  }
}

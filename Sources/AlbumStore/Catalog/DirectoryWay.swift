import AlbumFormat
import AlbumModel

/// The directories from the root down to one.
struct DirectoryWay {
  fileprivate(set) var steps: [(name: String, marks: InodeState.Marks)] = []

  func path(of name: [UInt8]) -> String {
    (steps.map(\.name) + [String(decoding: name, as: UTF8.self)]).joined(separator: "/")
  }

  /// Where Thumb shows the thumbnail of the photo of that name; the photo's own path where nothing
  /// shows it, as in a trash.
  func thumbnailPath(of name: [UInt8]) -> String {
    var shown = self
    let thumb = FileName.thumb.display
    if let place = steps.lastIndex(where: { $0.marks.contains(.photoDirectory) }) {
      shown.steps[place].name = thumb
    } else if let last = steps.last, last.marks.contains(.album) {
      shown.steps.append((thumb, []))
    }
    return shown.path(of: name)
  }
}

extension Catalog {
  /// The way to a directory; begins anywhere where it is not reached from the root.
  func way(to directory: InodeIndex) -> DirectoryWay {
    var way = DirectoryWay()
    var at = directory
    // A circle is damage, and must not be one here.
    while state(at).number != .root, way.steps.count < 4096 {
      let label = name(of: at).map { String(decoding: $0, as: UTF8.self) }
      // What has no name is shown as nothing, whatever part of an album it was.
      guard let label else {
        way.steps.append(("(inode \(state(at).number.rawValue))", []))
        break
      }
      way.steps.append((label, state(at).marks))
      guard let parent = index(of: parent(of: at)) else { break }
      at = parent
    }
    way.steps.reverse()
    return way
  }
}

import AlbumModel
import Posix

/// Thumbnails by the freedesktop specification. A file's name is the MD5 of its picture's URI, which nobody
/// can reverse, so albumfs reads the URI from the text that the specification demands in each.
extension TraceSearch {
  private static let sizes = ["normal", "large", "x-large", "xx-large"].map {
    FileName(known: Array($0.utf8))
  }
  private static let failures = FileName(known: Array("fail".utf8))

  mutating func lookAtThumbnails() {
    for path in ["\(places.cache)/thumbnails", "\(places.home)/.thumbnails"] {
      guard let base = directory(path) else { continue }
      for size in TraceSearch.sizes where base.kind(of: size) != nil {
        lookAtThumbnails(size, in: base, at: path)
      }
      // One directory for each program that could not make them.
      guard base.kind(of: TraceSearch.failures) != nil,
        let failures = directory(TraceSearch.failures, in: base, at: path)
      else { continue }
      for program in names(in: failures, at: path + "/fail")
      where failures.kind(of: program) == .directory {
        lookAtThumbnails(program, in: failures, at: path + "/fail")
      }
    }
  }

  private mutating func lookAtThumbnails(
    _ name: FileName, in parent: OwnedDirectory, at parentPath: String
  ) {
    guard let directory = directory(name, in: parent, at: parentPath) else { return }
    let path = "\(parentPath)/\(name.display)"
    for name in names(in: directory, at: path) where name.hasSuffix(".png") {
      guard let file = open(name, in: directory, at: path) else { continue }
      let filePath = "\(path)/\(name.display)"
      do throws(PNGText.Fault) {
        guard let uri = try PNGText.value(of: "Thumb::URI", in: file),
          let inside = tree.inside(uri: uri)
        else { continue }
        add(.thumbnail, in: filePath, about: inside) { () throws(Errno) in
          try directory.remove(name, file)
        }
      } catch {
        if case .unreadable(let error) = error { passOver(filePath, .error(error)) }
      }
    }
  }
}

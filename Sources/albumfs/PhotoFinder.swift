import AlbumModel
import ControlProtocol
import FileKinds
import PhotoSearch
import PictureMetadata
import Posix

/// Walks albums and finds the photos that a query asks for. The rules of albums are those of Albums.md.
///
/// It asks the mount for one attribute of each file, and reads the content only of photos whose thumbnail is
/// not made yet.
struct PhotoFinder {
  private let query: SearchQuery

  init(_ query: SearchQuery) { self.query = query }

  /// A directory to walk: an album, or one of the folders in its Photo.
  private struct Step {
    /// From the root of the space.
    var path: [FileName]
    var album: [FileName]
    /// True for an album or the root, in which other directories are albums.
    var holdsAlbums: Bool
  }

  /// In the order of their paths. Throws if the place is no album and no mount point.
  func photos(in typed: String) throws(Failure) -> [FoundPhoto] {
    let (mount, inside) = try MountPath.find(typed)
    let names = inside.split(separator: "/").compactMap { try? FileName(Array($0.utf8)) }
    if names.contains(.thumb) { throw Failure(.usage, "\(typed) is no album.") }
    do throws(Errno) {
      return try photos(below: Folder(mount.mountPoint), PlainPath(mount.mountPoint), names)
    } catch {
      throw Failure(.usage, "\(typed) cannot be read: \(error)")
    }
  }

  private func photos(
    below root: borrowing Folder, _ mountPoint: PlainPath, _ names: [FileName]
  ) throws(Errno) -> [FoundPhoto] {
    _ = try Folder(names, below: root)
    let photo = names.firstIndex(of: .photo)
    let album = Array(names[..<(photo ?? names.count)])
    var found: [FoundPhoto] = []
    var waiting = [Step(path: names, album: album, holdsAlbums: photo == nil)]
    while let step = waiting.popLast() {
      // Another program may remove it meanwhile.
      guard let folder = try? Folder(step.path, below: root), let inside = try? folder.names()
      else {
        continue
      }
      let sorted = inside.sorted { $0.name < $1.name }
      for name in sorted.reversed() {
        if let next = PhotoFinder.step(into: name, of: folder, from: step) { waiting.append(next) }
      }
      found += matches(sorted.filter { $0.kind == .file }.map(\.name), in: folder, step, mountPoint)
    }
    return found.sorted { $0.file.bytes.lexicographicallyPrecedes($1.file.bytes) }
  }

  private static func step(
    into name: Folder.Name, of folder: borrowing Folder, from step: Step
  ) -> Step? {
    guard name.kind == .directory, !name.name.isHidden, name.name != .thumb || !step.holdsAlbums
    else { return nil }
    if Leftover.isFolder(name.name.bytes) {
      // An album that got such a name has its photos' directory.
      if !step.holdsAlbums || !folder.holds(.photo, in: name.name) { return nil }
    }
    let path = step.path + [name.name]
    let isPhoto = !step.holdsAlbums || (name.name == .photo && !step.path.isEmpty)
    return Step(path: path, album: isPhoto ? step.album : path, holdsAlbums: !isPhoto)
  }

  private func matches(
    _ names: [FileName], in folder: borrowing Folder, _ step: Step, _ mountPoint: PlainPath
  ) -> [FoundPhoto] {
    let names = names.filter { !$0.isHidden }
    let kinds = names.map { NamedKind(of: $0.bytes) }
    let live = LivePair.marks(
      count: names.count, name: { names[$0].bytes[...] }, isPhoto: { kinds[$0] == .picture },
      isFilm: { kinds[$0] == .film })
    let album = SearchText(album: step.album).bytes
    var found: [FoundPhoto] = []
    for (place, name) in names.enumerated() {
      let facts = PhotoFinder.facts(of: name, in: folder)
      if facts.dimensions == nil, kinds[place] == .other { continue }
      var own = PhotoKinds(name: name, facts)
      if live[place] { own.insert(.live) }
      if finds(name, facts, own, album.span, in: folder) {
        let file = (step.path + [name]).reduce(mountPoint) { $0.appending($1) }
        found.append(FoundPhoto(file, album: step.album, facts))
      }
    }
    return found
  }

  private func finds(
    _ name: FileName, _ facts: KnownFacts, _ kinds: PhotoKinds, _ album: Span<UInt8>,
    in folder: borrowing Folder
  ) -> Bool {
    let text = SearchText(name: name, facts).bytes
    // A file without a date has the time of its last change.
    let clock =
      facts.taken?.clockSeconds ?? (try? folder.entry(name))?.modified.seconds ?? 0
    return query.finds(
      SearchQuery.Photo(
        text: text.span, album: album, clockSeconds: clock, kinds: kinds,
        rating: facts.rating.flatMap { Int8(exactly: $0) } ?? 0))
  }

  /// What the mount knows; of a photo without a thumbnail, what its content says.
  private static func facts(of name: FileName, in folder: borrowing Folder) -> KnownFacts {
    let path = folder.path(of: name)
    var facts =
      ExtendedAttribute.value(KnownFacts.attribute, of: path).map { KnownFacts($0) } ?? KnownFacts()
    if facts.dimensions == nil, NamedKind(of: name.bytes) != .other,
      let file = try? folder.open(name)
    {
      let read: CaptureDate.Read = { try? file.bytes($0, at: $1) }
      let camera = CameraFacts.find(size: file.entry.size, read)
      facts.camera = facts.camera ?? camera.camera
      facts.lens = facts.lens ?? camera.lens
      facts.taken = facts.taken ?? CaptureDate.find(size: file.entry.size, read)
    }
    facts.taken = facts.taken ?? FileDate(in: name.bytes)?.time
    return facts
  }
}

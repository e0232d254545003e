import AlbumModel
import PhotoGroups
import PictureMetadata
import Posix

/// A file of a group, as it is now.
struct PhotoFile: Sendable {
  let row: PhotoRow
  let name: MemberName
  let part: GroupPart

  /// True of a picture or film, of which people say something.
  var isMedium: Bool { row.kind != .other }
}

/// A photo with all files that belong to it: what a person does with the photo is done with all of them.
struct PhotoFiles: Sendable {
  let album: SpaceIndex.Album
  /// The directory that they lie in.
  let folder: [FileName]
  /// The photo comes first.
  let files: [PhotoFile]

  private init(_ album: SpaceIndex.Album, _ folder: [FileName], _ files: [PhotoFile]) {
    (self.album, self.folder, self.files) = (album, folder, files)
  }

  func only(_ inodes: Set<UInt64>) -> PhotoFiles {
    PhotoFiles(album, folder, files.filter { inodes.contains($0.row.inode) })
  }

  /// One file without what belongs to it.
  init(alone photo: SpaceIndex.Photo) {
    (album, folder) = (photo.album, photo.folder)
    files = [PhotoFile(row: photo.row, name: MemberName(photo.row.name), part: .other)]
  }

  /// The files of a photo's group that are not hidden. Reads what ties a film to its photo where the index
  /// has not read it yet, so that nothing is done with a film that only has the name of one.
  init(with photo: SpaceIndex.Photo, without hidden: Set<UInt64>, _ mount: MountedSpace) {
    (album, folder) = (photo.album, photo.folder)
    let content = photo.album.found.content
    guard let place = content.place(of: photo.row.inode),
      let group = content.groups.group(of: place)
    else {
      files = PhotoFiles(alone: photo).files
      return
    }
    let untied = Set(content.untied(of: group))
    var ties = group.members.map { content.tie($0.place) }
    if !untied.isEmpty, let opened = try? mount.folder(photo.folder) {
      for (number, member) in group.members.enumerated() where untied.contains(member.place) {
        ties[number] = LiveTie.read(of: content.name(member.place), in: opened)
      }
    }
    // Those that still belong to the file when all ties are known.
    let names = group.members.map { content.name($0.place) }
    let parts = PhotoGrouping.groups(of: names) { ties[$0].identifier }
    let own = parts.first { $0.members.contains { group.members[$0.place].place == place } }
    files = (own?.members ?? []).map { member in
      let row = content.row(group.members[member.place].place)
      return PhotoFile(row: row, name: member.name, part: member.part)
    }.filter { !hidden.contains($0.row.inode) }
  }
}

extension OpenSpace {
  func files(with photo: SpaceIndex.Photo) -> PhotoFiles {
    PhotoFiles(with: photo, without: index.hidden, mount)
  }
}

extension LiveTie {
  /// Reads what a file says.
  static func read(of name: FileName, in folder: borrowing Folder) -> LiveTie {
    guard let file = try? folder.open(name) else { return .none }
    let (size, read) = (file.entry.size, { try? file.bytes($0, at: $1) })
    if let identifier = LivePhoto.identifier(size: size, read) { return LiveTie(identifier) }
    return MotionPhoto.film(size: size, read) == nil ? .none : .holdsFilm
  }
}

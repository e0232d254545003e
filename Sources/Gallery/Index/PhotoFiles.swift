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
    var members = group.members
    let untied = Set(content.untied(of: group))
    if !untied.isEmpty, let opened = try? mount.folder(photo.folder) {
      let ties = members.map { member in
        untied.contains(member.place)
          ? LiveTie.read(of: content.name(member.place), in: opened)
          : content.tie(member.place)
      }
      members = FileGroups.members(of: group, place, content) { ties[$0] }
    }
    files = members.map { PhotoFile(row: content.row($0.place), name: $0.name, part: $0.part) }
      .filter { !hidden.contains($0.row.inode) }
  }
}

extension FileGroups {
  /// The members of a part of a group: those that still belong to a file when their ties are known.
  ///
  /// - Parameter tie: that of a member by its number in the group.
  static func members(
    of group: Group, _ place: Int, _ content: AlbumContent, tie: (Int) -> LiveTie
  ) -> [Member] {
    let parts = PhotoGrouping.groups(of: group.members.map { content.name($0.place) }) {
      tie($0).identifier
    }
    let own = parts.first { $0.members.contains { group.members[$0.place].place == place } }
    return (own?.members ?? []).map {
      Member(place: group.members[$0.place].place, name: $0.name, part: $0.part)
    }
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

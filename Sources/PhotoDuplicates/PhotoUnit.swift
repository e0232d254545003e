package import AlbumModel
import FileKinds
import PhotoGroups

/// A file of a unit.
package struct UnitFile: Sendable, Equatable {
  package let name: FileName
  package let inode: UInt64
  package let size: Int64

  package init(name: FileName, inode: UInt64, size: Int64) {
    (self.name, self.inode, self.size) = (name, inode, size)
  }
}

/// A photo or film with all that belongs to it, in one folder: it is kept, and removed, as one.
package struct PhotoUnit: Sendable {
  /// The number of the folder, as the caller counts folders.
  package let folder: Int
  /// The names of its album and of those that this lies in.
  package let album: [FileName]
  /// The photo or film comes first.
  package let files: [UnitFile]
  /// What the mount knows of each file.
  let said: [KnownFacts]
  package var facts: KnownFacts { said[0] }

  package var leader: UnitFile { files[0] }

  /// Returns the photos and films among the files of one folder. Empty files are none.
  ///
  /// - Parameter identifier: what ties the film at a place of `files` to its photo.
  package static func units(
    of files: [UnitFile], folder: Int, album: [FileName], identifier: (Int) -> String?,
    facts: (FileName) -> KnownFacts
  ) -> [PhotoUnit] {
    PhotoGrouping.groups(of: files.map(\.name), identifier: identifier).compactMap { group in
      let members = group.members.map { files[$0.place] }
      let known = members.map { facts($0.name) }
      let isMedium = NamedKind(of: members[0].name.bytes) != .other || known[0].dimensions != nil
      guard isMedium, members[0].size > 0 else { return nil }
      return PhotoUnit(folder: folder, album: album, files: members, said: known)
    }
  }

  /// True of an album that is named after a day, a month or a year, and so by a program.
  var isInDatedAlbum: Bool {
    album.last.map { name in
      name.bytes.allSatisfy { 48...57 ~= $0 || [0x20, 0x2D, 0x2E, 0x5F].contains($0) }
    } ?? false
  }

  var isFilm: Bool { facts.duration != nil || NamedKind(of: leader.name.bytes) == .film }

  /// In small letters.
  var ending: [UInt8] {
    let bytes = leader.name.bytes
    let dot = bytes.lastIndex(of: UInt8(ascii: ".")) ?? bytes.endIndex
    return bytes[dot...].map { 65...90 ~= $0 ? $0 | 0x20 : $0 }
  }

  var isInCamerasFormat: Bool {
    let text = String(decoding: ending.dropFirst(), as: UTF8.self)
    return ["heic", "heif"].contains(text) || ImageKind.isRaw(ending: text)
  }

  var pixels: Int { facts.dimensions.map { $0.width * $0.height } ?? 0 }
}

extension KnownFacts {
  /// How much people say of it.
  var noteCount: Int {
    [isFavourite, caption != nil, rating != nil, place != nil, rotation != nil].count { $0 }
      + tags.count + people.count
  }

  /// True if the other photo says all that this one does, and states the same date.
  func isCovered(by other: KnownFacts) -> Bool {
    func agree<Value: Equatable>(_ own: Value?, _ value: Value?) -> Bool {
      own == nil || own == value
    }
    return (!isFavourite || other.isFavourite) && agree(caption, other.caption)
      && agree(rating, other.rating) && agree(place, other.place) && agree(taken, other.taken)
      && agree(rotation, other.rotation)
      && Set(tags).isSubset(of: other.tags) && Set(people).isSubset(of: other.people)
  }
}

import AlbumModel
import FileKinds
import PhotoGroups
import PictureMetadata
import Posix

extension SourceWalk.File {
  var isJSON: Bool { name.bytes.suffix(5).map { $0 | 0x20 } == Array(".json".utf8) }

  var isMedia: Bool { NamedKind(of: name.bytes) != .other }

  /// The first bytes, at most so many.
  func start(_ count: Int) -> [UInt8] {
    guard let (zip, member) = member else {
      return (try? PlainFiles.head(of: path, atMost: count)) ?? []
    }
    return Array(member.head(in: zip).prefix(count))
  }

  /// The same file, for other folders at the target.
  func moved(to folders: [FileName]) -> SourceWalk.File {
    SourceWalk.File(path: path, name: name, folders: folders, entry: entry, member: member)
  }

  /// What it says of the photo that it belongs to; nil if it says nothing.
  fileprivate var sidecarFacts: SidecarFacts? {
    if isJSON { return GoogleJSON.facts(start(GoogleJSON.limit + 1)) }
    let isXMP = name.bytes.suffix(4).map { $0 | 0x20 } == Array(".xmp".utf8)
    return isXMP ? XMPNotes(start(SidecarFacts.packetLimit)).map(SidecarFacts.init) : nil
  }
}

/// How Google Takeout spreads photos over folders and zip parts, and what its JSON files say of them.
///
/// An album's photos are in the folder of their year, too, and their JSON may be in either, or in another
/// part. So all parts count as one source, and a photo without JSON has that of the file with its name and
/// size.
struct Takeout {
  /// The folder that all parts have.
  static let top = FileName(literal: "Takeout")

  private struct Photo: Hashable {
    let name: FileName
    let size: Int64
  }

  private struct Shot: Hashable {
    let title: String
    let date: Int64
  }

  /// What the sidecars of a group say, by the path of its leader.
  private var facts: [PlainPath: SidecarFacts] = [:]
  /// What is known of a photo by its name and size; nil inside if that is known of several.
  private var factsOfPhotos: [Photo: SidecarFacts?] = [:]

  // MARK: Folders

  /// The folder of a file below `Takeout`, which is the same in all parts; nil for a file of another source.
  static func folder(of path: PlainPath) -> PlainPath? {
    let names = path.bytes.split(separator: UInt8(ascii: "/"))
    guard let place = names.lastIndex(where: { $0.elementsEqual(top.bytes) }),
      place + 1 < names.count
    else { return nil }
    return PlainPath(
      bytes: Array(names[place..<names.count - 1].joined(separator: [UInt8(ascii: "/")])))
  }

  /// Gives albums the titles that they had. Google keeps only a part of a long title in the folder's name,
  /// and replaces some characters.
  static func titled(_ files: [SourceWalk.File]) -> [SourceWalk.File] {
    var titles: [[FileName]: FileName] = [:]
    for file in files where folder(of: file.path) != nil && !file.folders.isEmpty {
      guard file.isJSON, let title = GoogleJSON.albumTitle(file.start(GoogleJSON.limit + 1)),
        let name = albumName(title)
      else { continue }
      titles[file.folders] = name
    }
    if titles.isEmpty { return files }
    return files.map { file in
      var folders = file.folders
      for depth in file.folders.indices {
        if let title = titles[Array(file.folders[...depth])] { folders[depth] = title }
      }
      return folders == file.folders ? file : file.moved(to: folders)
    }
  }

  /// nil for a title that no album can have.
  static func albumName(_ title: String) -> FileName? {
    var words = title.unicodeScalars.split { $0.value < 0x20 || $0.value == 0x7F || $0 == " " }
      .map { String($0).replacing("/", with: "_") }.joined(separator: " ")
    if words.hasPrefix(".") { words = "_" + words.dropFirst() }
    while words.utf8.count > 200 { words.removeLast() }
    guard let name = try? FileName(words), name != .photo, name != .thumb else { return nil }
    return name
  }

  // MARK: Facts

  /// Reads the sidecars of all groups.
  init(_ groups: [TransferGroup]) {
    for group in groups {
      guard let found = Takeout.facts(in: group) else { continue }
      facts[group.items[0].file.path] = found
      for file in group.files where Takeout.folder(of: file.path) != nil && file.isMedia {
        let photo = Photo(name: file.name, size: file.entry.size)
        let isUnique = factsOfPhotos[photo].map { $0 == found } ?? true
        factsOfPhotos.updateValue(isUnique ? found : nil, forKey: photo)
      }
    }
  }

  /// What the sidecars of a group say, or those of its photo in another folder.
  func facts(of group: TransferGroup) -> SidecarFacts? {
    if let own = facts[group.items[0].file.path] { return own }
    let photo = group.files.first { $0.isMedia && Takeout.folder(of: $0.path) != nil }
    return photo.flatMap { factsOfPhotos[Photo(name: $0.name, size: $0.entry.size)] ?? nil }
  }

  private static func facts(in group: TransferGroup) -> SidecarFacts? {
    group.files.compactMap(\.sidecarFacts).reduce(nil) { all, next in
      all?.completed(by: next) ?? next
    }
  }

  // MARK: Without JSON

  /// Takes the JSON files of Google out of the groups. Returns them.
  static func withoutJSON(
    _ groups: [TransferGroup]
  ) -> (groups: [TransferGroup], json: [SourceWalk.File]) {
    var json: [SourceWalk.File] = []
    let kept = groups.compactMap { group -> TransferGroup? in
      let others = group.items.filter { item in
        let isGoogles =
          item.file.isJSON && GoogleJSON.isKnown(item.file.start(GoogleJSON.limit + 1))
        if isGoogles { json.append(item.file) }
        return !isGoogles
      }
      return others.isEmpty ? nil : TransferGroup(items: others)
    }
    return (kept, json)
  }

  // MARK: Photos that are in another folder

  /// Adds the photos of albums of which Google wrote only the JSON into the album's folder.
  func completed(_ groups: [TransferGroup]) -> [TransferGroup] {
    var photos: [Shot: TransferGroup] = [:]
    for group in groups where group.files.contains(where: \.isMedia) {
      if let shot = shot(of: group), photos[shot] == nil { photos[shot] = group }
    }
    return groups.map { group in
      guard !group.files.contains(where: \.isMedia), let shot = shot(of: group),
        let photo = photos[shot], photo.items[0].file.folders != group.items[0].file.folders
      else { return group }
      let media = photo.items.filter(\.file.isMedia).map { item in
        TransferGroup.Item(
          file: item.file.moved(to: group.items[0].file.folders), name: item.name)
      }
      return TransferGroup(items: media + group.items)
    }
  }

  private func shot(of group: TransferGroup) -> Shot? {
    let path = group.items[0].file.path
    guard Takeout.folder(of: path) != nil, let facts = facts[path], let title = facts.title,
      let date = facts.date?.seconds
    else { return nil }
    return Shot(title: title, date: date)
  }
}

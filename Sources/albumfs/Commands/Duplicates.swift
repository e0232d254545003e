import AlbumModel
import ArgumentParser
import ControlProtocol
import PhotoDuplicates
import Posix

struct Duplicates: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Find photos and videos that a space has more than once.",
    discussion: """
      Compares all albums. Files with the same bytes are the same photo; pictures of another size or format \
      are found by a perceptual hash, which is made with the thumbnail. Each set begins with the photo to \
      keep. Nothing is removed. --surplus prints only files without which nothing is lost: their bytes, and \
      what people say of them, are in the photo to keep, too. What `rm` removes can come back.

        albumfs duplicates ~/Album
        albumfs duplicates ~/Album --surplus -0 | xargs -0 rm
      """)

  @Argument(help: "A mount point, or an album in it.", completion: Completions.mounts)
  var place: String

  @Flag(help: "Print only the paths of files without which nothing is lost.")
  var surplus = false

  @Flag(
    name: [.customShort("0"), .customLong("null")],
    help: "With --surplus: end each path with a zero byte.")
  var isSeparatedByZeros = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if json && surplus { throw ValidationError("--json and --surplus exclude each other.") }
    if isSeparatedByZeros && !surplus { throw ValidationError("-0 needs --surplus.") }
  }

  func run() throws {
    let found = try DuplicateFinder(in: place).find()
    if json { return Terminal.result(json: found) }
    if surplus {
      for path in found.surplus { Terminal.result(path: path, endsWithZero: isSeparatedByZeros) }
    } else {
      for (number, set) in found.sets.enumerated() {
        if number > 0 { Terminal.result("") }
        for photo in set.photos { Terminal.result(photo.line) }
      }
    }
    output.say(found.summary(of: place))
  }
}

/// Finds the duplicates in a place.
private final class DuplicateFinder: DuplicateSource {
  private var places: [PhotoWalk.Place] = []
  private var units: [PhotoUnit] = []

  init(in typed: String) throws(Failure) {
    try PhotoWalk.requirePresent(typed)
    try PhotoWalk.folders(in: typed) { folder, place, names in add(names, in: folder, place) }
  }

  private func add(
    _ names: [FileName], in folder: borrowing Folder, _ place: PhotoWalk.Place
  ) {
    var files: [UnitFile] = []
    for name in names {
      guard let entry = try? folder.entry(name), entry.kind == .file else { continue }
      files.append(UnitFile(name: name, inode: entry.file.inode, size: entry.size))
    }
    units += PhotoUnit.units(
      of: files, folder: places.count, album: place.album,
      identifier: { PhotoWalk.identifier(of: files[$0].name, in: folder) },
      facts: { name in
        ExtendedAttribute.value(KnownFacts.attribute, of: folder.path(of: name))
          .map { KnownFacts($0) } ?? KnownFacts()
      })
    places.append(place)
  }

  func find() -> DuplicateList {
    var search = DuplicateSearch(units)
    let sets = search.sets(from: self).map { set in
      DuplicateList.Photos(
        photos: set.members.map { DuplicatePhoto($0, in: places[$0.unit.folder]) })
    }
    return DuplicateList(sets: sets, unhashed: search.unhashed)
  }

  // MARK: Contents

  let isStopped = false

  func isAt(_ done: Int, of total: Int) {}

  func open(_ file: UnitFile, in folder: Int) -> FolderFile? {
    guard let opened = try? places[folder].open().open(file.name),
      opened.entry.file.inode == file.inode
    else { return nil }
    return opened
  }
}

/// The output of `duplicates --json`.
private struct DuplicateList: Encodable {
  struct Photos: Encodable {
    var photos: [DuplicatePhoto]
  }

  var version = 1
  var sets: [Photos]
  /// Pictures of which only equal files are found.
  var unhashed: Int

  /// The files without which nothing is lost.
  var surplus: [PlainPath] {
    sets.flatMap(\.photos).filter { $0.surplus == true }.flatMap(\.paths)
  }

  func summary(of place: String) -> String {
    let all = sets.flatMap(\.photos).filter { $0.surplus == true }
    let bytes = all.reduce(0) { $0 + $1.size }
    var text =
      sets.isEmpty
      ? "Nothing is there twice."
      : """
      \(counted(sets.count, "photo")) \(sets.count == 1 ? "is" : "are") there more than once. Without \
      \(counted(all.count, "surplus copy", "surplus copies")) nothing is lost \
      (\(SizeArgument.readable(bytes))).
      """
    if unhashed > 0 {
      text += """
         \(counted(unhashed, "picture")) \(unhashed == 1 ? "has" : "have") no perceptual hash, so only \
        files equal to \(unhashed == 1 ? "it" : "them") are found. `albumfs thumbs --missing \(place)` makes \
        the hash where a picture has a thumbnail.
        """
    }
    return text
  }
}

private struct DuplicatePhoto: Encodable {
  var path: String
  /// From the root of the space.
  var album: String
  var size: Int64
  var taken: String?
  var width: Int?
  var height: Int?
  /// `kept`, `bytes` or `picture`.
  var same: String
  var surplus: Bool?
  /// Of what belongs to it, such as the film of a Live Photo.
  var others: [String]?
  fileprivate let paths: [PlainPath]

  enum CodingKeys: CodingKey { case path, album, size, taken, width, height, same, surplus, others }

  init(_ member: DuplicateSet.Member, in place: PhotoWalk.Place) {
    let unit = member.unit
    paths = unit.files.map { place.file($0.name) }
    path = paths[0].text
    album = unit.album.map(\.text).joined(separator: "/")
    size = unit.files.reduce(0) { $0 + $1.size }
    taken = unit.facts.taken?.text
    width = unit.facts.dimensions?.width
    height = unit.facts.dimensions?.height
    same = member.relation.rawValue
    surplus = member.isSurplus ? true : nil
    others = paths.count > 1 ? paths.dropFirst().map(\.text) : nil
  }

  var line: String {
    let relation =
      switch same {
      case "kept": "keep"
      case "bytes": surplus == true ? "surplus" : "same bytes"
      default: "same picture"
      }
    let dimensions = width.flatMap { width in height.map { "\(width)x\($0)" } } ?? "-"
    return [relation, dimensions, SizeArgument.readable(size), path.printable].joined(
      separator: "\t")
  }
}

import AlbumModel

/// The pictures and films of a folder by their names.
final class NamedMedia {
  let places: [[UInt8]: Int]
  /// Those that are no edited twins, by the name without the number before its ending, in ascending order.
  private lazy var numberless = sorted()

  private typealias Entry = (text: [UInt8], number: [UInt8], role: FileRole, place: Int)

  init(_ places: [[UInt8]: Int]) { self.places = places }

  private func sorted() -> [Entry] {
    var entries: [Entry] = []
    for (name, place) in places {
      let role = FileRole(FileName(known: name))
      guard !role.isEdited, let dot = name.lastIndex(of: UInt8(ascii: ".")) else { continue }
      let (stem, number) = FileRole.numberAtEnd(Array(name[..<dot]))
      entries.append((stem + name[dot...], number, role, place))
    }
    return entries.sorted { $0.text.lexicographicallyPrecedes($1.text) }
  }

  /// The files of a number whose names begin so without it.
  func beginning(with text: [UInt8], _ number: [UInt8]) -> [(role: FileRole, place: Int)] {
    var (low, high) = (0, numberless.count)
    while low < high {
      let middle = (low + high) / 2
      if numberless[middle].text.lexicographicallyPrecedes(text) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return numberless[low...].prefix { $0.text.starts(with: text) }
      .filter { $0.number == number }.map { ($0.role, $0.place) }
  }
}

/// Finds the file that a sidecar is named after: `IMG_1.JPG` for `IMG_1.JPG.xmp` and `IMG_1.JPG.json`.
///
/// Google Takeout makes names of its own: `IMG_1.JPG.supplemental-metadata.json`, of which it keeps 51
/// characters; `IMG_1.JPG(1).json` and `IMG_1.JPG.supplemental-metadata(1).json` for `IMG_1(1).JPG`; and the
/// name of the file itself cut short.
enum SidecarName {
  private static let json = Array(".json".utf8)
  private static let google = Array(".supplemental-metadata".utf8)
  /// The characters that Google keeps of a name, without `.json`.
  private static let googleLength = 46
  /// A name that is cut shorter could be of many files.
  private static let leastLength = 20

  /// `files` are pictures and films by their names. The suffix is what stands behind the file's name, or
  /// would stand there if nothing were cut.
  static func file(
    of sidecar: FileName, in files: NamedMedia
  ) -> (place: Int, suffix: [UInt8])? {
    let bytes = sidecar.bytes
    guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let (stem, ending) = (Array(bytes[..<dot]), Array(bytes[dot...]))
    if let place = files.places[stem] { return (place, ending) }
    let isJSON = ending.map { 65...90 ~= $0 ? $0 | 0x20 : $0 } == json
    return isJSON ? googleFile(of: stem, in: files).map { ($0, ending) } : nil
  }

  private static func googleFile(of stem: [UInt8], in files: NamedMedia) -> Int? {
    let (rest, number) = FileRole.numberAtEnd(stem)
    // The number stands behind the ending of the file, or behind Google's words.
    for length in stride(from: google.count, through: 0, by: -1) {
      let word = google.prefix(length)
      guard rest.count > word.count, rest.suffix(word.count).elementsEqual(word) else { continue }
      let name = Array(rest.dropLast(word.count))
      if let place = files.places[inserted(number, into: name)] { return place }
      if length == 0, characters(of: stem) >= googleLength, name.count >= leastLength {
        return cut(name, number, in: files)
      }
    }
    return nil
  }

  /// The file whose name begins so; nil if several do that are no photo and its film.
  private static func cut(_ name: [UInt8], _ number: [UInt8], in files: NamedMedia) -> Int? {
    let found = files.beginning(with: name, number)
    guard let first = found.first, found.allSatisfy({ $0.role.key == first.role.key }) else {
      return nil
    }
    return (found.first { $0.role.kind != .film } ?? first).place
  }

  /// `IMG_1.JPG` and `(1)` are `IMG_1(1).JPG`.
  private static func inserted(_ number: [UInt8], into name: [UInt8]) -> [UInt8] {
    guard !number.isEmpty, let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return name }
    return Array(name[..<dot]) + number + name[dot...]
  }

  private static func characters(of bytes: [UInt8]) -> Int {
    bytes.lazy.filter { $0 & 0xC0 != 0x80 }.count
  }
}

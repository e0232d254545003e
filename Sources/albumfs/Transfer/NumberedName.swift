import AlbumModel

/// The names that a file gets where its own is taken.
enum NumberedName {
  /// `IMG_1.jpg`, `IMG_1 (2).jpg`, `IMG_1 (3).jpg` … Shortens the part before the number if the name would
  /// become too long.
  static func of(_ name: String, _ number: Int) -> String {
    if number == 1 { return name }
    var (stem, end) = (name[...], name[name.endIndex...])
    if let dot = name.lastIndex(of: "."), dot != name.startIndex {
      (stem, end) = (name[..<dot], name[dot...])
    }
    let mark = " (\(number))"
    while !stem.isEmpty, (stem + mark + end).utf8.count > FileName.maximumLength {
      stem = stem.dropLast()
    }
    return stem + mark + end
  }
}

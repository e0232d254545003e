/// The names that a file gets where its own is taken.
package enum NumberedName {
  /// `IMG_1.jpg`, `IMG_1 (2).jpg`, `IMG_1 (3).jpg` … Shortens the part before the number if the name would
  /// become too long.
  package static func of(_ name: FileName, _ number: Int) -> FileName {
    FileName(known: bytes(name.bytes, number))
  }

  private static func bytes(_ name: [UInt8], _ number: Int) -> [UInt8] {
    if number == 1 { return name }
    var (stem, end) = (name[...], name[name.endIndex...])
    if let dot = name.lastIndex(of: UInt8(ascii: ".")), dot != 0 {
      (stem, end) = (name[..<dot], name[dot...])
    }
    let mark = Array(" (\(number))".utf8)
    let room = FileName.maximumLength - mark.count
    // An ending that leaves no room is none.
    if end.count >= room { (stem, end) = (name[...], name[name.endIndex...]) }
    while stem.count + end.count > room {
      // A character of UTF-8 goes as a whole.
      while let last = stem.popLast(), last & 0xC0 == 0x80 {}
    }
    return stem + mark + end
  }
}

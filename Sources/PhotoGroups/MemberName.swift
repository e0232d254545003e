package import AlbumModel

/// The name of a file in its group, and the names that it gets where that one is taken. All members of a
/// group get the same number, so that they still belong together by their names.
package struct MemberName: Hashable, Sendable {
  package let name: FileName
  private let form: Form

  private indirect enum Form: Hashable, Sendable {
    /// The number goes before the last dot.
    case single
    /// The number goes behind the first `length` bytes, which are those of the group. `mark` is what shows
    /// there in a name that follows another file: `-edited`.
    case stem(length: Int, mark: [UInt8])
    /// It is named after another file, by an ending: `IMG_1.JPG.xmp`.
    case behind(MemberName, suffix: [UInt8])
  }

  /// A file that belongs to no other.
  package init(_ name: FileName) { (self.name, form) = (name, .single) }

  init(_ name: FileName, stem length: Int, mark: [UInt8] = []) {
    self.name = name
    form = .stem(length: length, mark: mark)
  }

  /// `name` may be a form of that name that is cut short, or numbered in another way.
  init(_ name: FileName, behind file: MemberName, suffix: [UInt8]) {
    self.name = name
    form = .behind(file, suffix: suffix)
  }

  /// `IMG_1.jpg`, `IMG_1 (2).jpg`, `IMG_1 (3).jpg` … and beside them `IMG_1.jpg.xmp`, `IMG_1 (2).jpg.xmp` …
  package func numbered(_ number: Int) -> FileName {
    if number == 1 { return name }
    switch form {
    case .single: return NumberedName.of(name, number)
    case .stem(let length, _): return NumberedName.of(name, number, behind: length)
    case .behind(let file, let suffix):
      return MemberName.joined(file.numbered(number).bytes, suffix) ?? NumberedName.of(name, number)
    }
  }

  /// The number that a name of this file has; nil if it is none of its names.
  package func number(of candidate: FileName) -> Int? {
    if candidate == name { return 1 }
    let bytes = candidate.bytes
    for place in bytes.indices where bytes[place] == UInt8(ascii: "(") {
      let digits = bytes[(place + 1)...].prefix { 48...57 ~= $0 }
      if let number = Int(String(decoding: digits, as: UTF8.self)), number > 1,
        numbered(number) == candidate
      {
        return number
      }
    }
    return nil
  }

  /// The name beside a file that has this content as another one: `holiday.jpg` makes `IMG_1.MOV` to
  /// `holiday.MOV`.
  package func following(_ leader: FileName) -> FileName {
    let end = leader.bytes.lastIndex(of: UInt8(ascii: ".")) ?? leader.bytes.count
    let stem = end == 0 ? leader.bytes : Array(leader.bytes[..<end])
    switch form {
    case .single: return name
    case .stem(let length, let mark):
      return MemberName.joined(stem, mark + name.bytes[length...]) ?? name
    case .behind(_, let suffix): return MemberName.joined(leader.bytes, suffix) ?? name
    }
  }

  /// nil if the name would be too long.
  private static func joined(_ start: [UInt8], _ end: [UInt8]) -> FileName? {
    try? FileName(start + end)
  }
}

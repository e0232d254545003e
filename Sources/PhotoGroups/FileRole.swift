import AlbumModel
import FileKinds

/// What a file is in its group, by its name alone.
struct FileRole {
  let name: FileName
  /// Never `edited`: whether a file is a twin depends on the files beside it.
  let kind: GroupPart
  /// The length of the name without its ending.
  let stemLength: Int
  /// The name that the group has before the dot. An edited twin has that of its original.
  let key: [UInt8]
  /// The mark of an edited twin, as it shows behind another stem; empty for any other file.
  let mark: [UInt8]

  var stem: [UInt8] { Array(name.bytes.prefix(stemLength)) }
  var isEdited: Bool { !mark.isEmpty }

  init(_ name: FileName) {
    self.name = name
    let dot = name.bytes.lastIndex(of: UInt8(ascii: ".")) ?? 0
    stemLength = dot == 0 ? name.bytes.count : dot
    kind = FileRole.kind(name, ending: dot == 0 ? [] : name.bytes[(dot + 1)...])
    (key, mark) = FileRole.original(of: Array(name.bytes.prefix(stemLength)))
  }

  /// In small letters. `wav` are voices that cameras keep beside a photo, `srt` what a drone knew of a film.
  private static let sidecars: Set<String> = [
    "xmp", "aae", "thm", "lrv", "lrf", "json", "pp3", "dop", "wav", "srt",
  ]

  private static func kind(_ name: FileName, ending: ArraySlice<UInt8>) -> GroupPart {
    let ending = String(decoding: ending, as: UTF8.self).lowercased()
    if sidecars.contains(ending) { return .sidecar }
    switch NamedKind(of: name.bytes) {
    case .picture: return ImageKind.isRaw(ending: ending) ? .rawPicture : .picture
    case .film: return .film
    case .other: return .other
    }
  }

  // MARK: Edited twins

  /// What Google Photos writes behind the name of a photo that was edited there, by its language.
  private static let editedWords = [
    "-edited", "-effects", "-smile", "-mix", "-bearbeitet", "-modifié", "-editado", "-modificato",
    "-bewerkt", "-edytowane", "-redigerad", "-redigeret", "-redigert", "-muokattu", "-編集済み",
  ].map { Array($0.utf8) }

  /// The stem of the original, and the mark. For a file that is no twin, its own stem and nothing.
  private static func original(of stem: [UInt8]) -> (key: [UInt8], mark: [UInt8]) {
    if let digits = appleNumber(stem) {
      return (Array("IMG_".utf8) + digits, Array("-edited".utf8))
    }
    // A number of a file manager or of Google may stand on either side of the mark.
    let (rest, number) = numberAtEnd(stem)
    if isLibraryPart(rest) { return (Array(rest.dropLast(2)) + number, []) }
    for word in editedWords
    where rest.count > word.count && rest.suffix(word.count).elementsEqual(word) {
      return (Array(rest.dropLast(word.count)) + number, word)
    }
    return (stem, [])
  }

  /// Apple names the edited form of IMG_1234 IMG_E1234, and the changes that led from the original IMG_O1234.
  private static func appleNumber(_ stem: [UInt8]) -> ArraySlice<UInt8>? {
    guard stem.starts(with: "IMG_E".utf8) || stem.starts(with: "IMG_O".utf8) else { return nil }
    let rest = stem.dropFirst(5)
    return rest.prefix { 48...57 ~= $0 }.count == 4 ? rest : nil
  }

  /// A library of Apple's Photos names files by UUIDs: the film of a Live Photo is `UUID_3.mov`, and the raw
  /// picture beside a JPEG `UUID_4.dng`.
  private static func isLibraryPart(_ stem: [UInt8]) -> Bool {
    guard stem.count == 38, stem[36] == UInt8(ascii: "_"), 48...57 ~= stem[37] else { return false }
    return stem[..<36].enumerated().allSatisfy { place, byte in
      [8, 13, 18, 23].contains(place)
        ? byte == UInt8(ascii: "-") : 48...57 ~= byte || 65...70 ~= byte & 0xDF
    }
  }

  /// Splits `IMG_1 (2)` and `IMG_1(2)` before the number.
  static func numberAtEnd(_ stem: [UInt8]) -> (rest: [UInt8], number: [UInt8]) {
    guard stem.last == UInt8(ascii: ")"), let open = stem.lastIndex(of: UInt8(ascii: "(")),
      open > 0
    else { return (stem, []) }
    let digits = stem[(open + 1)...].dropLast()
    if digits.isEmpty || !digits.allSatisfy({ 48...57 ~= $0 }) { return (stem, []) }
    let start = stem[open - 1] == UInt8(ascii: " ") ? open - 1 : open
    return (Array(stem[..<start]), Array(stem[start...]))
  }
}

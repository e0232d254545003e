package import AlbumModel
import FileKinds

/// What a search tells photos apart by, besides words and dates.
package struct PhotoKinds: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let photo = PhotoKinds(rawValue: 1)
  package static let video = PhotoKinds(rawValue: 2)
  package static let raw = PhotoKinds(rawValue: 4)
  package static let panorama = PhotoKinds(rawValue: 8)
  /// A photo with the film of its moment: a Live Photo. A name alone does not say so.
  package static let live = PhotoKinds(rawValue: 16)
  package static let screenshot = PhotoKinds(rawValue: 32)
  package static let favourite = PhotoKinds(rawValue: 64)

  /// What the facts and the name of a file say. A listing may know the name alone.
  package init(name: FileName, _ facts: KnownFacts) {
    self = []
    switch NamedKind(of: name.bytes) {
    case .film: insert(.video)
    case .picture: insert(.photo)
    case .other: if facts.dimensions != nil { insert(facts.duration == nil ? .photo : .video) }
    }
    if facts.isFavourite { insert(.favourite) }
    if ImageKind.isRaw(ending: PhotoKinds.ending(of: name.bytes)) { insert(.raw) }
    if PhotoKinds.isScreenshot(name.bytes) {
      insert(.screenshot)
    } else if contains(.photo), let dimensions = facts.dimensions,
      PhotoKinds.isPanorama(dimensions)
    {
      insert(.panorama)
    }
  }

  private static func ending(of name: [UInt8]) -> String {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return "" }
    return String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()
  }

  /// Wider than any sensor and any screen, and too large for a strip that was cut out.
  private static func isPanorama(_ size: PictureDimensions) -> Bool {
    let (long, short) = (max(size.width, size.height), min(size.width, size.height))
    return long >= 3000 && long * 10 >= short * 22
  }

  private static let screenshots = [
    "screenshot", "screen shot", "bildschirmfoto", "bildschirmaufnahme",
  ].map { Array($0.utf8) }

  private static func isScreenshot(_ name: [UInt8]) -> Bool {
    let words = SearchText.words(name)
    return screenshots.contains { words.starts(with: $0) }
  }
}

/// Everything that a mount knows of a photo. It is the value of one extended attribute, so that a search asks
/// once for each file.
///
/// The value is a list of `name=value`, with a zero byte behind each. Names are those of the attributes
/// without `user.albumfs.`.
package struct KnownFacts: Equatable, Sendable {
  package static let attribute = "user.albumfs.facts"

  /// The attributes whose values are in it.
  package static let names =
    ["taken", "dimensions", "duration", "camera", "lens", "dhash", "rotation"]
    + PhotoNote.allCases.map(\.rawValue)

  /// How much of each value is in it, in bytes: the kernel passes 64 KiB at most.
  package static let valueLimit = 7 << 10

  package var taken: CaptureTime?
  package var dimensions: PictureDimensions?
  package var duration: VideoDuration?
  package var camera: String?
  package var lens: String?
  package var hash: PictureHash?
  /// How the user has turned it.
  package var rotation: String?
  package var caption: String?
  package var isFavourite = false
  /// Stars from 1 to 5, or -1 for a photo that was rejected.
  package var rating: Int?
  package var tags: [String] = []
  package var people: [String] = []
  package var place: GeographicPlace?

  package init() {}

  /// Skips what says nothing.
  package init(_ bytes: [UInt8]) {
    for field in bytes.split(separator: 0) {
      guard let end = field.firstIndex(of: UInt8(ascii: "=")) else { continue }
      take(String(decoding: field[..<end], as: UTF8.self), Array(field[(end + 1)...]))
    }
  }

  private mutating func take(_ name: String, _ value: [UInt8]) {
    let text = String(decoding: value, as: UTF8.self)
    switch name {
    case "taken": taken = CaptureTime(value)
    case "dimensions": dimensions = PictureDimensions(value)
    case "duration": duration = VideoDuration(value)
    case "camera": camera = CameraName(value)?.text
    case "lens": lens = CameraName(value)?.text
    case "dhash": hash = PictureHash(value)
    case "rotation": rotation = text
    default: take(PhotoNote(rawValue: name), text)
    }
  }

  private mutating func take(_ note: PhotoNote?, _ text: String) {
    switch note {
    case .caption: caption = text
    case .favourite: isFavourite = true
    case .rating: rating = Int(text)
    case .tags: tags = text.split(separator: "\n").map(String.init)
    case .people: people = text.split(separator: "\n").map(String.init)
    case .place: place = GeographicPlace(text)
    case nil: break
    }
  }

  /// The value of the attribute; nil if nothing is known.
  package static func value(_ values: (_ name: String) -> [UInt8]?) -> [UInt8]? {
    var bytes: [UInt8] = []
    for name in names {
      guard let value = values(name) else { continue }
      bytes += Array("\(name)=".utf8) + value.prefix(valueLimit).filter { $0 != 0 } + [0]
    }
    return bytes.isEmpty ? nil : bytes
  }
}

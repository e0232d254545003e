/// The facts that the thumbnailer reports about a picture besides its thumbnail.
package struct PictureFacts: Equatable, Sendable {
  package var dimensions: PictureDimensions?
  package var taken: CaptureTime?
  /// Of a video.
  package var duration: VideoDuration?
  package var camera: CameraName?
  package var lens: CameraName?
  package var hash: PictureHash?
  package var place: GeographicPlace?

  package init(
    dimensions: PictureDimensions? = nil, taken: CaptureTime? = nil,
    duration: VideoDuration? = nil, camera: CameraName? = nil, lens: CameraName? = nil,
    hash: PictureHash? = nil, place: GeographicPlace? = nil
  ) {
    self.dimensions = dimensions
    self.taken = taken
    self.duration = duration
    self.camera = camera
    self.lens = lens
    self.hash = hash
    self.place = place
  }
}

/// The duration of a video. Its text is in seconds with three digits behind the point: `12.480`.
package struct VideoDuration: Equatable, Sendable, BitwiseCopyable {
  package let milliseconds: Int

  /// Up to 49 days.
  package static let range = 1...Int(UInt32.max)

  /// nil outside `range`.
  package init?(milliseconds: Int) {
    guard VideoDuration.range ~= milliseconds else { return nil }
    self.milliseconds = milliseconds
  }

  /// Reads the text; nil for anything else.
  package init?(_ text: [UInt8]) {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 2, 1...7 ~= parts[0].count, parts[1].count == 3,
      parts.joined().allSatisfy({ 48...57 ~= $0 }),
      parts[0].count == 1 || parts[0].first != UInt8(ascii: "0")
    else { return nil }
    self.init(milliseconds: parts.joined().reduce(0) { $0 * 10 + Int($1) - 48 })
  }

  package var text: String {
    let rest = "\(milliseconds % 1000)"
    return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}

/// Width and height of the upright picture, in pixels. Their text is `4000x3000`.
package struct PictureDimensions: Equatable, Sendable, BitwiseCopyable {
  package let width: Int
  package let height: Int

  /// No kind of picture has more.
  static let edges = 1...100_000_000

  /// nil outside `edges`.
  package init?(width: Int, height: Int) {
    guard PictureDimensions.edges ~= width, PictureDimensions.edges ~= height else { return nil }
    (self.width, self.height) = (width, height)
  }

  /// Reads the text; nil for anything else.
  package init?(_ text: [UInt8]) {
    let parts = text.split(separator: UInt8(ascii: "x"), omittingEmptySubsequences: false)
    guard parts.count == 2, let width = PictureDimensions.edge(parts[0]),
      let height = PictureDimensions.edge(parts[1])
    else { return nil }
    self.init(width: width, height: height)
  }

  package var text: String { "\(width)x\(height)" }

  private static func edge(_ digits: ArraySlice<UInt8>) -> Int? {
    guard 1...9 ~= digits.count, digits.allSatisfy({ 48...57 ~= $0 }),
      digits.first != UInt8(ascii: "0")
    else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1) - 48 }
  }
}

/// Clockwise turns by which a photo is shown, beside the orientation that its content states. Raw values are
/// stored and never change their meaning.
package enum Rotation: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  case none = 0
  case quarter = 1
  case half = 2
  case threeQuarters = 3

  /// `0`, `90`, `180` or `270`.
  var text: String { "\(Int(rawValue) * 90)" }

  /// Reads the text; nil for anything else.
  package init?(_ text: [UInt8]) {
    guard let found = Rotation.allCases.first(where: { text.elementsEqual($0.text.utf8) }) else {
      return nil
    }
    self = found
  }

  /// True if width and height change places.
  package var isSideways: Bool { self == .quarter || self == .threeQuarters }
}

/// One content of a photo, from which a thumbnail is made, and how it is turned. Each change of the content
/// makes a new version.
package struct PhotoVersion: Hashable, Sendable, BitwiseCopyable {
  package var inode: InodeNumber
  package var version: UInt64
  package var rotation: Rotation
  package init(inode: InodeNumber, version: UInt64, rotation: Rotation = .none) {
    self.inode = inode
    self.version = version
    self.rotation = rotation
  }
}

/// Why a photo has no thumbnail. Raw values are stored and never change their meaning.
package enum ThumbnailFailure: UInt8, Error, CaseIterable, Sendable {
  /// The content is not a picture of a supported kind.
  case notAPicture = 1
  /// It has more bytes or pixels than the limit, or needs more memory than the decoder has.
  case tooLarge = 2
  /// The decoder could decode no part of it.
  case damaged = 3
  /// The decoder's process died with this photo, and so did a fresh one.
  case workerDied = 4
  /// The decoder did not finish in time.
  case timedOut = 5
  /// The decoder itself failed.
  case `internal` = 6
}

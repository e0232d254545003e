import AlbumModel

/// The attribute of a thumbnail's inode that holds the facts of its photo. Requests for attributes do not
/// reach it.
///
/// Its value: dimensions, time of capture and duration of a video, with spaces between and `-` for what is
/// unknown; then a tab, the camera, a tab, the lens, a tab, the perceptual hash, a tab and
/// the place.
enum StoredFacts {
  static let attribute = Array("albumfs.picture".utf8)

  static func encode(_ facts: PictureFacts) -> [UInt8] {
    let numbers = [facts.dimensions?.text, facts.taken?.text, facts.duration?.text]
    let line = numbers.map { $0 ?? "-" }.joined(separator: " ")
    let texts = [facts.camera?.text, facts.lens?.text, facts.hash?.text, facts.place?.text]
    return Array(([line] + texts.map { $0 ?? "" }).joined(separator: "\t").utf8)
  }

  static func decode(_ stored: [UInt8]) -> PictureFacts {
    let fields = fields(stored)
    let numbers = fields[0].split(separator: UInt8(ascii: " "))
    return PictureFacts(
      dimensions: numbers.first.flatMap { PictureDimensions(Array($0)) },
      taken: numbers.count > 1 ? CaptureTime(Array(numbers[1])) : nil,
      duration: numbers.count > 2 ? VideoDuration(Array(numbers[2])) : nil,
      camera: fields.count > 1 ? CameraName(Array(fields[1])) : nil,
      lens: fields.count > 2 ? CameraName(Array(fields[2])) : nil,
      hash: fields.count > 3 ? PictureHash(Array(fields[3])) : nil,
      place: fields.count > 4 ? GeographicPlace(String(decoding: fields[4], as: UTF8.self)) : nil)
  }

  /// True if everything was looked for that is now.
  static func isComplete(_ stored: [UInt8]) -> Bool { fields(stored).count > 4 }

  private static func fields(_ stored: [UInt8]) -> [ArraySlice<UInt8>] {
    stored.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
  }
}

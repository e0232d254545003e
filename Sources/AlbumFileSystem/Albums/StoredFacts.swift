import AlbumModel

/// The attribute of a thumbnail's inode that holds the facts of its photo. Requests for attributes do not
/// reach it.
///
/// Its value: dimensions, time of capture and duration of a video, with spaces between and `-` for what is
/// unknown; then a tab, the camera, a tab and the lens.
enum StoredFacts {
  static let attribute = Array("albumfs.picture".utf8)

  static func encode(_ facts: PictureFacts) -> [UInt8] {
    let numbers = [facts.dimensions?.text, facts.taken?.text, facts.duration?.text]
    let line = numbers.map { $0 ?? "-" }.joined(separator: " ")
    return Array("\(line)\t\(facts.camera?.text ?? "")\t\(facts.lens?.text ?? "")".utf8)
  }

  static func decode(_ stored: [UInt8]) -> PictureFacts {
    let fields = fields(stored)
    let numbers = fields[0].split(separator: UInt8(ascii: " "))
    return PictureFacts(
      dimensions: numbers.first.flatMap { PictureDimensions(Array($0)) },
      taken: numbers.count > 1 ? CaptureTime(Array(numbers[1])) : nil,
      duration: numbers.count > 2 ? VideoDuration(Array(numbers[2])) : nil,
      camera: fields.count > 1 ? CameraName(Array(fields[1])) : nil,
      lens: fields.count > 2 ? CameraName(Array(fields[2])) : nil)
  }

  /// True if the camera was looked for.
  static func isComplete(_ stored: [UInt8]) -> Bool { fields(stored).count > 2 }

  private static func fields(_ stored: [UInt8]) -> [ArraySlice<UInt8>] {
    stored.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
  }
}

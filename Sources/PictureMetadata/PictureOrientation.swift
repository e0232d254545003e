/// How the content of a picture lies, as its EXIF data say. In the containers that `CaptureDate` knows.
package enum PictureOrientation {
  private static let readLimit = 100

  /// True if width and height change places when the picture is shown upright.
  package static func isSideways(size: Int64, _ read: CaptureDate.Read) -> Bool {
    var readsLeft = readLimit
    return find(size: size) { (count: Int, offset: Int64) -> [UInt8]? in
      readsLeft -= 1
      return readsLeft < 0 ? nil : read(count, offset)
    }.map { $0 > 4 } ?? false
  }

  private static func find(size: Int64, _ read: CaptureDate.Read) -> Int? {
    guard let head = read(12, 0), head.count == 12 else { return nil }
    for block in MetadataBlocks.find(head, size: size, read).exif {
      if let orientation = ExifBlock.orientation(in: block, read) { return orientation }
    }
    return nil
  }
}

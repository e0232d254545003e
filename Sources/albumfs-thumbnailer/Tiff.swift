import CTiff

/// Wraps libtiff; no other file calls it. libvips reads TIFFs through it as well, but leaves brightness and
/// differences of colours as they are, and refuses tiles whose colours lie apart from one another. For one
/// thread.
@safe
struct Tiff: ~Copyable {
  private let memory: UnsafeMutablePointer<ctiff_memory>
  private let raw: OpaquePointer
  let width: Int
  let height: Int
  private static let pixelLimit = 50_000_000

  /// nil if it is no TIFF. The bytes must outlive it.
  init?(_ picture: UnsafeRawBufferPointer) {
    ctiff_quiet()
    let memory = UnsafeMutablePointer<ctiff_memory>.allocate(capacity: 1)
    unsafe memory.initialize(
      to: ctiff_memory(
        bytes: picture.baseAddress?.assumingMemoryBound(to: UInt8.self),
        count: UInt64(picture.count),
        place: 0))
    guard let raw = unsafe ctiff_open(memory) else {
      unsafe memory.deallocate()
      return nil
    }
    unsafe (self.memory, self.raw) = (memory, raw)
    unsafe width = Int(ctiff_long(raw, UInt32(TIFFTAG_IMAGEWIDTH)))
    unsafe height = Int(ctiff_long(raw, UInt32(TIFFTAG_IMAGELENGTH)))
  }

  deinit {
    unsafe TIFFClose(raw)
    unsafe memory.deallocate()
  }

  /// True if the samples are brightness and differences of colours, which no JPEG inside converts.
  var isOfDifferences: Bool {
    unsafe ctiff_short(raw, UInt32(TIFFTAG_PHOTOMETRIC)) == PHOTOMETRIC_YCBCR
      && ctiff_short(raw, UInt32(TIFFTAG_COMPRESSION)) != COMPRESSION_JPEG
  }

  /// Red, green and blue of each pixel of the first page, row by row, not turned; nil if libtiff fails.
  func decoded() -> [UInt8]? {
    let (count, overflow) = width.multipliedReportingOverflow(by: height)
    guard !overflow, count > 0, count <= Tiff.pixelLimit else { return nil }
    var pixels = [UInt32](repeating: 0, count: count)
    guard unsafe ctiff_decode(raw, &pixels, UInt32(width), UInt32(height)) == 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(3 * count)
    for pixel in pixels {
      for shift: UInt32 in [0, 8, 16] { bytes.append(UInt8(truncatingIfNeeded: pixel >> shift)) }
    }
    return bytes
  }
}

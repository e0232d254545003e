import CTestVips
import Glibc

/// libvips in this process: its program takes twenty times longer to start than to encode a small picture.
enum TestVips {
  struct Failed: Error { var message: String }

  private static let isStarted = ctestvips_start() == 0

  /// `format` is the ending of a file name with options of libvips, such as `jpg[Q=90]`.
  static func encode(_ picture: [UInt8], as format: String) throws -> [UInt8] {
    guard isStarted else { throw failure }
    var bytes: UnsafeMutableRawPointer?
    var count = 0
    let result = unsafe picture.withUnsafeBytes {
      unsafe ctestvips_encode($0.baseAddress, $0.count, "." + format, &bytes, &count)
    }
    guard result == 0 else { throw failure }
    defer { unsafe g_free(bytes) }
    return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  static func decode(_ picture: [UInt8]) throws -> Pixels {
    guard isStarted else { throw failure }
    var (width, height, bands) = (CInt(0), CInt(0), CInt(0))
    var samples: UnsafeMutableRawPointer?
    var count = 0
    let result = unsafe picture.withUnsafeBytes {
      unsafe ctestvips_decode(
        $0.baseAddress, $0.count, &width, &height, &bands, &samples, &count)
    }
    guard result == 0 else { throw failure }
    defer { unsafe g_free(samples) }
    return unsafe Pixels(
      width: Int(width), height: Int(height), bands: Int(bands),
      bytes: Array(UnsafeRawBufferPointer(start: samples, count: count)))
  }

  private static var failure: Failed {
    defer { vips_error_clear() }
    return unsafe Failed(message: String(cString: vips_error_buffer()))
  }
}

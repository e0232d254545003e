internal import CZlib

/// Decompresses short texts in zlib's format (RFC 1950).
enum Inflation {
  /// nil if the data is damaged or inflates to more than `limit` bytes.
  static func inflated(zlib data: ArraySlice<UInt8>, atMost limit: Int) -> [UInt8]? {
    var output = [UInt8](repeating: 0, count: limit)
    var count = uLongf(limit)
    let isWhole = unsafe data.withUnsafeBufferPointer { input in
      unsafe uncompress(&output, &count, input.baseAddress, uLong(input.count)) == Z_OK
    }
    return isWhole ? Array(output.prefix(Int(count))) : nil
  }
}

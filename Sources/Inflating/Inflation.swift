internal import CZlib

/// Decompresses short texts in zlib's format (RFC 1950).
package enum Inflation {
  /// nil if the data is damaged or inflates to more than `limit` bytes.
  package static func inflated(zlib data: ArraySlice<UInt8>, atMost limit: Int) -> [UInt8]? {
    var output = [UInt8](repeating: 0, count: limit)
    var count = uLongf(limit)
    let isWhole = unsafe data.withUnsafeBufferPointer { input in
      unsafe uncompress(&output, &count, input.baseAddress, uLong(input.count)) == Z_OK
    }
    return isWhole ? Array(output.prefix(Int(count))) : nil
  }

  /// Compresses a short text.
  package static func deflated(zlib data: [UInt8]) -> [UInt8] {
    var count = compressBound(uLong(data.count))
    var output = [UInt8](repeating: 0, count: Int(count))
    let code = unsafe compress(&output, &count, data, uLong(data.count))
    precondition(code == Z_OK, "zlib compresses any text into the room that it asks for")
    return Array(output.prefix(Int(count)))
  }
}

/// Decompresses a file in pieces, without a head (RFC 1951), as zip files hold them.
@safe package struct InflationStream: ~Copyable {
  package struct Damaged: Error {}

  private let stream: UnsafeMutablePointer<z_stream>
  package private(set) var isAtEnd = false

  package init() throws(Damaged) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    // Minus 15: the greatest window, and no head.
    let size = CInt(unsafe MemoryLayout<z_stream>.size)
    if unsafe inflateInit2_(stream, -15, ZLIB_VERSION, size) != Z_OK { throw Damaged() }
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Decompresses a piece, and calls `body` with each part of the result, which is at most 256 KiB long.
  /// Stops when `body` throws.
  package mutating func add<Failure>(
    _ piece: [UInt8], _ damaged: Failure, _ body: ([UInt8]) throws(Failure) -> Void
  ) throws(Failure) {
    var (input, output) = (piece, [UInt8](repeating: 0, count: 256 << 10))
    var used = 0
    while !isAtEnd {
      let (left, room) = (input.count - used, output.count)
      var (code, rest, free) = (Z_OK, 0, 0)
      unsafe input.withUnsafeMutableBufferPointer { from in
        unsafe output.withUnsafeMutableBufferPointer { to in
          unsafe stream.pointee.next_in = from.baseAddress.map { unsafe $0 + used }
          unsafe stream.pointee.avail_in = uInt(left)
          unsafe stream.pointee.next_out = to.baseAddress
          unsafe stream.pointee.avail_out = uInt(room)
          code = unsafe inflate(stream, Z_NO_FLUSH)
          (rest, free) = unsafe (Int(stream.pointee.avail_in), Int(stream.pointee.avail_out))
        }
      }
      used = input.count - rest
      isAtEnd = code == Z_STREAM_END
      // Z_BUF_ERROR: it needs the next piece.
      if code != Z_OK, code != Z_STREAM_END, code != Z_BUF_ERROR { throw damaged }
      if free < room { try body(Array(output[..<(room - free)])) }
      if rest == 0, free > 0 { return }
    }
  }
}

import AlbumModel

/// Runs `body` with a buffer that has the headroom for readers; returns the bytes that it filled.
package func withHeadroom<E: Error>(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int?
) throws(E) -> [UInt8]? {
  let memory = UnsafeMutableRawBufferPointer.allocate(
    byteCount: count + ReadHeadroom.byteCount, alignment: 64)
  defer { unsafe memory.deallocate() }
  unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xAA)
  let buffer = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[ReadHeadroom.byteCount...])
  guard let filled = try unsafe body(buffer) else { return nil }
  return unsafe Array(buffer[..<filled])
}

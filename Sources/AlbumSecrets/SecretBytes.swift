/// Secret bytes in memory between guard pages, locked against swapping, excluded from core dumps, and wiped
/// at the end of life. Never copied implicitly, never printed.
///
/// The length does not change. Threads may pass it on, and several may read it at once.
@safe package struct SecretBytes: ~Copyable, @unchecked Sendable {
  // @unchecked because the pointer is owned: only `mutating` calls write, and those are exclusive.
  private let memory: UnsafeMutableRawBufferPointer

  /// `fill` writes the `count` bytes in place.
  package init<Failure: Error>(
    count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    unsafe memory = Sodium.allocate(count)
    unsafe Sodium.wipe(memory)
    try unsafe fill(memory)
  }

  /// `count` random bytes.
  package init(randomCount count: Int) {
    unsafe self.init(count: count) { unsafe Sodium.random($0) }
  }

  /// Copies `bytes`; the caller wipes the original.
  package init(copying bytes: UnsafeRawBufferPointer) {
    unsafe self.init(count: bytes.count) { unsafe $0.copyMemory(from: bytes) }
  }

  /// Copies the bytes and wipes the array, whose memory must have no other owner.
  package init(wiping bytes: inout [UInt8]) {
    unsafe self.init(count: bytes.count) { secret in
      unsafe bytes.withUnsafeMutableBytes {
        unsafe secret.copyMemory(from: UnsafeRawBufferPointer($0))
        unsafe Sodium.wipe($0)
      }
    }
    bytes = []
  }

  deinit { unsafe Sodium.free(memory) }

  package var count: Int { unsafe memory.count }
  package var isEmpty: Bool { unsafe memory.isEmpty }

  /// Passes the bytes to `body`, valid during the call.
  package func withUnsafeBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(UnsafeRawBufferPointer(memory))
  }

  /// Passes the bytes to `body` for changes, valid during the call.
  package mutating func withUnsafeMutableBytes<Result: ~Copyable, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(memory)
  }

  /// A second instance with the same bytes.
  package func copy() -> SecretBytes { unsafe SecretBytes(copying: UnsafeRawBufferPointer(memory)) }

  /// Compares in a time that depends only on the lengths.
  package func isEqual(to other: borrowing SecretBytes) -> Bool {
    unsafe Sodium.areEqual(
      UnsafeRawBufferPointer(memory), UnsafeRawBufferPointer(other.memory))
  }
}

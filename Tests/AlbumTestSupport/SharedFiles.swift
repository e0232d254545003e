import Posix

/// Pictures and videos that several tests of a process need. Each is made once.
enum SharedFiles {
  private static let made = Mutex<[String: [UInt8]]>([:], rank: .leaf)

  /// Two tests may make the same file at once, and both get a good one.
  static func file(_ name: String, _ make: () throws -> [UInt8]) throws -> [UInt8] {
    if let known = made.withLock({ $0[name] }) { return known }
    let new = try make()
    made.withLock { $0[name] = new }
    return new
  }
}

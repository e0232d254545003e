/// What protects the machine from this cell, and what it can decode: the first message of a cell.
///
///     offset  size
///          0     4  bit 0: Landlock is in force; bit 1: the seccomp filter is
///          4     4  bit n: pictures of the ImageKind with raw value n can be read
package struct CellReport: Equatable, Sendable {
  static let byteCount = 8

  /// False on kernels without Landlock: the seccomp filter alone keeps files out of reach then.
  package var hasLandlock: Bool
  package var hasSeccomp: Bool
  package var readable: Set<ImageKind>

  package init(hasLandlock: Bool, hasSeccomp: Bool, readable: Set<ImageKind>) {
    self.hasLandlock = hasLandlock
    self.hasSeccomp = hasSeccomp
    self.readable = readable
  }

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt32((hasLandlock ? 1 : 0) | (hasSeccomp ? 2 : 0)))
    bytes.append(littleEndian: readable.reduce(UInt32(0)) { $0 | 1 << UInt32($1.rawValue) })
    return bytes
  }

  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> CellReport {
    let protection = try bytes.number(UInt32.self, at: 0)
    var kinds = try bytes.number(UInt32.self, at: 4)
    guard protection & ~3 == 0 else { throw .reservedBytes }
    var readable: Set<ImageKind> = []
    for kind in ImageKind.allCases where kinds & 1 << UInt32(kind.rawValue) != 0 {
      readable.insert(kind)
      kinds &= ~(1 << UInt32(kind.rawValue))
    }
    guard kinds == 0 else { throw .unknownKind }
    return CellReport(
      hasLandlock: protection & 1 != 0, hasSeccomp: protection & 2 != 0, readable: readable)
  }
}

/// What came of each thing that the cell must not be able to do: its errno, 0 when it succeeded.
///
///     offset  size
///          0     4  opening a file for reading
///          4     4  making a socket
///          8     4  forking
///         12     4  executing a program
///         16     4  memory that is writable and executable
package struct ProbeReport: Equatable, Sendable {
  static let byteCount = 20

  package var open: UInt32
  package var socket: UInt32
  package var fork: UInt32
  package var execute: UInt32
  package var executableMemory: UInt32

  package init(
    open: UInt32, socket: UInt32, fork: UInt32, execute: UInt32, executableMemory: UInt32
  ) {
    self.open = open
    self.socket = socket
    self.fork = fork
    self.execute = execute
    self.executableMemory = executableMemory
  }

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    for result in [open, socket, fork, execute, executableMemory] {
      bytes.append(littleEndian: result)
    }
    return bytes
  }

  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> ProbeReport {
    ProbeReport(
      open: try bytes.number(UInt32.self, at: 0),
      socket: try bytes.number(UInt32.self, at: 4),
      fork: try bytes.number(UInt32.self, at: 8),
      execute: try bytes.number(UInt32.self, at: 12),
      executableMemory: try bytes.number(UInt32.self, at: 16))
  }
}

package import FileKinds

/// The first message of a cell: its protection, and the kinds that it can decode.
///
///     offset  size
///          0     4  bit 0: Landlock is in force; bit 1: the seccomp filter is; bit 2: the kernel bounds
///                   the number of threads
///          4     4  bit n: pictures of the ImageKind with raw value n can be read
package struct CellReport: Equatable, Sendable {
  static let byteCount = 8

  /// False on kernels without Landlock; then the seccomp filter alone blocks access to files.
  package var hasLandlock: Bool
  package var hasSeccomp: Bool
  /// False if the kernel has no user namespace for the cell; then only the daemon counts its threads.
  package var boundsThreads: Bool
  package var readable: Set<ImageKind>

  package init(
    hasLandlock: Bool, hasSeccomp: Bool, boundsThreads: Bool, readable: Set<ImageKind>
  ) {
    self.hasLandlock = hasLandlock
    self.hasSeccomp = hasSeccomp
    self.boundsThreads = boundsThreads
    self.readable = readable
  }

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(
      littleEndian: UInt32((hasLandlock ? 1 : 0) | (hasSeccomp ? 2 : 0) | (boundsThreads ? 4 : 0)))
    bytes.append(littleEndian: readable.reduce(UInt32(0)) { $0 | 1 << UInt32($1.rawValue) })
    return bytes
  }

  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> CellReport {
    let protection = try bytes.number(UInt32.self, at: 0)
    var kinds = try bytes.number(UInt32.self, at: 4)
    guard protection & ~7 == 0 else { throw .reservedBytes }
    var readable: Set<ImageKind> = []
    for kind in ImageKind.allCases where kinds & 1 << UInt32(kind.rawValue) != 0 {
      readable.insert(kind)
      kinds &= ~(1 << UInt32(kind.rawValue))
    }
    guard kinds == 0 else { throw .unknownKind }
    return CellReport(
      hasLandlock: protection & 1 != 0, hasSeccomp: protection & 2 != 0,
      boundsThreads: protection & 4 != 0, readable: readable)
  }
}

/// The results of system calls that the cell must refuse.
///
///     offset  size
///          0     4  signalling itself, which it may: errno, 0 when it succeeded
///          4     4  threads that it could have at once
///          8     4  bytes of blocks given back to malloc that new blocks still showed
///         12        the tries, each of 32 bytes: a name of printable ASCII, filled up with zeros to 28,
///                   and the errno, 0 when it succeeded
package struct ProbeReport: Equatable, Sendable {
  package struct Try: Equatable, Sendable {
    package var name: String
    package var error: UInt32

    package init(name: String, error: UInt32) {
      self.name = name
      self.error = error
    }
  }

  static let headByteCount = 12
  static let tryByteCount = 32
  static let nameByteCount = 28
  static let tryLimit = 128

  package var ownSignal: UInt32
  package var threads: UInt32
  package var oldBytes: UInt32
  package var tries: [Try]

  package init(ownSignal: UInt32, threads: UInt32, oldBytes: UInt32, tries: [Try]) {
    self.ownSignal = ownSignal
    self.threads = threads
    self.oldBytes = oldBytes
    self.tries = tries
  }

  func encode() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: ownSignal)
    bytes.append(littleEndian: threads)
    bytes.append(littleEndian: oldBytes)
    for one in tries.prefix(ProbeReport.tryLimit) {
      let name = Reason.encode(one.name).prefix(ProbeReport.nameByteCount)
      bytes += name + [UInt8](repeating: 0, count: ProbeReport.nameByteCount - name.count)
      bytes.append(littleEndian: one.error)
    }
    return bytes
  }

  static func decode(_ bytes: [UInt8]) throws(MalformedMessage) -> ProbeReport {
    var report = ProbeReport(
      ownSignal: try bytes.number(UInt32.self, at: 0),
      threads: try bytes.number(UInt32.self, at: 4),
      oldBytes: try bytes.number(UInt32.self, at: 8), tries: [])
    for start in stride(from: headByteCount, to: bytes.count, by: tryByteCount) {
      let error = try bytes.number(UInt32.self, at: start + nameByteCount)
      let field = bytes[start..<start + nameByteCount]
      let name = field.prefix { $0 != 0 }
      try bytes.requireZero(name.endIndex..<field.endIndex)
      report.tries.append(Try(name: try Reason.decode(Array(name)), error: error))
    }
    return report
  }
}

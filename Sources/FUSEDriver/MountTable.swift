internal import Glibc
package import Posix

/// One line of /proc/self/mountinfo, as far as it matters here (proc_pid_mountinfo(5)).
package struct MountTableEntry: Equatable, Sendable {
  /// `major:minor`, unique for each mounted file system.
  package var device: String
  package var mountPoint: String
  package var type: String
  package var source: String
}

/// What is mounted, told without touching any of it: no file system is asked, so a hung or dead one
/// hangs nobody.
package enum MountTable {
  /// The daemon's file system type, as the mount table shows it.
  package static let type = "fuse.albumfs"

  package static func read() throws(Errno) -> [MountTableEntry] {
    try parse(ProcFile.contents("/proc/self/mountinfo"))
  }

  /// What is seen at this path: of several mounts on one place the last.
  package static func entry(at mountPoint: String) -> MountTableEntry? {
    (try? read())?.last { $0.mountPoint == mountPoint }
  }

  package static func parse(_ bytes: [UInt8]) -> [MountTableEntry] {
    bytes.split(separator: UInt8(ascii: "\n")).compactMap { entry($0) }
  }

  private static func entry(_ line: ArraySlice<UInt8>) -> MountTableEntry? {
    let fields = line.split(separator: UInt8(ascii: " "))
    guard fields.count >= 6,
      let dash = fields.dropFirst(6).firstIndex(where: { $0.elementsEqual([UInt8(ascii: "-")]) }),
      fields.count > dash + 2
    else { return nil }
    return MountTableEntry(
      device: String(decoding: fields[2], as: UTF8.self), mountPoint: unescaped(fields[4]),
      type: unescaped(fields[dash + 1]), source: unescaped(fields[dash + 2]))
  }

  /// Space, tab, newline and backslash stand there as `\` and three octal digits.
  private static func unescaped(_ field: ArraySlice<UInt8>) -> String {
    var result: [UInt8] = []
    var rest = field
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3,
        let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 8)
      {
        result.append(value)
        rest.removeFirst(3)
      } else {
        result.append(byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

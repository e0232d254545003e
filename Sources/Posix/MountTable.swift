/// The number of a mounted file system's device, as in `st_dev`.
package struct DeviceNumber: Hashable, Sendable, CustomStringConvertible {
  package var major: UInt32
  package var minor: UInt32
  package init(major: UInt32, minor: UInt32) {
    self.major = major
    self.minor = minor
  }
  package var description: String { "\(major):\(minor)" }

  /// From `st_dev`, in glibc's encoding (makedev(3)).
  init(_ device: UInt) {
    major = UInt32(truncatingIfNeeded: (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000)
    minor = UInt32(truncatingIfNeeded: device & 0xFF | (device >> 12) & 0xFFFF_FF00)
  }
}

/// One line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
package struct MountEntry: Sendable, Equatable {
  package var device: DeviceNumber
  package var mountPoint: String
  /// The mounted device or directory, or any other text.
  package var source: String
  package var type: String
  package var readOnly: Bool
  /// The user who mounted it (`user_id=`); nil if the line has no such option.
  package var user: UInt32?
  /// The group of that user (`group_id=`).
  package var group: UInt32?

  package init(
    device: DeviceNumber, mountPoint: String, source: String, type: String, readOnly: Bool,
    user: UInt32?, group: UInt32? = nil
  ) {
    self.device = device
    self.mountPoint = mountPoint
    self.source = source
    self.type = type
    self.readOnly = readOnly
    self.user = user
    self.group = group
  }
}

/// The kernel's table of mounts. Reading it touches no mount, so a dead mount does no harm and a hung one
/// cannot block the reader.
package struct MountTable: Sendable {
  /// All mounts, in the order in which they were made. A later one hides an earlier one.
  package let mounts: [MountEntry]

  package init(text: [UInt8]) {
    mounts = text.split(separator: UInt8(ascii: "\n")).compactMap(MountTable.parse)
  }

  /// Reads the mount table of the calling process.
  package static func current() throws(Errno) -> MountTable {
    MountTable(text: try readWholeFile("/proc/self/mountinfo"))
  }

  /// The mounts of file systems of one type.
  package func mounts(ofType type: String) -> [MountEntry] { mounts.filter { $0.type == type } }

  /// The mount that an absolute path lies in; nil if its file system is of another type.
  package func mount(ofType type: String, holding path: String) -> MountEntry? {
    mount(holding: path).flatMap { $0.type == type ? $0 : nil }
  }

  /// The mount that an absolute path lies in.
  package func mount(holding path: String) -> MountEntry? {
    var best: MountEntry?
    for mount in mounts where path.lies(in: mount.mountPoint) {
      if mount.mountPoint.utf8.count >= (best?.mountPoint.utf8.count ?? 0) { best = mount }
    }
    return best
  }

  /// The topmost mount exactly at an absolute path; nil also if the table cannot be read.
  package static func mount(at path: String) -> MountEntry? { (try? current())?.mount(at: path) }

  /// The topmost mount exactly at an absolute path.
  package func mount(at path: String) -> MountEntry? {
    mounts.last { $0.mountPoint == path }
  }

  private static func parse(_ line: ArraySlice<UInt8>) -> MountEntry? {
    let fields = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { unescape($0) }
    // 36 35 98:0 /root /mount/point rw,options [optional fields…] - type source superoptions
    guard fields.count >= 10, let dash = fields[6...].firstIndex(of: "-"), fields.count > dash + 3
    else { return nil }
    let device = fields[2].split(separator: ":")
    guard device.count == 2, let major = UInt32(device[0]), let minor = UInt32(device[1]) else {
      return nil
    }
    let options = fields[5].split(separator: ",") + fields[dash + 3].split(separator: ",")
    let user = options.first { $0.hasPrefix("user_id=") }.flatMap { UInt32($0.dropFirst(8)) }
    let group = options.first { $0.hasPrefix("group_id=") }.flatMap { UInt32($0.dropFirst(9)) }
    return MountEntry(
      device: DeviceNumber(major: major, minor: minor), mountPoint: fields[4],
      source: fields[dash + 2], type: fields[dash + 1], readOnly: options.contains("ro"),
      user: user,
      group: group)
  }

  /// Decodes `\040` and the like: space, tab, newline and backslash are escaped.
  private static func unescape(_ field: ArraySlice<UInt8>) -> String {
    var bytes: [UInt8] = []
    var rest = field
    while let byte = rest.popFirst() {
      let digits = rest.prefix(3)
      let isOctal = digits.count == 3 && digits.allSatisfy { (48...55).contains($0) }
      if byte == UInt8(ascii: "\\"), isOctal {
        bytes.append(digits.reduce(0) { $0 << 3 | ($1 - 48) })
        rest = rest.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension String {
  /// True if an absolute path is `directory` or lies below it.
  package func lies(in directory: String) -> Bool {
    self == directory || hasPrefix(directory.hasSuffix("/") ? directory : directory + "/")
  }
}

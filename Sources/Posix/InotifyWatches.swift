package import AlbumModel

/// The inodes that programs watch through inotify(7), from /proc. Only root sees those of other users.
package enum InotifyWatches {
  /// The watched inodes of one file system.
  package static func inodes(on device: DeviceNumber) -> Set<InodeNumber> {
    var found: Set<InodeNumber> = []
    for process in ProcessState.all() {
      let folder = "/proc/\(process)"
      let descriptors = (try? PlainFiles.names(in: folder + "/fd")) ?? []
      for descriptor in descriptors
      where PathCalls.target(ofLink: "\(folder)/fd/\(descriptor)") == "anon_inode:inotify" {
        let text = (try? readWholeFile("\(folder)/fdinfo/\(descriptor)")) ?? []
        found.formUnion(inodes(in: String(decoding: text, as: UTF8.self), on: device))
      }
    }
    return found
  }

  /// Parses proc_pid_fdinfo(5): lines `inotify wd:1 ino:7e9e sdev:800013 mask:…`, in hexadecimal. The device
  /// has its minor number in the lower 20 bits.
  static func inodes(in text: String, on device: DeviceNumber) -> Set<InodeNumber> {
    let wanted = device.major << 20 | device.minor
    var found: Set<InodeNumber> = []
    for line in text.split(separator: "\n") where line.hasPrefix("inotify ") {
      var values: [Substring: UInt64] = [:]
      for word in line.split(separator: " ") {
        let parts = word.split(separator: ":", maxSplits: 1)
        if parts.count == 2 { values[parts[0]] = UInt64(parts[1], radix: 16) }
      }
      if let inode = values["ino"], values["sdev"] == UInt64(wanted) {
        found.insert(InodeNumber(inode))
      }
    }
    return found
  }
}

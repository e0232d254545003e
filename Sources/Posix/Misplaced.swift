internal import Glibc

/// An object of the wrong type lies where a store should have a file or a directory: for example a FIFO,
/// whose open(2) could wait for ever. The kernel has no error numbers for this, so these are negative.
package enum Misplaced: CInt, Sendable, CaseIterable {
  case fifo = 1
  case socket, device, link, directory, file
  /// A component of the path is not a directory.
  case way

  /// `status` describes the object that was found.
  init?(_ status: stat, wantsDirectory: Bool) {
    switch status.st_mode & S_IFMT {
    case S_IFIFO: self = .fifo
    case S_IFSOCK: self = .socket
    case S_IFCHR, S_IFBLK: self = .device
    case S_IFLNK: self = .link
    case S_IFDIR where !wantsDirectory: self = .directory
    case S_IFREG where wantsDirectory: self = .file
    default: return nil
    }
  }

  fileprivate var article: String {
    switch self {
    case .fifo: "a FIFO"
    case .socket: "a socket"
    case .device: "a device"
    case .link: "a symbolic link"
    case .directory: "a directory"
    case .file: "a file"
    case .way: "behind something that is no directory"
    }
  }
}

extension Errno {
  private static let directoryOffset: CInt = 16

  package init(_ misplaced: Misplaced, wantsDirectory: Bool) {
    self.init(-misplaced.rawValue - (wantsDirectory ? Errno.directoryOffset : 0))
  }

  /// True if the path leads to an object of another type than the caller asked for.
  package var isMisplaced: Bool { rawValue < 0 }

  /// Such as "a FIFO, not a file"; nil for an error of the kernel.
  var misplacement: String? {
    if !isMisplaced { return nil }
    let wantsDirectory = -rawValue > Errno.directoryOffset
    let kind = Misplaced(rawValue: -rawValue - (wantsDirectory ? Errno.directoryOffset : 0))
    guard let kind else { return nil }
    if kind == .way { return kind.article }
    return "\(kind.article), not a \(wantsDirectory ? "directory" : "file")"
  }
}

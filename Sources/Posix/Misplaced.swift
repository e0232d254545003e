internal import Glibc

/// Something else lies where a file or a directory of a store should: a FIFO, say, on which an open
/// would wait for ever. The kernel has no numbers for that, so these are below zero.
package enum Misplaced: CInt, Sendable, CaseIterable {
  case fifo = 1
  case socket, device, link, directory, file
  /// A directory on the way is none.
  case way

  /// `status` is of what was found.
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

  /// True where something else lies at the path than a file or directory, whichever was asked for.
  package var isMisplaced: Bool { rawValue < 0 }

  /// "a FIFO, not a file"; nil for an error of the kernel.
  var misplacement: String? {
    if !isMisplaced { return nil }
    let wantsDirectory = -rawValue > Errno.directoryOffset
    let kind = Misplaced(rawValue: -rawValue - (wantsDirectory ? Errno.directoryOffset : 0))
    guard let kind else { return nil }
    if kind == .way { return kind.article }
    return "\(kind.article), not a \(wantsDirectory ? "directory" : "file")"
  }
}

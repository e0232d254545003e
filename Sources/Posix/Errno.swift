internal import Glibc

/// An error number of the kernel, as in errno(3).
package struct Errno: Error, Hashable, Sendable, RawRepresentable, CustomStringConvertible {
  package let rawValue: CInt
  package init(rawValue: CInt) { self.rawValue = rawValue }
  package init(_ rawValue: CInt) { self.rawValue = rawValue }

  /// The calling thread's current error number.
  package static var last: Errno { Errno(errno) }

  package static let notPermitted = Errno(EPERM)
  package static let noEntry = Errno(ENOENT)
  package static let interrupted = Errno(EINTR)
  package static let io = Errno(EIO)
  package static let again = Errno(EAGAIN)
  package static let noMemory = Errno(ENOMEM)
  package static let badMessage = Errno(EBADMSG)
  package static let accessDenied = Errno(EACCES)
  package static let busy = Errno(EBUSY)
  package static let exists = Errno(EEXIST)
  package static let crossDevice = Errno(EXDEV)
  package static let notDirectory = Errno(ENOTDIR)
  package static let isDirectory = Errno(EISDIR)
  package static let invalid = Errno(EINVAL)
  package static let tooBig = Errno(EFBIG)
  package static let noSpace = Errno(ENOSPC)
  package static let readOnly = Errno(EROFS)
  package static let tooManyLinks = Errno(EMLINK)
  package static let outOfRange = Errno(ERANGE)
  package static let nameTooLong = Errno(ENAMETOOLONG)
  package static let notSupported = Errno(EOPNOTSUPP)
  package static let notEmpty = Errno(ENOTEMPTY)
  package static let tooManySymlinks = Errno(ELOOP)
  package static let noAttribute = Errno(ENODATA)
  package static let quota = Errno(EDQUOT)
  package static let notConnected = Errno(ENOTCONN)
  package static let noDevice = Errno(ENXIO)
  package static let stale = Errno(ESTALE)
  package static let timedOut = Errno(ETIMEDOUT)

  /// What file systems on a network answer while their server, or the way to it, is away.
  static let ofOutages: Set = [
    io, stale, notConnected, timedOut, Errno(ECONNABORTED), Errno(ECONNRESET), Errno(ECONNREFUSED),
    Errno(EHOSTDOWN), Errno(EHOSTUNREACH), Errno(ENETDOWN), Errno(ENETUNREACH), Errno(ESHUTDOWN),
    Errno(EPIPE), Errno(EREMOTEIO),
  ]

  package var description: String {
    if let misplacement { return "it is \(misplacement): remove it" }
    return unsafe String(cString: strerror(rawValue))
  }
}

/// Calls a system call that returns -1 on failure, and repeats it while a signal interrupts it.
@discardableResult
package func retrying<T: FixedWidthInteger & SignedInteger>(_ call: () -> T) throws(Errno) -> T {
  while true {
    let result = call()
    if result != -1 { return result }
    let error = Errno.last
    if error != .interrupted { throw error }
  }
}

internal import AlbumFileSystem
internal import Glibc
internal import Posix

/// The one table from errors of the file system to the caller's `errno`.
enum ErrnoTable {
  /// Any thread; total over `FSError.Code`.
  static func number(for code: FSError.Code) -> Errno {
    switch code {
    case .notFound: .noEntry
    case .exists: .exists
    case .notDirectory: .notDirectory
    case .isDirectory: .isDirectory
    case .notEmpty: .notEmpty
    case .notPermitted: .notPermitted
    case .crossDevice: .crossDevice
    case .busy: .busy
    case .invalid: .invalid
    case .nameTooLong: .nameTooLong
    case .tooManyLinks: .tooManyLinks
    case .tooBig: .tooBig
    case .noSpace: .noSpace
    case .quotaExceeded: .quota
    case .readOnly: .readOnly
    // "Required key not available", as for a locked directory of fscrypt.
    case .locked: Errno(ENOKEY)
    case .inputOutput: .io
    case .noAttribute: .noAttribute
    case .attributeTooBig: Errno(E2BIG)
    // Never ENOSYS: the kernel would not ask again for the life of the mount.
    case .notSupported: .notSupported
    case .stale: .stale
    case .timeOutOfRange: Errno(ERANGE)
    case .noSuchOffset: .noDevice
    }
  }
}

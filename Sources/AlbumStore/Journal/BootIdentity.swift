package import AlbumFormat
import AlbumSecrets
import Posix

extension BootIdentity {
  /// The identity of this machine's current run: a hash of Linux's boot id.
  package static let current: BootIdentity = {
    guard let id = try? readWholeFile("/proc/sys/kernel/random/boot_id"), id.count >= 36 else {
      return .unknown
    }
    return BootIdentity(bytes: Array(Digest.blake2b(id)[..<byteCount]))
  }()
}

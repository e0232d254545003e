package import AlbumFormat
import AlbumSecrets
import Posix

extension BootIdentity {
  /// Of this machine as it runs: a hash of what Linux calls the boot id.
  package static let current: BootIdentity = {
    guard let id = try? readWholeFile("/proc/sys/kernel/random/boot_id"), id.count >= 36 else {
      return .unknown
    }
    return BootIdentity(bytes: Array(Digest.blake2b(id)[..<byteCount]))
  }()
}

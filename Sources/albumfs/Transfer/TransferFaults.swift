import ControlProtocol
import Glibc
import Posix

extension Errno {
  /// Stands for a file that would lie beside the albums, in the top of a space.
  static let topOfSpace = Errno(.way, wantsDirectory: true)
}

extension PlainCopy.Fault {
  /// Why one file was not copied. Throws an interruption, which ends all copying.
  func reason() throws(Failure) -> String {
    switch self {
    case .stopped: throw .stopped
    case .changed: "it changed while it was copied"
    case .source(let error): "\(error)"
    case .target(let error): "the copy: \(error)"
    }
  }
}

extension Failure {
  /// An interruption, which ends all copying.
  static let stopped = Failure(.interrupted, "Interrupted. Run the same command again to continue.")

  /// The failure that an error of the mounted space means for every further file; nil if the next file may
  /// succeed.
  init?(ofSpace error: Errno) {
    switch error {
    case .noSpace, .quota: self.init(.diskFull, "The disk is full. Make room and run it again.")
    case .readOnly: self.init(.other, "The space is read-only.")
    case .io: self.init(.other, "The space cannot be written: \(error). See albumfs status.")
    default: self.init(ofDeadSpace: error)
    }
  }

  /// nil if the daemon of the mount lives.
  init?(ofDeadSpace error: Errno) {
    guard [.notConnected, Errno(ECONNABORTED), .noDevice, Errno(ENODEV)].contains(error) else {
      return nil
    }
    self.init(.unreachable, "The daemon of the mount is gone. Mount the space and run it again.")
  }
}

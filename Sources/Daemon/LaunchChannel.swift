package import AlbumSecrets
package import ControlProtocol
import Glibc
import Posix

/// The channel between `albumfs mount` and the daemon that it starts: a socket pair. The command sends the
/// options, then the secret. The daemon replies when the mount is ready, or why it failed. The secret never
/// appears in arguments or the environment, and only guarded memory holds it. One thread at each end.
package final class LaunchChannel: Sendable {
  /// The descriptor of the daemon's end of the socket pair.
  package static let descriptor: CInt = 3

  package enum Answer: Codable, Sendable {
    /// Mounted and serving. `warnings` are for the user, one sentence each.
    case ready(warnings: [String])
    case failed(Failure)
  }

  /// The message that starts the daemon.
  package struct Order: ~Copyable {
    package let options: LaunchOptions
    private let secret: SecretBytes

    fileprivate init(options: LaunchOptions, secret: consuming SecretBytes) {
      self.options = options
      self.secret = secret
    }

    package consuming func takeSecret() -> SecretBytes { secret }
  }

  /// In bytes.
  private static let secretLimit = 1 << 16

  private let stream: MessageStream

  package init(owning descriptor: CInt) {
    stream = MessageStream(FileDescriptor(owning: descriptor))
  }

  /// The command's part, first half: sends options and secret.
  package func send(_ options: LaunchOptions, _ secret: borrowing SecretBytes) throws(Failure) {
    do throws(MessageStream.Problem) {
      try stream.send(options)
      var problem: MessageStream.Problem?
      unsafe secret.withUnsafeBytes { bytes in
        do throws(MessageStream.Problem) { try unsafe stream.sendRaw(bytes) } catch {
          problem = error
        }
      }
      if let problem { throw problem }
    } catch {
      throw LaunchChannel.lost
    }
  }

  /// The daemon's part, first half: the twin of `send`.
  package func receive() throws(Failure) -> Order {
    do throws(MessageStream.Problem) {
      let options = try stream.receive(LaunchOptions.self)
      let length = try stream.receiveLength(limit: LaunchChannel.secretLimit)
      let secret = try unsafe SecretBytes(count: length) {
        (room: UnsafeMutableRawBufferPointer) throws(MessageStream.Problem) in
        try unsafe stream.receiveRaw(into: room)
      }
      return Order(options: options, secret: secret)
    } catch {
      throw Failure(.usage, "This is for albumfs itself; mount with: albumfs mount")
    }
  }

  /// The second half of the daemon's part. Returns false if the command no longer waits for it.
  package func answer(_ answer: Answer) -> Bool {
    do throws(MessageStream.Problem) { try stream.send(answer) } catch { return false }
    return true
  }

  /// The command's part, second half.
  package func waitForAnswer() throws(Failure) -> Answer {
    do throws(MessageStream.Problem) { return try stream.receive(Answer.self) } catch {
      throw LaunchChannel.lost
    }
  }

  private static let lost = Failure(
    .other, "The daemon ended before the mount was ready; run it with --foreground to see why.")
}

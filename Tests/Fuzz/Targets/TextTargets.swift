import AlbumSecrets
import Glibc
import Posix

@testable import ControlProtocol

/// A recovery key as a person types it.
enum RecoveryKeyTarget: FuzzTarget {
  private static func text(_ key: borrowing SecretBytes) -> [UInt8] {
    unsafe key.withUnsafeBytes { unsafe Array($0) }
  }

  static func seeds() -> [[UInt8]] {
    let text = text(RecoveryKey.encode(FixedSpace.keys))
    return [text, text.filter { $0 != UInt8(ascii: "-") }, Array(text.prefix(20))]
  }

  static func run(_ bytes: [UInt8]) {
    guard let keys = try? RecoveryKey.decode(FixedSpace.secret(bytes)) else { return }
    let digits = text(RecoveryKey.encode(keys)).filter { $0 != UInt8(ascii: "-") }
    require(digits.count == 56, "what was taken for a key can be written down again")
    require(bytes.count >= digits.count, "no digit is made up")
  }
}

/// A password: texts that look the same get one spelling, and bytes that are no text stay as they are.
enum PasswordTextTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let texts = [
      "correct horse", "Ka\u{308}fer", "\u{212B}\u{FB01}", "\u{1100}\u{1161}\u{11A8}", "\u{1D160}",
    ]
    return texts.map { Array($0.utf8) } + [[0xED, 0xA0, 0x80], [0xC3, 0x28, 0]]
  }

  private static func normalized(_ bytes: [UInt8]) -> [UInt8] {
    let text = PasswordText.normalized(FixedSpace.secret(bytes))
    return unsafe text.withUnsafeBytes { unsafe Array($0) }
  }

  static func run(_ bytes: [UInt8]) {
    if bytes.count > 4096 { return }
    let once = normalized(bytes)
    require(normalized(once) == once, "a password has one spelling")
    require(once.isEmpty == bytes.isEmpty, "no password gets lost")
    // This bound does not depend on the version of Unicode: one code point becomes three at most.
    require(once.count <= 3 * bytes.count, "a password does not grow without bound")
    if String(validating: bytes, as: UTF8.self) == nil {
      require(once == bytes, "what is no text stays as it is")
    } else if bytes.allSatisfy({ $0 < 0x80 }) {
      require(once == bytes, "ASCII stays as it is")
    }
  }
}

/// The messages between commands and daemon, through a socket.
enum ControlMessageTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let requests: [ControlRequest] = [
      .status, .sync(timeoutSeconds: 1.5), .thumbnails(under: "Trip", which: .failed),
      .tidy(album: nil),
    ]
    let replies: [ControlReply] = [
      .progress(pending: 3), .done(ControlSummary(count: 1, notes: ["a"])),
      .failed(Failure(.noSuchMount, "none")),
    ]
    return requests.map { sent($0, 0) } + replies.map { sent($0, 1) }
  }

  /// Returns the bytes of a message on the wire, behind the direction.
  private static func sent(_ message: some Codable, _ direction: UInt8) -> [UInt8] {
    let ends = sockets()
    let other = FileDescriptor(owning: ends.1)
    let stream = MessageStream(FileDescriptor(owning: ends.0))
    guard (try? stream.send(message)) != nil else { fatalError("cannot send") }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe Glibc.read(other.rawValue, $0.baseAddress, $0.count)
    }
    return [direction] + buffer.prefix(max(0, count))
  }

  private static func sockets() -> (CInt, CInt) {
    var pair: [CInt] = [-1, -1]
    let type = CInt(SOCK_STREAM.rawValue)
    if unsafe socketpair(AF_UNIX, type, 0, &pair) != 0 { fatalError("no sockets") }
    return (pair[0], pair[1])
  }

  static func run(_ bytes: [UInt8]) {
    guard let direction = bytes.first, bytes.count < 100_000 else { return }
    let ends = sockets()
    let stream = MessageStream(FileDescriptor(owning: ends.0))
    let other = FileDescriptor(owning: ends.1)
    guard (try? other.writeAll(Array(bytes.dropFirst()))) != nil else { return }
    _ = consume other
    for _ in 0..<4 {
      do throws(MessageStream.Problem) {
        if direction & 1 == 0 {
          _ = try stream.receive(ControlRequest.self)
        } else {
          _ = try stream.receive(ControlReply.self)
        }
      } catch {
        switch error {
        case .malformed, .unknownBody, .unknownVersion: continue
        default: return
        }
      }
    }
  }
}

/// The kernel's table of mounts, which contains names that other users chose.
enum MountTableTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      "36 35 98:0 / /mnt/a\\040b rw,noatime shared:1 - fuse.albumfs /store rw,user_id=0\n",
      "1 1 0:1 / / rw - ext4 /dev/x ro\n36 35 98:0 / /mnt rw - fuse.albumfs s ro\n",
    ].map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    let table = MountTable(text: bytes)
    _ = table.mounts(ofType: "fuse.albumfs")
    _ = table.mount(ofType: "fuse.albumfs", holding: "/mnt/a b/c")
    _ = table.mount(at: "/mnt")
  }
}

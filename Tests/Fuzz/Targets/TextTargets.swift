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

/// What commands and daemon tell one another, through a socket as they do.
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

  /// The bytes of a message on the wire, behind the direction.
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
        if case .malformed = error { continue }
        return
      }
    }
  }
}

/// The kernel's table of mounts, in which other people's names stand.
enum MountTableTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      "36 35 98:0 / /mnt/a\\040b rw,noatime shared:1 - fuse.albumfs /store rw,user_id=0\n",
      "1 1 0:1 / / rw - ext4 /dev/x ro\n36 35 98:0 / /mnt rw - fuse.albumfs s ro\n",
    ].map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    let table = MountTable(text: bytes)
    _ = table.spaces
    _ = table.space(holding: "/mnt/a b/c")
    _ = table.mount(at: "/mnt")
  }
}

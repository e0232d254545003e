import Glibc
import ThumbnailProtocol

/// What a picture does to the cell that has taken it over. Tests show by it that the daemon goes on:
/// with `--allow-misbehaviour`, and only then, JPEG data with one of these words behind its first
/// four bytes does what the word says.
enum Misbehaviour: String, CaseIterable {
  case crash = "albumfs-test:crash"
  case hang = "albumfs-test:hang"
  case hungry = "albumfs-test:hungry"
  case babble = "albumfs-test:babble"
  case overlong = "albumfs-test:overlong"
  case wrongID = "albumfs-test:wrong-id"

  init?(askedForBy picture: UnsafeRawBufferPointer) {
    let asked = Misbehaviour.allCases.first {
      unsafe picture.dropFirst(4).starts(with: $0.rawValue.utf8)
    }
    guard let asked else { return nil }
    self = asked
  }

  /// Does not return where the process ends.
  func run(_ channel: Channel, id: UInt64) {
    switch self {
    case .crash: abort()
    case .hang: while true { sleep(1000) }
    case .hungry: eat()
    case .babble: _ = channel.send([UInt8](repeating: 0x41, count: 4096))
    case .overlong:
      var reply = [UInt8](repeating: 0, count: 24)
      reply.replaceSubrange(0..<6, with: [0x41, 0x54, 0x61, 0x31, 1, 1])
      for index in 0..<8 { reply[8 + index] = UInt8(truncatingIfNeeded: id >> UInt64(8 * index)) }
      reply.replaceSubrange(16..<20, with: [0xff, 0xff, 0xff, 0xff])
      _ = channel.send(reply)
    case .wrongID: _ = channel.send(.init(id: id &+ 1, content: .failure(.damaged, reason: "")))
    }
  }

  /// Takes memory, and uses it, until there is no more; then crashes as a program does that never
  /// thought of that.
  private func eat() {
    let step = 16 << 20
    while let memory = unsafe malloc(step) { unsafe memset(memory, 1, step) }
    abort()
  }
}

// A hook for tests (`TestHooks`). A release build does not contain it.
#if DEBUG
import CLinux
import FileKinds
import Glibc
import ThumbnailCell
import ThumbnailProtocol

/// Actions of a picture that has taken over a cell. Tests use them to show that the daemon copes. Only
/// with `--allow-misbehaviour`, JPEG data with one of these words after its first four bytes triggers it.
enum Misbehaviour: String, CaseIterable {
  case crash = "albumfs-test:crash"
  case hang = "albumfs-test:hang"
  case hungry = "albumfs-test:hungry"
  case babble = "albumfs-test:babble"
  case overlong = "albumfs-test:overlong"
  case wrongID = "albumfs-test:wrong-id"
  case truncating = "albumfs-test:truncating"
  case cutShort = "albumfs-test:cut-short"
  case flooding = "albumfs-test:flooding"
  case twice = "albumfs-test:twice"
  case text = "albumfs-test:text"
  case huge = "albumfs-test:huge"
  case telling = "albumfs-test:telling"
  case spinning = "albumfs-test:spinning"
  case slow = "albumfs-test:slow"
  case threads = "albumfs-test:threads"
  case otherDoor = "albumfs-test:other-door"

  init?(askedForBy picture: UnsafeRawBufferPointer) {
    let asked = Misbehaviour.allCases.first {
      unsafe picture.dropFirst(4).starts(with: $0.rawValue.utf8)
    }
    guard let asked else { return nil }
    self = asked
  }

  /// Does not return if the process ends.
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
    // Sends fewer bytes than announced, and then nothing.
    case .truncating:
      let whole = ThumbnailReply(id: id, content: .thumbnail(.jpeg, StandIn.jpeg()))
      _ = channel.send(Array(whole.encode().dropLast(10)))
      while true { sleep(1000) }
    case .cutShort: reply(channel, id, Array(StandIn.jpeg().dropLast(2)))
    case .flooding:
      let noise = [UInt8](repeating: 0xff, count: 1 << 20)
      while channel.send(noise) {}
    case .twice:
      reply(channel, id, StandIn.jpeg())
      reply(channel, id, StandIn.jpeg())
    case .text: reply(channel, id, Array("A text is no picture.".utf8))
    case .huge: reply(channel, id, StandIn.jpeg(width: 5000))
    case .telling: reply(channel, id, StandIn.jpeg(comment: "48 deg 8' N"))
    case .spinning: while getpid() != 0 {}
    // Uses two seconds of processor time. Decoding then fails, because this is no picture.
    case .slow: while clock() < 2 * Int(CLOCKS_PER_SEC) {}
    case .threads:
      _ = clinux_probe_threads(1000, 1000)
    case .otherDoor:
      clinux_call_as_32_bit()
    case .wrongID: _ = channel.send(.init(id: id &+ 1, content: .failure(.damaged, reason: "")))
    }
  }

  private func reply(_ channel: Channel, _ id: UInt64, _ bytes: [UInt8]) {
    _ = channel.send(.init(id: id, content: .thumbnail(.jpeg, bytes)))
  }

  /// Takes and uses memory until there is none, then crashes like a program that does not check for that.
  private func eat() {
    let step = 16 << 20
    while let memory = unsafe malloc(step) { unsafe memset(memory, 1, step) }
    abort()
  }
}

/// A JPEG with its markers and almost no content.
private enum StandIn {
  static func jpeg(width: UInt16 = 16, comment: String = "") -> [UInt8] {
    let frame: [UInt8] = [
      0xff, 0xc0, 0, 11, 8, 0, 16, UInt8(width >> 8), UInt8(width & 0xff), 1, 1, 0x11, 0,
    ]
    let told = Array(comment.utf8)
    let commented = told.isEmpty ? [] : [0xff, 0xfe, 0, UInt8(told.count + 2)] + told
    return [0xff, 0xd8] + commented + frame + [0xff, 0xda, 0, 8, 1, 1, 0, 0, 0x3f, 0]
      + [0x55, 0xff, 0, 0x55] + [0xff, 0xd9]
  }
}
#endif

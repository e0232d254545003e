import AlbumFileSystem
import AlbumModel
import Testing

@testable import FUSEDriver

/// Decodes the purpose of a caller from the text of /proc/<tid>/syscall and its memory, here a table of
/// addresses.
@Suite struct SystemCallTests {
  private let photo = FileName.photo
  private let picture = FileName(literal: "a.jpg")

  @Test func readsNumberAndArguments() {
    let text = "258 0xffffffffffffff9c 0x7ffd1000 0x1ff 0x0 0x8 0x7f 0x7ffd0f58 0x7f33e9de5c8b\n"
    let call = SystemCall(procText: Array(text.utf8))
    #expect(call?.number == 258)
    #expect(call?.arguments == [0xffff_ffff_ffff_ff9c, 0x7ffd_1000, 0x1ff, 0, 8, 0x7f])
  }

  @Test(arguments: ["running\n", "-1 0x7ffd0f58 0x7f33e9de5c8b\n", "", "83 0x1 0x2\n", "x y z"])
  func whatIsNoSystemCallIsNone(text: String) {
    #expect(SystemCall(procText: Array(text.utf8)) == nil)
  }

  #if arch(x86_64)
  @Test(arguments: ["Photo", "/mnt/Trip/Photo", "mnt/Trip/Photo///", "./Photo/"])
  func mkdirOfThatNameMakesADirectory(path: String) {
    #expect(intent(83, [1], [1: path], photo) == .makesDirectory)
    #expect(intent(258, [100, 1], [1: path], photo) == .makesDirectory)
  }

  @Test(arguments: ["Trip/Photo/Day", "Photo2", "", "/", "photo", "Trip/Photo/x/Photo"])
  func mkdirOfAnotherPlaceDoesNot(path: String) {
    #expect(intent(83, [1], [1: path], photo) == .other)
  }

  @Test func openCreatesExclusivelyOnlyWithBothFlags() {
    let paths: [UInt64: String] = [1: "Trip/Thumb/a.jpg"]
    #expect(intent(2, [1, 0o301], paths, picture) == .createsExclusively)
    #expect(intent(257, [100, 1, 0o301], paths, picture) == .createsExclusively)
    #expect(intent(257, [100, 1, 0o101], paths, picture) == .other)
    #expect(intent(257, [100, 1, 0o200], paths, picture) == .other)
    #expect(intent(85, [1, 0o644], paths, picture) == .other)
  }

  @Test func openat2ReadsItsFlagsFromMemory() {
    let exclusive = "\u{c1}".unicodeScalars.map { UInt8($0.value) } + [0, 0, 0, 0, 0, 0, 0]
    let memory: (UInt64, Int) -> [UInt8] = { address, limit in
      address == 1 ? Array("a.jpg\0".utf8) : address == 2 ? Array(exclusive.prefix(limit)) : []
    }
    let call = SystemCall(number: 437, arguments: [100, 1, 2, 24, 0, 0])
    #expect(Creation(call)?.intent(toward: picture, memory: memory) == .createsExclusively)
    let lost = SystemCall(number: 437, arguments: [100, 1, 3, 24, 0, 0])
    #expect(Creation(lost)?.intent(toward: picture, memory: memory) == .other)
  }

  @Test func linksAndNodesCreateExclusively() {
    let paths: [UInt64: String] = [1: "x/b.jpg", 2: "Trip/Thumb/a.jpg"]
    #expect(intent(86, [1, 2], paths, picture) == .createsExclusively)
    #expect(intent(265, [100, 1, 100, 2, 0], paths, picture) == .createsExclusively)
    #expect(intent(88, [1, 2], paths, picture) == .createsExclusively)
    #expect(intent(266, [1, 100, 2], paths, picture) == .createsExclusively)
    #expect(intent(133, [2], paths, picture) == .createsExclusively)
    #expect(intent(259, [100, 2], paths, picture) == .createsExclusively)
  }

  @Test func theSourceOfALinkStaysVisible() {
    let paths: [UInt64: String] = [1: "Trip/Thumb/a.jpg", 2: "Elsewhere/b.jpg", 3: "x/a.jpg"]
    #expect(intent(86, [1, 2], paths, picture) == .other)
    #expect(intent(86, [1, 3], paths, picture) == .other)
  }

  @Test func onlyARenameThatReplacesNothingIsExclusive() {
    let paths: [UInt64: String] = [1: "x/b.jpg", 2: "Trip/Thumb/a.jpg"]
    #expect(intent(316, [100, 1, 100, 2, 1], paths, picture) == .createsExclusively)
    #expect(intent(316, [100, 1, 100, 2, 0], paths, picture) == .other)
    #expect(intent(316, [100, 1, 100, 2, 2], paths, picture) == .other)
    #expect(intent(82, [1, 2], paths, picture) == .other)
    #expect(intent(264, [100, 1, 100, 2], paths, picture) == .other)
  }

  @Test func aPathThatCannotBeReadDecidesNothing() {
    #expect(intent(83, [7], [:], photo) == .other)
    let call = SystemCall(number: 83, arguments: [1, 0, 0, 0, 0, 0])
    #expect(Creation(call)?.intent(toward: photo) { _, _ in Array("Photo".utf8) } == .other)
  }

  private func intent(
    _ number: Int, _ arguments: [UInt64], _ paths: [UInt64: String], _ name: FileName
  ) -> CallerIntent {
    let padded = arguments + Array(repeating: 0, count: 6 - arguments.count)
    guard let creation = Creation(SystemCall(number: number, arguments: padded)) else {
      return .other
    }
    return creation.intent(toward: name) { address, _ in
      paths[address].map { Array($0.utf8) + [0] } ?? []
    }
  }
  #endif
}

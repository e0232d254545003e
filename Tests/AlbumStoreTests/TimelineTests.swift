import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

/// A copy of a store is mounted and written to. Then a copying tool brings it what the source wrote since.
struct TimelineTests {
  let source: StorePlace
  init() throws { source = try StorePlace() }

  /// The source writes on after the copy was made: what `body` does.
  private func isRecognised(after body: (Space) throws -> Void) throws -> Bool {
    let space = try source.open(background: false)
    try space.write([1], to: "before")
    let copy = try StorePlace(copyOf: source)
    try body(space)
    space.abandon()

    let other = try copy.open(background: false)
    try other.write([2], to: "of the copy")
    other.abandon()
    for (path, bytes) in try source.segments() where try copy.segments()[path] != bytes {
      try copy.replace(path, bytes)
    }
    let mixed = try copy.open(readOnly: true)
    defer { try? mixed.close() }
    return mixed.status.recovery.isMixed
  }

  @Test func contentThatTheSourceSyncedShows() throws {
    #expect(
      try isRecognised { space in
        try space.write([3], to: "after")
        try space.barrier()
      })
  }

  /// Every mount accepts a frame that refers to no content. So the copy's session did not have it.
  @Test func theBarrierAloneShows() throws {
    #expect(try isRecognised { try $0.barrier() })
  }

  /// The session of the copy may have seen that frame, and lacked its content after a power cut.
  @Test func contentThatMayBeLostInAPowerCutDoesNot() throws {
    #expect(try !isRecognised { try $0.write([3], to: "after") })
  }
}

extension StorePlace {
  /// The same store in another directory.
  init(copyOf other: StorePlace) throws {
    directory = TemporaryDirectory()
    let storage = try PosixDirectory(path: directory.path)
    try storage.makeDirectory("segments")
    store = Store(directory: storage, segmentSize: StorePlace.segmentSize)
    keys = other.keys
    for (path, bytes) in try other.segments() { try replace(path, bytes) }
  }

  /// The content of each segment, by path.
  func segments() throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for path in store.directory.segmentPaths() {
      found[path] = try store.directory.contents(of: path, limit: StorePlace.segmentSize)
    }
    return found
  }

  func replace(_ path: String, _ bytes: [UInt8]) throws {
    if let slash = path.lastIndex(of: "/") {
      try? store.directory.makeDirectory(String(path[..<slash]))
    }
    try? store.directory.remove(path)
    let file = try store.directory.open(path, .createNew)
    try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
  }
}

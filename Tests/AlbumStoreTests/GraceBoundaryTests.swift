import AlbumCheck
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Logging
import Posix
import Testing

@testable import AlbumStore

/// A file is changed. Some time later, another session writes and is killed. Then a segment is missing. Until
/// 15 minutes of store time have passed since the change, a copy that was made meanwhile may lack it, so the
/// space shows the file as it was before. After that, only a loss explains it: reading the file is an error.
struct GraceBoundaryTests {
  private let place: StorePlace
  private let time = PassingTime()
  private static let before: [UInt8] = [1, 2, 3]
  private static let after: [UInt8] = [4, 5, 6, 7]

  /// The time since the change, compared with the grace time.
  static let ages: [Duration] = [.milliseconds(-1), .milliseconds(1)].map { StoreTime.grace + $0 }

  init() throws { place = try StorePlace() }

  private func open(readOnly: Bool = false) throws -> Space {
    var options = SpaceOpenOptions(logger: Logger(label: "test"))
    options.readOnly = readOnly
    options.worksInBackground = false
    options.time = time.source
    return try Space.open(place.store, keys: place.keys, options: options)
  }

  private func paths(_ kind: SegmentKind) -> Set<String> {
    Set(place.store.directory.segmentPaths().filter { place.keys.segment(at: $0)?.kind == kind })
  }

  /// Runs a session that changes the file, and then another one. Returns the segments that the first made.
  private func live(then second: (Space) throws -> Void) throws -> Set<String> {
    var space = try open()
    for name in ["file", "other"] { try space.write(GraceBoundaryTests.before, to: name) }
    try space.close()
    let known = Set(place.store.directory.segmentPaths())
    space = try open()
    try space.write(GraceBoundaryTests.after, to: "file")
    try space.barrier()
    space.abandon()
    let made = Set(place.store.directory.segmentPaths()).subtracting(known)
    space = try open()
    try second(space)
    try space.barrier()
    space.abandon()
    return made
  }

  private func remove(_ kind: SegmentKind, of made: Set<String>) throws {
    let gone = made.intersection(paths(kind))
    #expect(gone.count == 1)
    for path in gone { try place.store.directory.remove(path) }
  }

  private func check() throws -> CheckReport {
    try SpaceCheck.run(place.store, keys: place.keys, options: CheckOptions())
  }

  /// The file shows its former content within the grace time, and none after it; the other file is untouched.
  private func expectFormerContent(_ space: Space, _ age: Duration) throws {
    if age < StoreTime.grace {
      #expect(try space.content(of: "file") == GraceBoundaryTests.before)
      #expect(space.status.recovery.incompleteFiles.map(\.outcome) == [.formerContent])
    } else {
      #expect(throws: StoreError.self) { try space.content(of: "file") }
    }
    #expect(try space.content(of: "other") == GraceBoundaryTests.before)
  }

  @Test(arguments: ages) func aMissingSegmentCostsNoOlderContentThanTheGraceTime(_ age: Duration)
    throws
  {
    let made = try live {
      time.pass(age)
      try $0.write([9], to: "later")
    }
    try remove(.data, of: made)
    let space = try open(readOnly: true)
    try expectFormerContent(space, age)
    #expect(try space.content(of: "later") == [9])
    try space.close()
    let report = try check()
    #expect(report.isDamaged)
    #expect(report.damagedPaths == ["file"])
  }

  /// The journal segment is missing whose frame recorded the new content. A later frame of the file
  /// shows that.
  @Test(arguments: ages) func aMissingFrameCostsNoOlderContentThanTheGraceTime(_ age: Duration)
    throws
  {
    let made = try live { space in
      space.change { catalog in
        let file = catalog.child(FileName(literal: "file"), of: catalog.index(of: .root)!)!
        catalog.update(file) { $0.mode = 0o100600 }
      }
      try space.commit()
      time.pass(age)
    }
    try remove(.journal, of: made)
    let space = try open(readOnly: true)
    try expectFormerContent(space, age)
    if age >= StoreTime.grace {
      #expect(space.status.recovery.incompleteFiles.map(\.outcome) == [.unreadable])
    }
    try space.close()
    let report = try check()
    #expect(report.findings.contains { $0.path == "file" })
    #expect(report.isDamaged == (age > StoreTime.grace))
  }

  /// A retired segment and a superseded checkpoint stay for the grace time, and go after it.
  @Test func whatIsNotNeededAnyMoreStaysForTheGraceTime() throws {
    var space = try open()
    try space.write(GraceBoundaryTests.before, to: "file")
    try space.close()
    let old = paths(.data)
    space = try open()
    try space.write(GraceBoundaryTests.after, to: "file")
    try sweep(space)
    time.pass(StoreTime.grace - .milliseconds(1))
    try sweep(space)
    #expect(old.isSubset(of: paths(.data)))
    time.pass(.seconds(1))
    try sweep(space)
    #expect(old.isDisjoint(with: paths(.data)))
    try space.close()
  }

  private func sweep(_ space: Space) throws {
    var sweep = try space.compactor.beginSweep()
    for _ in 0..<3 { try sweep.round(space.compactor) }
    try space.barrier()
    try space.barrier()
  }
}

/// Store time that passes only when the test says so.
final class PassingTime: Sendable {
  /// After the times that the birth of the store left in it.
  private let start = Timestamp.now + .seconds(3600)
  private let wrong = Mutex(Duration.zero, rank: .test)
  private let passed = Mutex(Duration.zero, rank: .test)

  func pass(_ time: Duration) { passed.withLock { $0 += time } }

  /// Lets the clock on the wall be wrong by so much.
  func setWrong(by error: Duration) { wrong.withLock { $0 = error } }

  var source: TimeSource {
    TimeSource(
      wall: { self.start + self.passed.withLock { $0 } + self.wrong.withLock { $0 } },
      running: { self.passed.withLock { $0 } })
  }
}

import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Promise: rsync copies the store twice in a row while albums are being written. The copy mounts, passes
/// `check` and contains everything that was closed before the first run began. It shows the space as it was
/// at one instant after that, except for files that `check` names, each of which is as it was at an earlier
/// instant. A copy of one run mounts too, and returns no wrong byte.
///
/// Three persons work on the mount as in `KillTests`, and continue while rsync runs: at full speed, so that
/// both runs fall between two barriers, and slowly, so that barriers come in the middle of a run. The content
/// of the copy is compared, byte by byte, with the model of their actions.
@Suite(.serialized) struct LivingCopyTests {
  private static let rounds =
    ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] == nil ? 2 : 300

  @Test func aCopyOfTheLivingStoreIsWhole() throws {
    var random = SeededRandom()
    let seed = random.seed
    print("living copy: seed \(seed)")
    let mounted = try MountedStore(initOptions: ["--chaff", "2M"])
    defer { mounted.abandon() }
    try mounted.mount()
    var persons = try Persons(on: mounted, &random)
    var files = 0
    for round in 0..<Self.rounds {
      // Every third pair of runs begins without a copy. The others update an older one.
      if round % 3 == 0 { try mounted.sh("rm -rf $W/copy") }
      try persons.plan(600, names: round * 2000, &random)
      let isSlow = round % 2 == 1
      for passes in [2, 1] {
        let history = try copy(passes, isSlow: isSlow, of: persons, &random)
        let (copied, named) = try lookAtCopy(of: persons)
        let excused = SharedHistory(persons: history.persons.map { $0.excusing(named) })
        let complaint = excused.complaint(copied.map { $0.filter { !named.contains($0.key) } })
        #expect(complaint == nil, "seed \(seed), round \(round), \(passes) passes, slow: \(isSlow)")
        if complaint != nil { return }
        files += copied.map(\.count).reduce(0, +)
        try persons.look()
        try persons.plan(600, names: round * 2000 + 1000, &random)
      }
    }
    print("living copy: \(2 * Self.rounds) copies, \(files) files compared")
    try expectUsable(persons)
    try mounted.unmount()
  }

  /// Copies while the persons work; returns their history.
  private func copy(
    _ passes: Int, isSlow: Bool, of persons: Persons, _ random: inout SeededRandom
  ) throws -> SharedHistory {
    let output = try persons.mounted.sh(
      """
      \(Persons.start)
      \(Persons.have(done: Int.random(in: 1...100, using: &random)))
      echo $EPOCHREALTIME
      for pass in $(seq \(passes)); do
        rsync -a \(isSlow ? "--bwlimit=8m" : "") --delete-delay $S/ $W/copy/
      done
      echo $EPOCHREALTIME
      touch $W/stop; wait
      """)
    let times = output.split(separator: "\n").compactMap(Persons.microseconds)
    return try persons.history(horizon: times[0], end: times[1])
  }

  /// Reads the content of the copy. Mounts it read-only, because a copy that is written to is a store of its
  /// own.
  private func lookAtCopy(of persons: Persons) throws -> ([Tree], named: Set<String>) {
    let (mounted, point) = (persons.mounted, persons.mounted.secondMountPoint)
    let check = try mounted.outcome("albumfs check --json --password-file $P $W/copy")
    #expect(check.code == 0, "\(check.output)\(check.errors)")
    let report = try JSONDecoder().decode(Report.self, from: Data(check.output.utf8))
    try mounted.mount(["--read-only"], at: point, of: mounted.work + "/copy")
    let trees = try persons.look(at: point)
    try mounted.unmount(point)
    return (trees, Set(report.findings.compactMap(\.path)))
  }

  /// The fields of `check --json` that the test uses.
  private struct Report: Decodable {
    struct Finding: Decodable { var path: String? }
    var findings: [Finding]
  }

  /// Expects a copy that takes the place of the store to be one: it can be written to, and passes `check`.
  private func expectUsable(_ persons: Persons) throws {
    let (mounted, point) = (persons.mounted, persons.mounted.secondMountPoint)
    for mount in 1...2 {
      try mounted.mount(at: point, of: mounted.work + "/copy")
      try mounted.sh("head -c 3M /dev/urandom > $W/new; cp $W/new '\(point)/new \(mount)'")
      try mounted.sh("albumfs sync -q '\(point)'; cmp $W/new '\(point)/new \(mount)'")
      try mounted.unmount(point)
      try mounted.sh("albumfs check -q --password-file $P $W/copy")
    }
  }
}

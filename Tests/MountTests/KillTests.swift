import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Promise: what was closed survives the killing of the daemon at any instant, and what is there
/// afterwards is one instant of history.
///
/// Three persons at once run `cp`, `rsync`, `mv`, `rm` and `cat` in folders of their own. Each tool's
/// run is planned by a random number, noted when it begins and when it has returned, and known to a
/// model. At a random moment the daemon is killed; the space is mounted again, and every file is
/// compared, byte by byte, with what the model allows: the outcome of a prefix of the runs that
/// holds everything closed, the next run perhaps half done.
@Suite(.serialized) struct KillTests {
  private static let kills =
    ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] == nil ? 100 : 5000

  @Test func whatWasClosedSurvivesEveryKillWhileToolsRun() throws {
    var random = SeededRandom()
    let seed = random.seed
    print("kill test: seed \(seed)")
    let mounted = try MountedStore(initOptions: ["--chaff", "0"])
    defer { mounted.abandon() }
    try mounted.mount()
    var persons = try Persons(on: mounted, &random)
    var (runs, files) = (0, 0)
    for kill in 0..<Self.kills {
      try persons.plan(80, names: kill * 1000, &random)
      // Most in the thick of it, some before anything was done.
      let milliseconds = Int.random(in: 0..<(kill % 4 == 0 ? 40 : 500), using: &random)
      let history = try persons.history(end: work(mounted, killedAfter: milliseconds))
      try mountAgain(mounted, &random)
      try persons.look()
      let complaint = history.complaint(persons.trees)
      #expect(complaint == nil, "seed \(seed), kill \(kill)")
      if complaint != nil { return }
      runs += history.persons.map(\.ended).reduce(0, +)
      files += persons.trees.map(\.count).reduce(0, +)
    }
    print("kill test: \(Self.kills) kills, \(runs) runs of tools ended, \(files) files compared")
    #expect(runs > Self.kills, "the tools got nothing done between the kills")
    try expectWhole(persons)
  }

  /// Lets the persons work until the daemon is killed; answers when that was.
  private func work(_ mounted: MountedStore, killedAfter milliseconds: Int) throws -> Int {
    let output = try mounted.sh(
      """
      \(Persons.start)
      sleep \(Double(milliseconds) / 1000)
      cat /proc/\(mounted.daemon)/task/*/children 2> $W/errors || true
      echo; echo $EPOCHREALTIME
      kill -KILL \(mounted.daemon)
      wait
      """)
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    try mounted.kill()
    try expectEnded(lines[0])
    return try #require(Persons.microseconds(lines.last!))
  }

  /// The workers that made thumbnails end with their daemon.
  private func expectEnded(_ processes: Substring) throws {
    for process in processes.split(separator: " ") {
      for _ in 0..<3000 where isThumbnailer(process) { usleep(10_000) }
      #expect(!isThumbnailer(process), "a thumbnailer outlives its daemon")
    }
  }

  private func isThumbnailer(_ process: Substring) -> Bool {
    let line = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
    return line.contains("(albumfs-thumb") && !line.contains(") Z ")
  }

  /// Now and then the daemon is killed again while it brings the space back.
  private func mountAgain(_ mounted: MountedStore, _ random: inout SeededRandom) throws {
    try mounted.sh("fusermount3 -uz $M")
    if Int.random(in: 0..<8, using: &random) == 0 {
      let moment = Int.random(in: 10..<100, using: &random)
      try mounted.sh(
        """
        timeout --signal=KILL 0.0\(moment) \
          albumfs mount --foreground --password-file $P $S $M > $W/interrupted 2>&1 || true
        fusermount3 -uz $M 2> $W/interrupted || true
        """)
    }
    try mounted.mount()
  }

  /// In the end the space is whole: it unmounts and mounts as any other, with the same files, and
  /// every photo gets its thumbnail.
  private func expectWhole(_ persons: Persons) throws {
    let mounted = persons.mounted
    try mounted.sh("cp $W/pool/0 \"$M/Trip 0/Photo/last.jpg\"")
    try mounted.sync()
    #expect(try mounted.sh("ls \"$M/Trip 0/Thumb/\"").contains("last.jpg"))
    try mounted.sh("rm \"$M/Trip 0/Photo/last.jpg\"")
    try mounted.remount()
    #expect(try mounted.status().recovery == [])
    #expect(try persons.look(at: mounted.mountPoint) == persons.trees)
    try mounted.unmount()
  }
}

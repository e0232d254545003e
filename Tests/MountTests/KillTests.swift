import AlbumTestSupport
import Foundation
import Glibc
import Testing

/// Promise: closed files survive the killing of the daemon at any instant, and the state afterwards is one
/// instant of history.
///
/// Three persons at once run `cp`, `rsync`, `mv`, `rm` and `cat` in folders of their own. Random numbers plan
/// each run of a tool, a journal records its begin and its return, and a model knows its outcome. At a random
/// moment the daemon is killed. The space is mounted again, and every file is compared, byte by byte, with
/// the states that the model allows: the outcome of a prefix of the runs that contains everything closed,
/// with the next run perhaps half done. In every third session `albumfs compact` runs all the time without a
/// grace time, so it moves and removes content that is in use.
@Suite(.serialized) struct KillTests {
  private static let kills =
    ProcessInfo.processInfo.environment["ALBUMFS_LONG_TESTS"] == nil ? 36 : 5000

  @Test func closedFilesSurviveEveryKillWhileToolsRun() throws {
    var random = SeededRandom()
    let seed = random.seed
    print("kill test: seed \(seed)")
    let mounted = try MountedStore(initOptions: ["--chaff", "0"])
    defer { mounted.abandon() }
    try mounted.mount()
    var persons = try Persons(on: mounted, &random)
    var (runs, files) = (0, 0)
    for kill in 0..<Self.kills {
      let compacts = Self.compacts(kill)
      // Most kills come in the middle of the work, some before anything was done, a few after something was
      // compacted.
      let most = kill % 4 == 0 ? 4 : kill % 12 == 11 ? 200 : 60
      let done = Int.random(in: 0..<most, using: &random)
      try persons.plan(100, names: kill * 1000, &random)
      let history = try persons.history(end: work(mounted, compacts, killedAfter: done))
      try mountAgain(mounted, Self.compacts(kill + 1) ? ["--grace", "0"] : [], &random)
      try persons.look()
      let complaint = history.complaint(persons.trees)
      #expect(complaint == nil, "seed \(seed), kill \(kill)")
      if complaint != nil { return }
      runs += history.persons.map(\.ended).reduce(0, +)
      files += persons.trees.map(\.count).reduce(0, +)
    }
    let freed = try mounted.sh(Self.freed)
    print(
      """
      kill test: \(Self.kills) kills, \(runs) runs of tools ended, \(files) files compared; \
      compaction freed \(freed) bytes
      """)
    #expect(runs > Self.kills, "the tools got nothing done between the kills")
    // Under a sanitizer each kill comes before compaction has freed anything.
    #expect(freed != "0" || Sanitizer.isOn, "compaction got nothing done between the kills")
    try expectWhole(persons)
  }

  private static func compacts(_ kill: Int) -> Bool { kill % 3 == 2 }

  /// Compacts again and again, until the daemon is killed.
  private static let compacting = """
    (
      while albumfs compact --json $M >> $W/compacted 2> $W/uncompacted; do :; done
      echo $EPOCHREALTIME > $W/compacting-ended
    ) &
    """

  /// The bytes that compaction reports as freed.
  private static let freed = """
    awk -F: '/"freed"/ { sum += $2 } END { print sum + 0 }' $W/compacted
    """

  /// Lets the persons work until the daemon is killed, after so many runs; returns the time of that.
  private func work(_ mounted: MountedStore, _ compacts: Bool, killedAfter done: Int) throws
    -> Int
  {
    let output = try mounted.sh(
      """
      \(Persons.start)
      \(compacts ? Self.compacting : "")
      \(Persons.have(done: done))
      cat /proc/\(mounted.daemon)/task/*/children 2> $W/errors || true
      echo; echo $EPOCHREALTIME
      kill -KILL \(mounted.daemon)
      wait
      """)
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    try mounted.kill()
    try expectEnded(lines[0])
    let killed = try #require(Persons.microseconds(lines.last!))
    if compacts {
      let ended = try mounted.sh("cat $W/compacting-ended")
      let complaint = try mounted.sh("cat $W/uncompacted")
      #expect(Persons.microseconds(ended[...]) ?? 0 >= killed, "compaction failed: \(complaint)")
    }
    return killed
  }

  /// Expects the thumbnail workers to end with their daemon.
  private func expectEnded(_ processes: Substring) throws {
    for process in processes.split(separator: " ") {
      #expect(eventually { !isThumbnailer(process) }, "a thumbnailer outlives its daemon")
    }
  }

  private func isThumbnailer(_ process: Substring) -> Bool {
    let line = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
    return line.contains("(albumfs-thumb") && !line.contains(") Z ")
  }

  /// Mounts again. Now and then kills the daemon while it recovers the space.
  private func mountAgain(
    _ mounted: MountedStore, _ options: [String], _ random: inout SeededRandom
  ) throws {
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
    try mounted.mount(options)
  }

  /// Expects the space to be whole in the end: it unmounts and mounts as usual, with the same files, and
  /// every photo gets its thumbnail.
  private func expectWhole(_ persons: Persons) throws {
    let mounted = persons.mounted
    try mounted.sh("cp $W/pool/0 \"$M/Trip 0/Photo/last.jpg\"")
    try mounted.sync()
    #expect(try mounted.sh("ls \"$M/Trip 0/Thumb/\"").contains("last.jpg"))
    try mounted.sh("rm \"$M/Trip 0/Photo/last.jpg\"")
    try mounted.remount()
    let recovery = try mounted.status().recovery
    #expect(recovery == [], "\(recovery)")
    #expect(try persons.look(at: mounted.mountPoint) == persons.trees)
    try mounted.unmount()
  }
}

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
  private static let persons = 3

  @Test func whatWasClosedSurvivesEveryKillWhileToolsRun() throws {
    var random = SeededRandom()
    let seed = random.seed
    print("kill test: seed \(seed)")
    let mounted = try MountedStore(initOptions: ["--chaff", "0"])
    defer { mounted.abandon() }
    let pool = try Pool.make(in: mounted, &random)
    try mounted.mount()
    for person in 0..<Self.persons {
      for folder in Planner.folders(of: person) { try mounted.sh("mkdir -p \"$M/\(folder)\"") }
    }
    try mounted.sync()
    var trees = [Tree](repeating: [:], count: Self.persons)
    var (runs, files) = (0, 0)
    for kill in 0..<Self.kills {
      let history = try session(mounted, pool, trees, kill, &random)
      try mountAgain(mounted, &random)
      trees = try look(mounted)
      let complaint = history.complaint(trees)
      #expect(complaint == nil, "seed \(seed), kill \(kill)")
      if complaint != nil { return }
      runs += history.persons.map(\.ended).reduce(0, +)
      files += trees.map(\.count).reduce(0, +)
    }
    print("kill test: \(Self.kills) kills, \(runs) runs of tools ended, \(files) files compared")
    #expect(runs > Self.kills, "the tools got nothing done between the kills")
    try expectWhole(mounted, trees)
  }

  /// Lets the tools run until the daemon is killed.
  private func session(
    _ mounted: MountedStore, _ pool: Pool, _ trees: [Tree], _ kill: Int,
    _ random: inout SeededRandom
  ) throws -> SharedHistory {
    var plans: [[ToolRun]] = []
    for person in 0..<Self.persons {
      var planner = Planner(pool, worker: person, tree: trees[person], names: kill * 1000)
      let plan = (0..<80).map { _ in planner.plan(&random) }
      try mounted.write(Data(ToolHistory.script(plan).utf8), "plan\(person)")
      plans.append(plan)
    }
    // Most in the thick of it, some before anything was done.
    let milliseconds = Int.random(in: 0..<(kill % 4 == 0 ? 40 : 500), using: &random)
    let moment = milliseconds < 10 ? "00\(milliseconds)" : String("0\(milliseconds)".suffix(3))
    let output = try mounted.sh(
      """
      for person in \((0..<Self.persons).map(String.init).joined(separator: " ")); do
        ( trap - ERR; set +Ee; source $W/plan$person ) > $W/journal$person 2> $W/errors$person &
      done
      sleep 0.\(moment)
      cat /proc/\(mounted.daemon)/task/*/children 2> $W/errors || true
      echo; echo $EPOCHREALTIME
      kill -KILL \(mounted.daemon)
      wait
      """)
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
    try mounted.kill()
    try expectEnded(lines[0])
    let killed = Int(lines.last!.filter { $0 != "." && $0 != "," })!
    return SharedHistory(
      persons: try plans.indices.map { person in
        let history = ToolHistory(
          plans[person], from: trees[person],
          journal: try mounted.sh("cat $W/journal\(person)"))
        if let failure = history.failure, failure.time < killed {
          Issue.record(
            """
            failed before the kill: \(plans[person][failure.run].script)
            \(try mounted.sh("cat $W/errors\(person)"))
            """)
        }
        return history
      })
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

  /// What the persons find in their folders.
  private func look(_ mounted: MountedStore) throws -> [Tree] {
    try mounted.sh(
      """
      rm -rf $W/seen; mkdir $W/seen
      tar -C $M --exclude=Thumb -cf - . | tar -C $W/seen -xf -
      """)
    let top = mounted.work + "/seen"
    var trees = [Tree](repeating: [:], count: Self.persons)
    for path in FileManager.default.subpaths(atPath: top) ?? [] {
      var isFolder: ObjCBool = false
      unsafe _ = FileManager.default.fileExists(atPath: "\(top)/\(path)", isDirectory: &isFolder)
      if isFolder.boolValue { continue }
      let folder = path.split(separator: "/")[0]
      let person = Int(folder.split(separator: " ")[1])!
      trees[person][path] = try Data(contentsOf: URL(fileURLWithPath: "\(top)/\(path)"))
    }
    return trees
  }

  /// In the end the space is whole: it unmounts and mounts as any other, with the same files, and
  /// every photo gets its thumbnail.
  private func expectWhole(_ mounted: MountedStore, _ trees: [Tree]) throws {
    try mounted.sh("cp $W/pool/0 \"$M/Trip 0/Photo/last.jpg\"")
    try mounted.sync()
    #expect(try mounted.sh("ls \"$M/Trip 0/Thumb/\"").contains("last.jpg"))
    try mounted.sh("rm \"$M/Trip 0/Photo/last.jpg\"")
    try mounted.remount()
    #expect(try mounted.status().recovery == [])
    #expect(try look(mounted) == trees)
    try mounted.unmount()
  }
}

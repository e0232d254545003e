import AlbumTestSupport
import Foundation
import Testing

/// Three persons who work on a mount at once with `cp`, `rsync`, `mv`, `rm` and `cat`, each in folders of
/// their own. Random numbers plan their actions, which journals outside the mount record.
struct Persons {
  static let count = 3

  let mounted: MountedStore
  let pool: Pool
  /// The content of each person's folders.
  private(set) var trees: [Tree]
  private var plans: [[ToolRun]] = []

  /// Makes their folders.
  init(on mounted: MountedStore, _ random: inout SeededRandom) throws {
    self.mounted = mounted
    pool = try Pool.make(in: mounted, &random)
    trees = [Tree](repeating: [:], count: Self.count)
    for person in 0..<Self.count {
      for folder in Planner.folders(of: person) { try mounted.sh("mkdir -p \"$M/\(folder)\"") }
    }
    try mounted.sync()
  }

  /// Plans that many runs for each person. New files get names from a number on.
  mutating func plan(_ runs: Int, names: Int, _ random: inout SeededRandom) throws {
    plans = []
    for person in 0..<Self.count {
      var planner = Planner(pool, worker: person, tree: trees[person], names: names)
      let plan = (0..<runs).map { _ in planner.plan(&random) }
      try mounted.write(Data(ToolHistory.script(plan).utf8), "plan\(person)")
      plans.append(plan)
    }
  }

  /// The part of a script that starts them in the background. They stop when `$W/stop` exists, and `wait`
  /// waits for that.
  static let start = """
    rm -f $W/stop
    for person in \((0..<count).map(String.init).joined(separator: " ")); do
      ( trap - ERR; set +Ee; source $W/plan$person ) > $W/journal$person 2> $W/errors$person &
    done
    """

  /// The part of a script that waits until they have done so many runs, which must be fewer than planned for one.
  static func have(done runs: Int) -> String {
    // A journal has one line for the begin of a run and one for its end.
    "await '[ $(cat $W/journal? | wc -l) -ge \(2 * runs) ]'"
  }

  /// The time that a script printed as `$EPOCHREALTIME`, in microseconds since 1970.
  static func microseconds(_ text: Substring) -> Int? {
    Int(text.filter { $0 != "." && $0 != "," })
  }

  /// The actions of the persons. Everything that was closed before `horizon` must be there. A tool that
  /// failed before `end` is an issue.
  func history(horizon: Int = .max, end: Int) throws -> SharedHistory {
    SharedHistory(
      persons: try plans.indices.map { person in
        let history = ToolHistory(
          plans[person], from: trees[person],
          journal: try String(
            contentsOfFile: "\(mounted.work)/journal\(person)", encoding: .utf8),
          horizon: horizon)
        if let failure = history.failure, failure.time < end {
          Issue.record(
            """
            failed: \(plans[person][failure.run].script)
            \(try mounted.sh("cat $W/errors\(person)"))
            """)
        }
        return history
      })
  }

  /// Reads the current content of their folders.
  mutating func look() throws { trees = try look(at: mounted.mountPoint) }

  /// Reads the content of their folders in a mounted copy.
  func look(at point: String) throws -> [Tree] {
    try mounted.sh(
      """
      rm -rf $W/seen; mkdir $W/seen
      tar -C '\(point)' --exclude=Thumb -cf - . | tar -C $W/seen -xf -
      """)
    let top = mounted.work + "/seen"
    var trees = [Tree](repeating: [:], count: Self.count)
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
}

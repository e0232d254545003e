import Foundation

/// The actions of one person's tools in one session, from the journal that they kept outside the mount.
struct ToolHistory {
  /// When a run began and ended, in microseconds since 1970; nil if it did not.
  struct Time {
    var began: Int?
    var ended: Int?
  }

  private(set) var runs: [ToolRun]
  private(set) var times: [Time]
  /// `trees[k]` is the content after `k` runs.
  private(set) var trees: [Tree]
  /// A failed run: its number and its time.
  private(set) var failure: (run: Int, time: Int)?

  /// Everything that was closed before this moment must be there.
  private let horizon: Int

  init(_ runs: [ToolRun], from tree: Tree, journal: String, horizon: Int = .max) {
    self.runs = runs
    self.horizon = horizon
    var trees = [tree]
    for run in runs {
      var next = trees.last!
      run.apply(to: &next)
      trees.append(next)
    }
    self.trees = trees
    times = runs.map { _ in Time() }
    for line in journal.split(separator: "\n") {
      let words = line.split(separator: " ")
      // A time is written as seconds with six digits behind the point.
      guard words.count == 3, let run = Int(words[1]),
        let time = Int(words[2].filter { $0 != "." && $0 != "," })
      else { continue }
      switch words[0] {
      case "begin": times[run].began = time
      case "end": times[run].ended = time
      default: failure = (run, time)
      }
    }
  }

  /// The shell script for the runs, with a line in the journal before and after each.
  static func script(_ runs: [ToolRun]) -> String {
    let lines = runs.enumerated().map { number, run in
      """
      if [ -e $W/stop ]; then exit; fi
      echo "begin \(number) $EPOCHREALTIME"
      { \(run.script); } || { echo "failed \(number) $EPOCHREALTIME"; exit; }
      echo "end \(number) $EPOCHREALTIME"
      """
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns the same history without a look at some files.
  func excusing(_ paths: Set<String>) -> ToolHistory {
    var history = self
    history.trees = trees.map { tree in tree.filter { !paths.contains($0.key) } }
    for run in runs.indices { history.runs[run].excuse(paths) }
    return history
  }

  var begun: Int { times.prefix { $0.began != nil }.count }
  var ended: Int { times.prefix { $0.ended != nil }.count }

  /// The number of runs that must be visible because this person's own tools closed their files.
  var kept: Int {
    for number in (0..<ended(before: horizon)).reversed() {
      switch runs[number].kept {
      case .whole: return number + 1
      case .former: return number
      case .nothing: continue
      }
    }
    return 0
  }

  /// Returns the number of runs that had ended before a moment.
  func ended(before time: Int) -> Int {
    times.prefix { $0.ended.map { $0 < time } ?? false }.count
  }

  /// Returns the paths whose content is not the outcome of `count` runs.
  func differences(_ seen: Tree, _ count: Int) -> [String] {
    Set(trees[count].keys).union(seen.keys).filter { trees[count][$0] != seen[$0] }.sorted()
  }

  /// Returns the least number of runs, from `least` on, with the outcome `seen`. The next run may be under
  /// way.
  func explain(_ seen: Tree, least: Int) -> Int? {
    (least...max(least, begun)).first { count in
      count < begun ? runs[count].mayTurn(trees[count], into: seen) : seen == trees[count]
    }
  }
}

/// The actions of several persons at once in one session that was killed.
struct SharedHistory {
  let persons: [ToolHistory]

  /// Returns nil if `seen` is one instant of history that contains everything that was closed; otherwise what
  /// is wrong.
  func complaint(_ seen: [Tree]) -> String? {
    var least = persons.indices.map { person in
      max(persons[person].kept, persons.map { endedBeforeKept(person, $0) }.max() ?? 0)
    }
    // A visible run of one person implies those runs of others that had ended before it began.
    while true {
      var found: [Int] = []
      for (person, history) in persons.enumerated() {
        guard let count = history.explain(seen[person], least: least[person]) else {
          return describe(person, least[person], seen[person])
        }
        found.append(count)
      }
      let needed = persons.indices.map { person in
        persons.indices.map { other in
          visible(found[other], persons[other], seen[other])
            .map { persons[person].ended(before: $0) } ?? 0
        }.max() ?? 0
      }
      let raised = zip(found, needed).map { max($0, $1) }
      if raised == found { return nil }
      least = raised
    }
  }

  /// Returns the number of runs of a person that had ended before the last run began that another person
  /// closed.
  private func endedBeforeKept(_ person: Int, _ other: ToolHistory) -> Int {
    guard other.kept > 0, let began = other.times[other.kept - 1].began else { return 0 }
    return persons[person].ended(before: began)
  }

  /// Returns when the last run began of which something is visible.
  private func visible(_ count: Int, _ history: ToolHistory, _ seen: Tree) -> Int? {
    let isPartly = count < history.begun && seen != history.trees[count]
    let last = isPartly ? count : count - 1
    return last >= 0 ? history.times[last].began : nil
  }

  private func describe(_ person: Int, _ least: Int, _ seen: Tree) -> String {
    let history = persons[person]
    var lines = [
      "person \(person): after \(least) of \(history.ended) runs that ended, \(history.begun) begun"
    ]
    for number in max(0, least - 3)..<history.begun {
      lines.append("  \(number) \(history.runs[number].kept) \(history.runs[number].script)")
    }
    let nearest = (least...max(least, history.begun)).min {
      history.differences(seen, $0).count < history.differences(seen, $1).count
    }
    for count in Set([least, nearest!, history.ended]).sorted() {
      lines.append("unlike the outcome of \(count):")
      let tree = history.trees[count]
      for path in history.differences(seen, count) {
        lines.append(
          "  \(path): \(Self.short(seen[path])) where \(Self.short(tree[path])) should be")
      }
    }
    return lines.joined(separator: "\n")
  }

  private static func short(_ content: Data?) -> String {
    guard let content else { return "nothing" }
    let isZero = !content.isEmpty && content.allSatisfy { $0 == 0 }
    return "\(content.count) bytes\(isZero ? ", all zero" : "")"
  }
}

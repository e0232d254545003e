import AlbumTestSupport
import Foundation

/// A tree of files: content by path, relative to the mount point.
typealias Tree = [String: Data]

/// One run of a tool on the mount, and what it does there.
struct ToolRun {
  /// The part of a change that survives a kill of the daemon after the tool has returned.
  enum Kept {
    /// Everything: the last step of the tool was to close what it wrote.
    case whole
    /// Everything before the last step: the tool closed a file and finally renamed it.
    case former
    /// Only names changed. Their frame may wait 100 ms to share other changes.
    case nothing
  }

  struct Change {
    var before: Data?
    var after: Data?
    /// While it is under way, the beginning of `after` may be seen.
    var grows = false
  }

  var script: String
  var changes: [String: Change]
  /// Changes of files that are not compared. Their temporary files are compared.
  private(set) var excused: [String: Change] = [:]
  var kept: Kept
  /// True if no other process sees the run half done.
  var isAtomic = false
  /// Writes into `.name.XXXXXX` beside the file first, as rsync does.
  var leavesTemporaryFiles = false

  /// Excludes some files from comparison.
  mutating func excuse(_ paths: Set<String>) {
    excused = changes.filter { paths.contains($0.key) }
    changes = changes.filter { !paths.contains($0.key) }
  }

  func apply(to tree: inout Tree) {
    for (path, change) in changes { tree[path] = change.after }
  }

  /// True if `former` may become this tree while the tool runs.
  func mayTurn(_ former: Tree, into seen: Tree) -> Bool {
    if seen == former { return true }
    if isAtomic { return false }
    for path in Set(former.keys).union(seen.keys).union(changes.keys) {
      guard let change = changes[path] else {
        if seen[path] == former[path] { continue }
        if former[path] == nil, isTemporary(path, seen[path]) { continue }
        return false
      }
      if !allows(change, seen[path]) { return false }
    }
    return true
  }

  private func allows(_ change: Change, _ seen: Data?) -> Bool {
    if seen == change.before || seen == change.after { return true }
    guard change.grows, let seen, let after = change.after else { return false }
    return after.starts(with: seen)
  }

  private func isTemporary(_ path: String, _ seen: Data?) -> Bool {
    guard leavesTemporaryFiles, let seen else { return false }
    return [changes, excused].joined().contains { target, change in
      let (folder, name) = Paths.split(target)
      return path.hasPrefix("\(folder)/.\(name).") && path.count == target.count + 8
        && change.after?.starts(with: seen) ?? false
    }
  }
}

enum Paths {
  static func split(_ path: String) -> (folder: String, name: String) {
    let slash = path.lastIndex(of: "/")!
    return (String(path[..<slash]), String(path[path.index(after: slash)...]))
  }
}

/// Files outside the mount that tools copy in.
struct Pool {
  /// Each lies in `$W/pool` under its number.
  let contents: [Data]
  /// Folders `$W/sets/0` and so on, each with the files of these names and contents of the pool.
  let sets: [[String: Int]]

  /// Makes pictures, and files with sizes near important limits: page, record, segment.
  static func make(in mounted: MountedStore, _ random: inout SeededRandom) throws -> Pool {
    let pictures = try PictureSet.shared.get().some.values.sorted { $0.count < $1.count }
    let sizes = [0, 1, 255, 4095, 4096, 30_000, 65_535, 65_537, 140_000, 400_000, 1_300_000]
    let contents = pictures + sizes.map { Data(random.bytes($0)) }
    for (number, content) in contents.enumerated() {
      try mounted.write(content, "pool/\(number)")
    }
    var sets: [[String: Int]] = []
    for number in 0..<4 {
      // Files of the same name have different sizes, because rsync recognises changes by size and time.
      var set: [String: Int] = [:]
      for (place, name) in ["a.jpg", "b.jpg", "c.bin", "d", "e"].enumerated() {
        set[name] = (place * 3 + number * 2) % contents.count
        try mounted.write(contents[set[name]!], "sets/\(number)/\(name)")
      }
      sets.append(set)
    }
    return Pool(contents: contents, sets: sets)
  }
}

/// Plans what one person does in their own folders of the mount, run after run.
struct Planner {
  let pool: Pool
  let worker: Int
  /// An album, an album in it and a plain directory, which exist.
  let folders: [String]
  private(set) var tree: Tree
  private var names: Int

  init(_ pool: Pool, worker: Int, tree: Tree, names: Int) {
    self.pool = pool
    self.worker = worker
    self.tree = tree
    self.names = names
    folders = Planner.folders(of: worker)
  }

  static func folders(of worker: Int) -> [String] {
    ["Trip \(worker)/Photo", "Trip \(worker)/Inner/Photo", ".plain \(worker)"]
  }

  mutating func plan(_ random: inout SeededRandom) -> ToolRun {
    let run = tree.count > 14 ? removal(&random) : pick(&random)
    run.apply(to: &tree)
    return run
  }

  private mutating func pick(_ random: inout SeededRandom) -> ToolRun {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<5: return copy(&random)
    case 5..<7: return copyOver(&random) ?? copy(&random)
    case 7..<9: return append(&random) ?? copy(&random)
    case 9..<11: return moveIn(&random)
    case 11..<14: return rename(&random) ?? copy(&random)
    case 14..<15: return renameOver(&random) ?? copy(&random)
    case 15..<17: return rsync(&random)
    case 17..<18: return copyFolder(&random)
    default: return removal(&random)
    }
  }

  // MARK: One run each

  private mutating func newPath(_ random: inout SeededRandom) -> String {
    names += 1
    let ending = [".jpg", ".bin", ""].randomElement(using: &random)!
    return "\(folders.randomElement(using: &random)!)/n\(names)\(ending)"
  }

  private func somePath(_ random: inout SeededRandom) -> String? {
    tree.keys.sorted().randomElement(using: &random)
  }

  private mutating func copy(_ random: inout SeededRandom) -> ToolRun {
    let (path, number) = (newPath(&random), pool.contents.indices.randomElement(using: &random)!)
    return ToolRun(
      script: "cp $W/pool/\(number) \"$M/\(path)\"",
      changes: [path: .init(after: pool.contents[number], grows: true)], kept: .whole)
  }

  private func copyOver(_ random: inout SeededRandom) -> ToolRun? {
    guard let path = somePath(&random) else { return nil }
    let number = pool.contents.indices.randomElement(using: &random)!
    return ToolRun(
      script: "cp $W/pool/\(number) \"$M/\(path)\"",
      changes: [path: .init(before: tree[path], after: pool.contents[number], grows: true)],
      kept: .whole)
  }

  private func append(_ random: inout SeededRandom) -> ToolRun? {
    guard let path = somePath(&random), let before = tree[path], before.count < 1 << 20 else {
      return nil
    }
    let number = Int.random(in: 0..<8, using: &random)
    let after = before + pool.contents[number]
    return ToolRun(
      script: "cat $W/pool/\(number) >> \"$M/\(path)\"",
      changes: [path: .init(before: before, after: after, grows: true)],
      kept: before == after ? .nothing : .whole)
  }

  /// Moves in from another file system: `mv` copies and removes.
  private mutating func moveIn(_ random: inout SeededRandom) -> ToolRun {
    let (path, number) = (newPath(&random), pool.contents.indices.randomElement(using: &random)!)
    return ToolRun(
      script: "cp $W/pool/\(number) $W/out\(worker); mv $W/out\(worker) \"$M/\(path)\"",
      changes: [path: .init(after: pool.contents[number], grows: true)], kept: .whole)
  }

  private mutating func rename(_ random: inout SeededRandom) -> ToolRun? {
    guard let old = somePath(&random) else { return nil }
    let new = newPath(&random)
    if new == old { return nil }
    return ToolRun(
      script: "mv -T \"$M/\(old)\" \"$M/\(new)\"",
      changes: [old: .init(before: tree[old]), new: .init(after: tree[old])],
      kept: .nothing, isAtomic: true)
  }

  private func renameOver(_ random: inout SeededRandom) -> ToolRun? {
    guard let old = somePath(&random), let new = somePath(&random), old != new else { return nil }
    return ToolRun(
      script: "mv -fT \"$M/\(old)\" \"$M/\(new)\"",
      changes: [old: .init(before: tree[old]), new: .init(before: tree[new], after: tree[old])],
      kept: .nothing, isAtomic: true)
  }

  private func rsync(_ random: inout SeededRandom) -> ToolRun {
    let number = pool.sets.indices.randomElement(using: &random)!
    let folder = folders.randomElement(using: &random)!
    var changes: [String: ToolRun.Change] = [:]
    for (name, content) in pool.sets[number] {
      let path = "\(folder)/\(name)"
      changes[path] = .init(before: tree[path], after: pool.contents[content])
    }
    // The tool does not write a file again that exists with its time and size.
    let isNew = changes.values.contains { $0.before != $0.after }
    return ToolRun(
      script: "rsync -a $W/sets/\(number)/ \"$M/\(folder)/\"", changes: changes,
      kept: isNew ? .former : .nothing, leavesTemporaryFiles: true)
  }

  private mutating func copyFolder(_ random: inout SeededRandom) -> ToolRun {
    names += 1
    let number = pool.sets.indices.randomElement(using: &random)!
    let folder = "\(folders[0].dropLast("/Photo".count))/Album \(names)"
    var changes: [String: ToolRun.Change] = [:]
    for (name, content) in pool.sets[number] {
      changes["\(folder)/\(name)"] = .init(after: pool.contents[content], grows: true)
    }
    return ToolRun(
      script: "cp -r $W/sets/\(number) \"$M/\(folder)\"", changes: changes, kept: .whole)
  }

  /// Removes a file, a whole folder, or half of everything.
  private func removal(_ random: inout SeededRandom) -> ToolRun {
    let paths = tree.keys.sorted()
    let some = paths.filter { _ in Bool.random(using: &random) }
    let few = paths.shuffled(using: &random).prefix(2)
    let going = Bool.random(using: &random) ? some : Array(few)
    var changes: [String: ToolRun.Change] = [:]
    for path in going { changes[path] = .init(before: tree[path]) }
    let list = going.map { "\"$M/\($0)\"" }.joined(separator: " ")
    return ToolRun(script: "rm -rf \(list)", changes: changes, kept: .nothing)
  }
}

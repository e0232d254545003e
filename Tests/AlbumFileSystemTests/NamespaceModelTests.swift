import AlbumFileSystem
import AlbumModel
import AlbumTestSupport
import Testing

// Inside a plain directory, names behave as on a local file system. The test makes random calls, and the same
// changes to a dictionary of paths. It compares both after each hundred calls, and after a new mount.

struct NamespaceModelTests {
  /// The target of a path: a directory, or a file, identified by content that only it has.
  private enum Node: Equatable {
    case directory
    case file(String)
  }

  @Test(arguments: 0..<4) func anyCallsInAnyOrderGiveTheSameTree(_ round: Int) throws {
    var random = SeededRandom()
    let space = try TestSpace()
    try space.mkdir(".p")
    var model: [String: Node] = [".p": .directory]
    for step in 0..<600 {
      try act(space, &model, &random, step)
      if step % 100 == 99 { try compare(space, model, "seed \(random.seed) step \(step)") }
    }
    try space.remount()
    try compare(space, model, "seed \(random.seed), mounted again")
  }

  private func path(_ random: inout SeededRandom) -> String {
    var path = ".p"
    for _ in 0...Int.random(in: 0...2, using: &random) {
      path += "/" + ["a", "b", "c", "d"].randomElement(using: &random)!
    }
    return path
  }

  private func act(
    _ space: TestSpace, _ model: inout [String: Node], _ random: inout SeededRandom, _ step: Int
  ) throws {
    let first = path(&random)
    let second = path(&random)
    let comment = "seed \(random.seed) step \(step): \(first) \(second)"
    switch Int.random(in: 0..<9, using: &random) {
    case 0...1:
      let isFree = model[first] == nil && model[parent(first)] == .directory
      #expect((refusal { try space.mkdir(first) } == nil) == isFree, "\(comment)")
      if isFree { model[first] = .directory }
    case 2...3:
      let isFree = model[first] == nil && model[parent(first)] == .directory
      if isFree {
        try space.write("\(step)", to: first)
        model[first] = .file("\(step)")
      } else {
        #expect(refusal { try space.create(first) } != nil, "\(comment)")
      }
    case 4:
      let isFile = model[first].map { $0 != .directory } ?? false
      #expect((refusal { try space.unlink(first) } == nil) == isFile, "\(comment)")
      if isFile { model[first] = nil }
    case 5:
      let isEmpty = model[first] == .directory && !model.keys.contains { $0.hasPrefix(first + "/") }
      #expect((refusal { try space.rmdir(first) } == nil) == isEmpty, "\(comment)")
      if isEmpty { model[first] = nil }
    case 6:
      guard case .file(let content) = model[first] else { return }
      let isFree = model[second] == nil && model[parent(second)] == .directory
      #expect((refusal { try space.link(first, second) } == nil) == isFree, "\(comment)")
      if isFree { model[second] = .file(content) }
    default: try rename(space, &model, first, second, &random, comment)
    }
  }

  private func rename(
    _ space: TestSpace, _ model: inout [String: Node], _ from: String, _ to: String,
    _ random: inout SeededRandom, _ comment: String
  ) throws {
    let noReplace = Bool.random(using: &random)
    let exchange = !noReplace && Bool.random(using: &random)
    let error = refusal { try space.rename(from, to, noReplace: noReplace, exchange: exchange) }
    let mayBe = allows(model, from, to, noReplace: noReplace, exchange: exchange)
    #expect(
      (error == nil) == mayBe, "\(comment) \(noReplace) \(exchange) \(String(describing: error))")
    if error != nil || from == to { return }
    // Two names of one file: nothing happens.
    if case .file(let a) = model[from], case .file(let b) = model[to], a == b { return }
    let moving = take(&model, from)
    let other = exchange ? take(&model, to) : [:]
    if !exchange { model[to] = nil }
    for (rest, node) in moving { model[to + rest] = node }
    for (rest, node) in other { model[from + rest] = node }
  }

  private func allows(
    _ model: [String: Node], _ from: String, _ to: String, noReplace: Bool, exchange: Bool
  ) -> Bool {
    guard let source = model[from], model[parent(to)] == .directory else { return false }
    if noReplace && model[to] != nil { return false }
    if from == to { return true }
    if source == .directory && (to + "/").hasPrefix(from + "/") { return false }
    guard let target = model[to] else { return !exchange }
    if exchange { return !(target == .directory && (from + "/").hasPrefix(to + "/")) }
    switch (source, target) {
    case (.directory, .directory): return !model.keys.contains { $0.hasPrefix(to + "/") }
    case (.file, .file): return true
    default: return false
    }
  }

  /// Removes a path and everything below it; returns the removed nodes by their paths below it.
  private func take(_ model: inout [String: Node], _ path: String) -> [String: Node] {
    var taken: [String: Node] = [:]
    for (key, node) in model where key == path || key.hasPrefix(path + "/") {
      taken[String(key.dropFirst(path.count))] = node
      model[key] = nil
    }
    return taken
  }

  private func parent(_ path: String) -> String {
    path.split(separator: "/").dropLast().joined(separator: "/")
  }

  private func compare(_ space: TestSpace, _ model: [String: Node], _ comment: String) throws {
    var found: [String: Node] = [:]
    var waiting = [".p"]
    while let path = waiting.popLast() {
      let status = try space.status(path)
      if status.kind == .directory {
        found[path] = .directory
        let children = try space.list(path).map { "\(path)/\($0)" }
        waiting += children
        let directories = children.filter { model[$0] == .directory }.count
        #expect(status.links == UInt32(2 + directories), "\(comment): \(path)")
      } else {
        let content = try space.text(path)
        found[path] = .file(content)
        let names = model.values.filter { $0 == .file(content) }.count
        #expect(status.links == UInt32(names), "\(comment): \(path)")
      }
    }
    #expect(found == model, "\(comment)")
  }
}

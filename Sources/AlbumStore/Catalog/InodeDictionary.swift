/// A dictionary by inode for what few inodes have. It is many small ones, so that no insertion moves more
/// than a part of it. Not thread-safe.
struct InodeDictionary<Value: Sendable>: Sendable {
  private static var partCount: Int { 1024 }
  private var parts = [[InodeIndex: Value]](repeating: [:], count: InodeDictionary.partCount)

  private func part(of index: InodeIndex) -> Int {
    Int(index.rawValue) % InodeDictionary.partCount
  }

  subscript(index: InodeIndex) -> Value? {
    get { parts[part(of: index)][index] }
    _modify { yield &parts[part(of: index)][index] }
  }

  subscript(index: InodeIndex, default value: @autoclosure () -> Value) -> Value {
    get { parts[part(of: index)][index, default: value()] }
    _modify { yield &parts[part(of: index)][index, default: value()] }
  }

  var count: Int { parts.reduce(0) { $0 + $1.count } }
  var capacity: Int { parts.reduce(0) { $0 + $1.capacity } }
  var isEmpty: Bool { parts.allSatisfy(\.isEmpty) }

  /// Calls `body` with what is in one of the parts. Returns false behind the last one.
  func forEach(inPart number: Int, _ body: (InodeIndex, Value) -> Void) -> Bool {
    if number >= parts.count { return false }
    for (index, value) in parts[number] { body(index, value) }
    return true
  }
}

extension InodeDictionary: Equatable where Value: Equatable {}

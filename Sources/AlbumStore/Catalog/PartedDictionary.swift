internal import AlbumModel

/// A key that says in which part of a `PartedDictionary` it is.
protocol PartedKey: Hashable, Sendable {
  /// Spreads keys that follow each other over all parts.
  var partNumber: Int { get }
}

extension InodeIndex: PartedKey {
  var partNumber: Int { Int(rawValue) }
}

extension InodeNumber: PartedKey {
  var partNumber: Int { Int(truncatingIfNeeded: rawValue & 0xFFFF_FFFF) }
}

/// A dictionary that is many small ones, so that no insertion moves more than a part of it. Not thread-safe.
struct PartedDictionary<Key: PartedKey, Value: Sendable>: Sendable {
  private static var partCount: Int { 1024 }
  private var parts = [[Key: Value]](repeating: [:], count: PartedDictionary.partCount)

  private func part(of key: Key) -> Int { key.partNumber % PartedDictionary.partCount }

  subscript(key: Key) -> Value? {
    get { parts[part(of: key)][key] }
    _modify { yield &parts[part(of: key)][key] }
  }

  subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
    get { parts[part(of: key)][key, default: value()] }
    _modify { yield &parts[part(of: key)][key, default: value()] }
  }

  var count: Int { parts.reduce(0) { $0 + $1.count } }
  var capacity: Int { parts.reduce(0) { $0 + $1.capacity } }
  var isEmpty: Bool { parts.allSatisfy(\.isEmpty) }

  /// Calls `body` with what is in one of the parts. Returns false behind the last one.
  func forEach(inPart number: Int, _ body: (Key, Value) -> Void) -> Bool {
    if number >= parts.count { return false }
    for (key, value) in parts[number] { body(key, value) }
    return true
  }
}

extension PartedDictionary: Equatable where Value: Equatable {}

/// Holds values that only few inodes have.
typealias InodeDictionary<Value: Sendable> = PartedDictionary<InodeIndex, Value>

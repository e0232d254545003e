import AlbumSecrets
package import ObjectStores
import Posix

/// An object storage in memory that does to its callers what networks and servers do.
package final class MemoryObjectStore: ObjectStore {
  /// What happens to one call.
  package enum Fault: Sendable {
    /// The server does nothing.
    case lostRequest
    /// The server does its part, and the caller does not learn it.
    case lostReply
    /// As `lostReply`; and the request arrives again behind the next one.
    case doubled
    /// The caller learns nothing; and the request arrives behind the next one.
    case late
    /// What comes back is not what was saved.
    case garbled
    /// The same, and nothing shows it: other bytes, and the size 0.
    case wrong
    /// The reply to a load of another object.
    case exchanged(String)
    case error(ObjectError)
  }

  package enum Verb: Sendable, CaseIterable {
    case save, load, stat, list, remove
  }

  private struct State {
    var objects: [String: LoadedObject] = [:]
    var count = 0
    /// Requests that arrive behind the next one.
    var late: [@Sendable (inout State) -> Void] = []
    var calls: [Verb: Int] = [:]
    /// All contents so far, if they are recorded.
    var recording: [[String: [UInt8]]] = []

    mutating func save(
      _ name: String, _ bytes: [UInt8], _ condition: SaveCondition
    ) throws(ObjectError) -> ObjectVersion {
      let present = objects[name]?.version
      switch condition {
      case .any: break
      case .absent: if present != nil { throw .exists }
      case .same(let known): if present != known { throw present == nil ? .absent : .changed }
      }
      count += 1
      let version = ObjectVersion("\(count)")
      objects[name] = LoadedObject(bytes: bytes, version: version)
      return version
    }
  }

  package let place = "memory"
  private let state = Mutex(State(), rank: .test)
  private let properties: ObjectStoreProperties
  private let records: Bool
  /// The first part of each listing has nothing, as on a server with many removed objects.
  private let startsEmpty: Bool
  /// Decides on each call by its verb, its name and its number.
  private let fault: @Sendable (Verb, String, Int) -> Fault?

  package init(
    checksContent: Bool = true, records: Bool = false, startsEmpty: Bool = false,
    fault: @escaping @Sendable (Verb, String, Int) -> Fault? = { _, _, _ in nil }
  ) {
    properties = ObjectStoreProperties(
      createsIfAbsent: true, replacesIfSame: true, listsAtOnce: true, checksContent: checksContent)
    self.fault = fault
    self.records = records
    self.startsEmpty = startsEmpty
  }

  /// With `records`: the contents after each change, the oldest first.
  package var recording: [[String: [UInt8]]] { state.withLock { $0.recording } }

  package func calls(_ verb: Verb) -> Int { state.withLock { $0.calls[verb] ?? 0 } }

  /// What is there, by name.
  package var contents: [String: [UInt8]] { state.withLock { $0.objects.mapValues(\.bytes) } }

  /// Changes an object behind its users' back.
  package func damage(_ name: String) {
    state.withLock { state in
      guard var object = state.objects[name], !object.bytes.isEmpty else { return }
      object.bytes[object.bytes.count / 2] ^= 1
      state.objects[name] = object
    }
  }

  // MARK: The verbs

  @discardableResult
  package func save(
    _ name: String, _ bytes: [UInt8], _ condition: SaveCondition
  ) throws(ObjectError) -> ObjectVersion {
    try call(.save, name) { (state, name) throws(ObjectError) in
      try state.save(name, bytes, condition)
    }
  }

  package func load(
    _ name: String, _ range: Range<Int64>?, unless known: ObjectVersion?
  ) throws(ObjectError) -> LoadedObject? {
    var isWrong = false
    let found = try call(.load, name, { isWrong = $0 }) { (state, name) throws(ObjectError) in
      state.objects[name]
    }
    guard var object = found else { throw .absent }
    if object.version == known { return nil }
    let size = Int64(object.bytes.count)
    let wanted = (range ?? 0..<size).clamped(to: 0..<size)
    object.bytes = Array(object.bytes[Int(wanted.lowerBound)..<Int(wanted.upperBound)])
    if isWrong { object.bytes = object.bytes.map { ~$0 } }
    return object
  }

  package func stat(_ name: String) throws(ObjectError) -> ObjectFacts? {
    var isWrong = false
    var facts = try call(.stat, name, { isWrong = $0 }) { (state, name) throws(ObjectError) in
      state.objects[name].map { object in
        ObjectFacts(
          size: Int64(object.bytes.count), version: object.version,
          digest: SHA256.hash(object.bytes))
      }
    }
    if isWrong { facts?.size = 0 }
    return facts
  }

  package func list(_ prefix: String, part: String?) throws(ObjectError) -> ObjectPage {
    try call(.list, prefix) { (state, prefix) throws(ObjectError) in
      if part == nil, self.startsEmpty { return ObjectPage(objects: [], next: "") }
      let names = state.objects.keys.filter { $0.hasPrefix(prefix) && $0 > part ?? "" }.sorted()
      let page = names.prefix(ObjectPage.limit).map { name in
        ListedObject(
          name: name, size: Int64(state.objects[name]!.bytes.count),
          version: state.objects[name]!.version)
      }
      return ObjectPage(objects: page, next: page.count == names.count ? nil : page.last?.name)
    }
  }

  package func remove(_ name: String) throws(ObjectError) {
    try call(.remove, name) { (state, name) throws(ObjectError) in state.objects[name] = nil }
  }

  package func settle() {}

  package func probe() -> ObjectStoreProperties { properties }

  private func call<Result: Sendable>(
    _ verb: Verb, _ name: String, _ tellWrong: (Bool) -> Void = { _ in },
    _ body: @escaping @Sendable (inout State, String) throws(ObjectError) -> Result
  ) throws(ObjectError) -> Result {
    let number = state.withLock { state in
      state.calls[verb, default: 0] += 1
      return state.calls.values.reduce(0, +)
    }
    let fault = fault(verb, name, number)
    if case .error(let error) = fault { throw error }
    if case .lostRequest = fault { throw .unreachable(.cut) }
    let again: @Sendable (inout State) -> Void = { _ = try? body(&$0, name) }
    let name = if case .exchanged(let other) = fault { other } else { name }
    if case .late = fault {
      state.withLock { $0.late.append(again) }
      throw .unreachable(.slow)
    }
    let result: Swift.Result<Result, ObjectError> = state.withLock { state in
      let late = state.late
      state.late = []
      defer {
        for request in late { run(request, &state) }
        if case .doubled = fault { state.late.append(again) }
      }
      do throws(ObjectError) {
        let result = try body(&state, name)
        if verb == .save || verb == .remove { record(&state) }
        return .success(result)
      } catch {
        return .failure(error)
      }
    }
    switch fault {
    case .lostReply, .doubled: throw .unreachable(.cut)
    case .garbled: throw .damaged
    case .wrong: tellWrong(true)
    default: break
    }
    return try result.get()
  }

  private func run(_ request: @Sendable (inout State) -> Void, _ state: inout State) {
    let count = state.count
    let number = state.objects.count
    request(&state)
    if state.count != count || state.objects.count != number { record(&state) }
  }

  private func record(_ state: inout State) {
    if records { state.recording.append(state.objects.mapValues(\.bytes)) }
  }
}

/// Calls `body` for each item, on up to `count` threads at once, and returns the results in the order of the
/// items. For calls that wait for a network. Begins no call after one that failed, and throws the error of
/// the first item whose call did.
@discardableResult
package func inLanes<Item: Sendable, Outcome: Sendable, Failure: Error>(
  _ count: Int, _ items: [Item], _ body: @escaping @Sendable (Item) throws(Failure) -> Outcome
) throws(Failure) -> [Outcome] {
  let state = Mutex(LaneState<Outcome, Failure>(count: items.count), rank: .leaf)
  let work: @Sendable () -> Void = {
    while let place = state.withLock({ $0.begin() }) {
      let result: Result<Outcome, Failure>
      do throws(Failure) { result = .success(try body(items[place])) } catch {
        result = .failure(error)
      }
      state.withLock { $0.end(place, result) }
    }
  }
  let helpers = (1..<max(1, min(count, items.count))).compactMap { _ in
    try? PosixThread(name: "albumfs-lane", work)
  }
  work()
  for helper in helpers { helper.join() }
  var outcomes: [Outcome] = []
  for result in state.withLock({ $0.results }) {
    if let result { outcomes.append(try result.get()) }
  }
  return outcomes
}

private struct LaneState<Outcome: Sendable, Failure: Error>: Sendable {
  /// nil of an item whose call has not returned.
  private(set) var results: [Result<Outcome, Failure>?]
  private var next = 0

  init(count: Int) { results = Array(repeating: nil, count: count) }

  /// The place of the item that a thread takes.
  mutating func begin() -> Int? {
    if next == results.count { return nil }
    defer { next += 1 }
    return next
  }

  mutating func end(_ place: Int, _ result: Result<Outcome, Failure>) {
    results[place] = result
    if case .failure = result { next = results.count }
  }
}

/// Calls `body` for each item, on up to `count` threads at once, and returns when all calls have returned.
/// For calls that wait for a network.
package func inLanes<Item: Sendable>(
  _ count: Int, _ items: [Item], _ body: @escaping @Sendable (Item) -> Void
) {
  let waiting = Mutex(items[...], rank: .leaf)
  let work: @Sendable () -> Void = {
    while let item = waiting.withLock({ $0.popFirst() }) { body(item) }
  }
  let helpers = (1..<max(1, min(count, items.count))).compactMap { _ in
    try? PosixThread(name: "albumfs-lane", work)
  }
  work()
  for helper in helpers { helper.join() }
}

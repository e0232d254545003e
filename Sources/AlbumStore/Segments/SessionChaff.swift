import AlbumModel
import Logging
import Posix

import struct Synchronization.Atomic

/// The chaff that one session adds, drawn according to `ChaffRule`.
struct SessionChaff {
  /// Segments to be added, and when.
  private(set) var pending: [(count: Int, due: MonotonicTime)] = []
  /// The number of the session's segments that the draws have covered, and the one that triggers the next
  /// addition.
  private var seen = 0
  private var next: Int?

  /// Draws for the segments that the session has made so far.
  mutating func drawAdditions(made count: Int, now: MonotonicTime) {
    var generator = SystemRandomNumberGenerator()
    drawAdditions(made: count, now: now, using: &generator)
  }

  /// The same with random numbers that a test can repeat.
  mutating func drawAdditions(
    made count: Int, now: MonotonicTime, using generator: inout some RandomNumberGenerator
  ) {
    if next == nil {
      if Int.random(in: 0..<ChaffRule.sessionsPerAddition, using: &generator) == 0 {
        draw(now, &generator)
      }
      next = SessionChaff.interval(&generator)
    }
    seen = max(seen, count)
    while let reached = next, reached <= seen {
      draw(now, &generator)
      next = reached + SessionChaff.interval(&generator)
    }
  }

  private mutating func draw(_ now: MonotonicTime, _ generator: inout some RandomNumberGenerator) {
    pending.append(
      (
        ChaffRule.countOfAddition(uniform: .random(in: 0..<1, using: &generator)),
        now + .milliseconds(Int64.random(in: 0..<ChaffRule.delay.milliseconds, using: &generator))
      ))
  }

  /// The number of segments until the next addition: geometric, from 1.
  private static func interval(_ generator: inout some RandomNumberGenerator) -> Int {
    ChaffRule.interval(uniform: .random(in: 0..<1, using: &generator))
  }

  /// Takes the segments that are due.
  mutating func take(until now: MonotonicTime) -> Int {
    defer { pending.removeAll { $0.due <= now } }
    return pending.reduce(0) { $1.due <= now ? $0 + $1.count : $0 }
  }

  var nextDue: MonotonicTime? { pending.map(\.due).min() }
}

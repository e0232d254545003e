import Posix

/// Whether workers can be started: nil, or what is in the way. Any thread.
final class Availability: Sendable {
  private let problem: Mutex<String?>

  init(_ problem: String?) { self.problem = Mutex(problem, rank: .leaf) }

  var current: String? { problem.withLock { $0 } }

  /// Whether that is news.
  func set(_ new: String?) -> Bool {
    problem.withLock { current in
      defer { current = new }
      return current != new
    }
  }
}

import FoundationEssentials
import Hummingbird
import NIOCore
import Posix

/// Reads the body of a request: bounded in size and time.
enum RequestBodies {
  /// For everything but uploads.
  static let limit = 1 << 20
  /// A client that sends a small body more slowly than that is cut off.
  static let patience = TestHooks.delay(.body, .seconds(20))

  /// The whole body. Throws `invalid` if the client went away before its end.
  static func bytes(_ request: Request, atMost limit: Int = limit) async throws -> [UInt8] {
    let length = request.headers[.contentLength].flatMap { Int64($0) }
    if let length, length > limit { throw GalleryError(.large) }
    return try await withDeadline(patience) {
      var bytes: [UInt8] = []
      for try await part in request.body {
        bytes += part.readableBytesView
        if bytes.count > limit { throw GalleryError(.large) }
      }
      if let length, bytes.count < length { throw GalleryError(.invalid, "The body has no end.") }
      return bytes
    }
  }

  /// The body as JSON.
  static func json<Body: Decodable>(
    _ request: Request, _ type: Body.Type, atMost limit: Int = limit
  ) async throws -> Body {
    let bytes = try await bytes(request, atMost: limit)
    guard let body = try? JSONDecoder().decode(type, from: Data(bytes)) else {
      throw GalleryError(.invalid, "The body is not what this request takes.")
    }
    return body
  }
}

/// Runs `body`, and cancels it after so long.
func withDeadline<Result: Sendable>(
  _ wait: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: wait)
      return nil
    }
    defer { group.cancelAll() }
    guard let result = try await group.next(), let result else {
      throw GalleryError(.slow, "The request came too slowly.")
    }
    return result
  }
}

/// Tells that a client still sends enough. Any thread.
final class Pulse: Sendable {
  /// So many bytes are enough: a slow network brings them in a second.
  private static let least = 4096
  private let pace: Mutex<Pace>

  init(_ patience: Duration) {
    pace = Mutex(Pace(atLeast: Pulse.least, each: patience), rank: .leaf)
  }

  func beat(_ count: Int) { pace.withLock { $0.add(count) } }
  /// The server itself was at work.
  func restart() { pace.withLock { $0.restart() } }
  var isTooSlow: Bool { pace.withLock { $0.isTooSlow } }
}

/// Runs `body`, and cancels it when less than a few kilobytes came in this time, as it says by `beat`. It
/// then throws `slow`.
func withStallLimit<Result: Sendable>(
  _ patience: Duration, _ body: @escaping @Sendable (Pulse) async throws -> Result
) async throws -> Result {
  let pulse = Pulse(patience)
  return try await withThrowingTaskGroup(of: Result.self) { group in
    group.addTask { try await body(pulse) }
    group.addTask {
      while !pulse.isTooSlow { try await Task.sleep(for: .milliseconds(500)) }
      throw GalleryError(.slow, "The request came too slowly.")
    }
    defer { group.cancelAll() }
    return try await group.next()!
  }
}

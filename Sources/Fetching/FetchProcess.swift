internal import Posix

/// A running albumfs-fetch. It ends with this value. For one thread.
struct FetchProcess: ~Copyable {
  enum Fault: Error {
    /// The caller's `isStopped` said so.
    case stopped
    /// The program ended, or wrote what it must not.
    case broken
    /// The dynamic linker found no libcurl.
    case notLinked
  }

  private let process: HelperProcess
  private var parser = FetchReplyParser()

  /// Public addresses alone are never reached through a proxy, which would connect to others as well.
  init(program: String, _ request: FetchRequest) throws(Errno) {
    process = try HelperProcess(
      "albumfs-fetch", program: program, usesProxies: !request.isPublicOnly)
    // A program that could not start has closed its end; the first read tells.
    try? process.send(request.encode())
    process.endSending()
  }

  /// The next frame. Asks now and then whether to stop.
  mutating func next(_ isStopped: () -> Bool) throws(Fault) -> FetchReply {
    while true {
      do throws(FetchReplyParser.Malformed) {
        if let reply = try parser.next() { return reply }
      } catch {
        throw .broken
      }
      do throws(HelperProcess.Fault) {
        parser.add(try process.receiveSome(atMost: 1 << 18, isStopped)[...])
      } catch {
        throw Fault(error)
      }
    }
  }
}

extension FetchProcess.Fault {
  fileprivate init(_ fault: HelperProcess.Fault) {
    switch fault {
    case .stopped: self = .stopped
    case .ended: self = .broken
    case .notLinked: self = .notLinked
    }
  }
}

internal import Posix

/// One connection to a server, and whatever speaks on it. For one thread at a time.
package protocol RemoteLane: AnyObject, Sendable {
  /// Returns the reply and the body that came with it.
  func exchange(
    _ request: RemoteRequest, _ body: [UInt8], _ isStopped: () -> Bool
  ) throws(LaneFault) -> (RemoteReply, [UInt8])
}

package enum LaneFault: Error, Equatable, Sendable {
  case stopped
  /// The program ended, or wrote what it must not.
  case broken
  /// The program cannot be run.
  case program(ObjectError.ProgramFault)
}

/// A running albumfs-remote. It ends with this object.
package final class RemoteProcess: RemoteLane {
  private let process: HelperProcess

  /// `program` is the path of albumfs-remote; nil if it is missing.
  package init(program: String?) throws(LaneFault) {
    guard let program else { throw .program(.missing) }
    do throws(Errno) {
      process = try HelperProcess("albumfs-remote", program: program, usesProxies: true)
    } catch {
      throw .program(.start(error))
    }
  }

  package func exchange(
    _ request: RemoteRequest, _ body: [UInt8], _ isStopped: () -> Bool
  ) throws(LaneFault) -> (RemoteReply, [UInt8]) {
    let head = request.encode()
    do throws(Errno) {
      try process.send(RemoteFrame.lengths(head: head.count, body: body.count) + head)
      try process.send(body)
    } catch {
      throw LaneFault(process.end())
    }
    guard let lengths = RemoteFrame.lengths(try receive(RemoteFrame.lengthBytes, isStopped)) else {
      throw .broken
    }
    let answer = try receive(lengths.head, isStopped)
    let content = try receive(lengths.body, isStopped)
    guard let reply = RemoteReply(answer) else { throw .broken }
    if reply.fault == .confinement { throw .program(.confinement) }
    return (reply, content)
  }

  private func receive(_ count: Int, _ isStopped: () -> Bool) throws(LaneFault) -> [UInt8] {
    do throws(HelperProcess.Fault) { return try process.receive(count, isStopped) } catch {
      throw LaneFault(error)
    }
  }
}

extension LaneFault {
  fileprivate init(_ fault: HelperProcess.Fault) {
    switch fault {
    case .stopped: self = .stopped
    case .ended: self = .broken
    case .notLinked: self = .program(.notLinked)
    }
  }
}

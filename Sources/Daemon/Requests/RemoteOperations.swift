import AlbumStore
import ControlProtocol
import Posix

// What is different where the store lies in an object storage.

extension Parts {
  var takeOverWarnings: [String] {
    guard let machine = space.takenFrom else { return [] }
    return [
      "The space was mounted on the machine \(machine) and not unmounted there. This mount goes on from what "
        + "is in the object storage. What \(machine) had written and not sent stays there, until albumfs check "
        + "--repair there sends it and brings it back."
    ]
  }

  /// Where everything is after a barrier.
  var restingPlace: String { space.liesElsewhere ? "in the bucket" : "on disk" }

  /// Returns when everything that was closed before is where the store lies. Calls `progress` about once a
  /// second; it returns false to stop waiting.
  func barrier(until deadline: MonotonicTime?, _ progress: (Int) -> Bool) throws(Failure) {
    if !space.liesElsewhere { return try barrier() }
    let wait = try SendingWait(self)
    while true {
      let look = min(deadline ?? .distantFuture, .now + .seconds(1))
      if let result = wait.result(until: look) { return try result.get() }
      if let deadline, MonotonicTime.now >= deadline {
        let left = space.status.sending?.unsentBytes ?? 0
        throw Failure(
          .timedOut,
          "Timed out: \((left + 1 << 20 - 1) >> 20) MiB are not in the object storage yet.")
      }
      if !progress(0) { return }
    }
  }
}

/// A barrier with a thread of its own, so that the caller can report progress meanwhile.
private final class SendingWait: Sendable {
  private let outcome = Monitor(Result<Void, Failure>?.none, rank: .leaf)

  init(_ parts: Parts) throws(Failure) {
    do throws(Errno) {
      try PosixThread(name: "sync-there") { [outcome] in
        let result: Result<Void, Failure>
        do throws(Failure) { result = .success(try parts.barrier()) } catch {
          result = .failure(error)
        }
        outcome.withLock { $0 = result }
        outcome.notifyAll()
      }.detach()
    } catch {
      throw Failure(.other, "No thread can be started: \(error).")
    }
  }

  /// nil if it is not over then.
  func result(until time: MonotonicTime) -> Result<Void, Failure>? {
    outcome.waiting(until: time) { $0 }
  }
}

extension MountStatus.Remote {
  init(_ sending: SendingStatus) {
    self.init(
      until: sending.until?.secondsWithFraction, unsentBytes: sending.unsentBytes,
      problem: sending.problem)
  }
}

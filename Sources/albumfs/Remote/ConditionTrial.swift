import ControlProtocol
import ObjectStores
import Posix

/// Tries, beside everything else that a mount begins with, whether a server keeps two machines from writing
/// at once, and an old content from replacing a new one.
final class ConditionTrial: Sendable {
  private let store: S3Store
  private let found = Monitor<Result<ObjectStoreProperties, ObjectError>?>(nil, rank: .leaf)

  init(of store: S3Store) {
    self.store = store
    do throws(Errno) {
      try PosixThread(name: "albumfs-trial") { [self] in run() }.detach()
    } catch {
      run()
    }
  }

  private func run() {
    let result: Result<ObjectStoreProperties, ObjectError>
    do throws(ObjectError) { result = .success(try store.probeConditions()) } catch {
      result = .failure(error)
    }
    found.withLock { $0 = result }
    found.notifyAll()
  }

  /// The refusal of a server that does not; nil if it does. Waits for the end of the trial, which removes its
  /// object.
  var failure: Failure? {
    let properties: ObjectStoreProperties
    do throws(ObjectError) { properties = try found.waiting { $0 }.get() } catch {
      return Failure(error, "", of: store.place)
    }
    let lacks = [
      properties.createsIfAbsent
        ? nil : "it saves a file that is to be new over another (If-None-Match)",
      properties.replacesIfSame
        ? nil : "it saves a file over one that has changed meanwhile (If-Match)",
      properties.listsAtOnce ? nil : "it lists what was saved and removed only later",
    ].compactMap { $0 }
    if lacks.isEmpty { return nil }
    return Failure(
      .unsupported,
      "\(store.place): on this server nothing keeps two machines from writing at once: "
        + "\(lacks.joined(separator: "; ")). A store there can be read, and changed with albumfs copy --update.",
      remedy: .mountReadOnly)
  }
}

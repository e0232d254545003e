import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix

@testable import AlbumFileSystem
@testable import AlbumStore

/// The circumstances of a workload: the store that it finds, and the precautions that are left out to show
/// that the harness notices.
struct Circumstances: Sendable {
  var store: CrashStore
  var tree: PlainTree
  var lies: Set<DiskLie> = []
  var omitted: Set<Precaution> = []
  /// The sync of a file fails after this number of syncs.
  var failsSyncAfter: Int?
  /// How long unneeded segments stay, in seconds.
  var graceSeconds: Int64 = 0
  /// The start of the machine in which the session runs, and is killed and mounts again.
  var boot = BootIdentity.unknown
  /// False in a life that keeps nothing for copies: a tooth.
  var keepsGrace = true
  /// Distinguishes the bytes that one workload writes from those of another.
  var salt: UInt64 = 0

  /// The store after `Operation.preparation`, at rest.
  static func prepared() throws -> Circumstances {
    let empty = Circumstances(store: try CrashStore(), tree: PlainTree())
    let workload = try Workload(empty)
    for operation in Operation.preparation { workload.perform(operation) }
    if let finding = workload.findings.first { throw Finding(text: finding) }
    try workload.mounted.close()
    var random = SeededRandom(seed: 0)
    var result = empty
    result.store.image = workload.disk.image.afterPowerCut(.everything, &random)
    result.tree = workload.tree
    result.tree.endProcess()
    return result
  }
}

struct Finding: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}

/// The attempts at one file that did not bring the whole of it. A server that always breaks off, or sends
/// byte by byte, must not keep an import for ever.
struct DownloadTries {
  /// Those in a row that brought nothing new.
  private(set) var idle = 0
  private var idleLimit = 0
  private var all = 0
  /// How far any attempt came: one that begins anew must come farther.
  private var farthest: Int64

  /// In a row: of a server that replied before, of another one, and of a slow one.
  private static let idleLimits = (known: 5, unknown: 2, slow: 2)
  private static let limit = 100
  /// An attempt that brings fewer new bytes, and less than a twentieth of the file, brings nothing.
  private static let enough: Int64 = 64 << 10

  init(from size: Int64) { farthest = size }

  /// - Parameter size: how far the attempt came.
  mutating func count(_ fault: FetchFault, at size: Int64, of head: FetchHead?) {
    let enough = min(DownloadTries.enough, max(1, (head?.total ?? .max) / 20))
    idle = size - farthest >= enough ? 0 : idle + 1
    farthest = max(farthest, size)
    all += 1
    let limits = DownloadTries.idleLimits
    idleLimit = fault == .slow ? limits.slow : head == nil ? limits.unknown : limits.known
  }

  var areOver: Bool { idle >= idleLimit || all >= DownloadTries.limit }
}

import AlbumModel
import Crypto
import Posix

/// One file on its way into an album. What has arrived lies in a hidden file of the album. For a browser,
/// which sends slices, its name follows from what is sent: so a later session finds it and goes on.
final class Upload: Sendable {
  let album: UInt64
  let name: FileName
  let size: Int64
  let modified: Timestamp
  let partial: FileName
  private let isBusy = Mutex(false, rank: .leaf)

  /// What goes at the next login when nothing came for so long: uploads of browsers, and what an app sent,
  /// which nobody can continue.
  private static let leftovers: [(prefix: String, patience: Duration)] = [
    (prefix, .seconds(7 * 86_400)), (wholePrefix, .seconds(3600)),
  ]
  private static let prefix = ".albumfs-upload-"
  private static let wholePrefix = ".albumfs-receive-"

  init(album: UInt64, name: FileName, size: Int64, modified: Timestamp, key: SymmetricKey) {
    self.album = album
    self.name = name
    self.size = size
    self.modified = modified
    var text = Array("\(album) \(size) \(modified.nanoseconds) ".utf8)
    text += name.bytes
    let code = HMAC<SHA256>.authenticationCode(for: text, using: key)
    let digits = code.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    partial = FileName(known: Array((Upload.prefix + digits).utf8))
  }

  /// A file that comes in one piece or not at all.
  init(album: UInt64, name: FileName, size: Int64, modified: Timestamp) {
    self.album = album
    self.name = name
    self.size = size
    self.modified = modified
    partial = FileName(known: Array((Upload.wholePrefix + RandomText.make(22)).utf8))
  }

  /// How long a hidden file may lie there without a change; nil for the name of any other file.
  static func patience(for name: FileName) -> Duration? {
    leftovers.first { name.display.hasPrefix($0.prefix) }?.patience
  }

  /// Lets one request at a time work on it; throws `busy` otherwise.
  func exclusively<Result>(_ body: () async throws -> Result) async throws -> Result {
    let isFree = isBusy.withLock { isBusy in
      defer { isBusy = true }
      return !isBusy
    }
    if !isFree { throw GalleryError(.busy) }
    defer { isBusy.withLock { $0 = false } }
    return try await body()
  }
}

/// The uploads of a session by their ids. Any thread.
final class UploadTable: Sendable {
  private let uploads = Mutex<[String: Upload]>([:], rank: .leaf)
  private static let limit = 4096

  func add(_ upload: Upload) throws(GalleryError) -> String {
    let id = RandomText.make(16)
    try uploads.withLock { uploads throws(GalleryError) in
      if uploads.count >= UploadTable.limit { throw GalleryError(.busy) }
      uploads[id] = upload
    }
    return id
  }

  func upload(_ id: String) throws(GalleryError) -> Upload {
    guard let upload = uploads.withLock({ $0[id] }) else { throw GalleryError(.unknown) }
    return upload
  }

  func remove(_ id: String) { uploads.withLock { $0[id] = nil } }
}

import AlbumModel
import Crypto
import Posix

/// One file that a browser sends in slices. What has arrived lies in a hidden file of the album, whose name
/// follows from what is sent: so a later session finds it and goes on.
final class Upload: Sendable {
  let album: UInt64
  let name: FileName
  let size: Int64
  let modified: Timestamp
  let partial: FileName
  private let isBusy = Mutex(false, rank: .leaf)

  /// Hidden uploads that nobody continued for so long go at the next login.
  static let patience = Duration.seconds(7 * 86_400)
  private static let prefix = ".albumfs-upload-"

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

  static func isPartial(_ name: FileName) -> Bool { name.display.hasPrefix(prefix) }

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

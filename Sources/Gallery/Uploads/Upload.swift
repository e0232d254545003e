import AlbumModel
import Posix

/// One file on its way into an album. What has arrived lies in a hidden file of the album. For a browser,
/// which sends slices, its name follows from the photo's name, size and time: so a later session finds it and
/// goes on. Another photo may have the same three, so the bytes that lie there count only when the client has
/// proved with their hash that they are its own.
final class Upload: Sendable {
  /// The longest file.
  static let maximumSize: Int64 = 1 << 40
  let album: UInt64
  let name: FileName
  let size: Int64
  let modified: Timestamp
  private let isBusy = Mutex(false, rank: .leaf)
  private let state: Mutex<Progress>
  /// The names of hidden files that a later session tries, too. More than one, because uploads that are alike
  /// may come at once. Empty for a file that comes in one piece.
  let names: [FileName]
  private static let nameCount = 4

  /// How far it is.
  struct Progress {
    /// The name of the hidden file.
    var partial: FileName
    /// The hidden file that this upload has read or written. Another one under its name is another upload's.
    var inode: UInt64?
    /// How many of the file's first bytes are this upload's: they came with it, or their hash did.
    var proven: Int64 = 0
    /// True if a slice that failed may have left bytes behind them.
    var hasTail = false
  }

  /// What goes at the next login when nothing came for so long: uploads of browsers, and what an app sent,
  /// which nobody can continue.
  private static let leftovers: [(prefix: String, patience: Duration)] = [
    (prefix, .seconds(7 * 86_400)), (wholePrefix, .seconds(3600)),
  ]
  private static let prefix = ".albumfs-upload-"
  private static let wholePrefix = ".albumfs-receive-"

  init(album: UInt64, name: FileName, size: Int64, modified: Timestamp, key: [UInt8]) {
    self.album = album
    self.name = name
    self.size = size
    self.modified = modified
    var text = Array("\(album) \(size) \(modified.nanoseconds) ".utf8)
    text += name.bytes
    let code = SHA256.code(text, key: key)
    let digits = Hexadecimal.text(code.prefix(16))
    names = (0..<Upload.nameCount).map { number in
      FileName(known: Array("\(Upload.prefix)\(digits)-\(number)".utf8))
    }
    state = Mutex(Progress(partial: names[0]), rank: .leaf)
  }

  /// A file that comes in one piece or not at all.
  init(album: UInt64, name: FileName, size: Int64, modified: Timestamp) {
    self.album = album
    self.name = name
    self.size = size
    self.modified = modified
    names = []
    state = Mutex(Progress(partial: Upload.fresh(Upload.wholePrefix)), rank: .leaf)
  }

  private static func fresh(_ prefix: String) -> FileName {
    FileName(known: Array((prefix + RandomText.make(22)).utf8))
  }

  var progress: Progress { state.withLock { $0 } }

  /// The first bytes of this hidden file are the upload's.
  func proved(_ count: Int64, of inode: UInt64, hasTail: Bool = false) {
    state.withLock { ($0.inode, $0.proven, $0.hasTail) = (inode, count, hasTail) }
  }

  /// Goes on with the hidden file of this name, of which nothing is proved yet. Without a name it makes one
  /// up, which no later session finds.
  func use(_ name: FileName?) {
    state.withLock { $0 = Progress(partial: name ?? Upload.fresh(Upload.prefix)) }
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

  /// Does the same, but waits for a request that is ending, such as a slice that the client has just cut off.
  func exclusivelySoon<Result>(_ body: () async throws -> Result) async throws -> Result {
    for _ in 0..<50 {
      do { return try await exclusively(body) } catch let error as GalleryError {
        if error.code != .busy { throw error }
      }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw GalleryError(.busy)
  }
}

/// The uploads of a session by their ids. Any thread.
final class UploadTable: Sendable {
  private struct State {
    var uploads: [String: (upload: Upload, used: UInt64)] = [:]
    var uses: UInt64 = 0

    mutating func use(_ id: String, _ upload: Upload) {
      uses += 1
      uploads[id] = (upload, uses)
    }
  }

  private let state = Mutex(State(), rank: .leaf)
  private static let limit = 4096

  /// Forgets the one that was not used for longest where there are too many. What has arrived of it lies in
  /// its album: the client begins it anew, and goes on from there.
  func add(_ upload: Upload) -> String {
    let id = RandomText.make(16)
    state.withLock { state in
      if state.uploads.count >= UploadTable.limit,
        let oldest = state.uploads.min(by: { $0.value.used < $1.value.used })
      {
        state.uploads[oldest.key] = nil
      }
      state.use(id, upload)
    }
    return id
  }

  func upload(_ id: String) throws(GalleryError) -> Upload {
    let found = state.withLock { state -> Upload? in
      guard let upload = state.uploads[id]?.upload else { return nil }
      state.use(id, upload)
      return upload
    }
    guard let found else { throw GalleryError(.unknown) }
    return found
  }

  func remove(_ id: String) { state.withLock { $0.uploads[id] = nil } }
}

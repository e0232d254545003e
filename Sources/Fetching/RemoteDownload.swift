package import AlbumModel
import FileKinds
package import Posix
internal import ThumbnailProtocol

/// Loads one picture or video from the web into a hidden file of a space, by albumfs-fetch. Goes on where it
/// was after an interruption, also after one of an earlier process, where the server has ranges and says how
/// to tell that its file is still the same.
package struct RemoteDownload {
  package enum Fault: Error, Equatable {
    case stopped
    case remote(FetchProblem)
    /// What came is neither picture nor video. True where it is a web page.
    case noPicture(isPage: Bool)
    case target(Errno)
    /// The program albumfs-fetch cannot be run.
    case program(Errno)
    /// It needs libcurl, which is not installed.
    case library
  }

  /// What came. The file has its hidden name still.
  package struct Loaded {
    package var name: FileName
    /// In bytes.
    package var size: Int64
    package var modified: Timestamp?
  }

  private let program: String
  private let isPublicOnly: Bool
  /// The largest file, in bytes.
  private let limit: Int64
  private let slowPatience: Duration

  /// A server that sends fewer bytes within the caller's patience is slow.
  private static let leastBytes = 32 << 10
  /// Hidden files that nobody continued for so long go.
  private static let patience = Duration.seconds(7 * 86_400)
  private static let prefix = ".albumfs-fetch-"
  private static let attribute = "user.albumfs.fetch"
  /// So many bytes tell the kind.
  private static let startBytes = ImageKind.sniffByteCount
  private static let opening: CInt = FolderFile.readAndWrite

  /// - Parameter slowPatience: the time in which a server must send some kilobytes.
  package init(
    program: String, isPublicOnly: Bool, limit: Int64, slowPatience: Duration = .seconds(60)
  ) {
    self.slowPatience = slowPatience
    self.program = program
    self.isPublicOnly = isPublicOnly
    self.limit = limit
  }

  /// The hidden name of a file that is being loaded. It shows the address to nobody.
  package static func partial(of url: RemoteURL, _ number: Int = 1) -> FileName {
    FileName(known: Array((prefix + url.mark + (number == 1 ? "" : "-\(number)")).utf8))
  }

  package static func isPartial(_ name: FileName) -> Bool { name.bytes.starts(with: prefix.utf8) }

  /// Removes hidden files in a folder that nobody continued for a week.
  package static func removeStale(in folder: borrowing Folder) {
    let limit = SystemClock.wall() - patience
    for name in (try? folder.names()) ?? [] where isPartial(name.name) {
      if let entry = try? folder.entry(name.name), entry.modified < limit {
        try? folder.removeFile(name.name)
      }
    }
  }

  /// - Parameter watch: gets the bytes that are there and the size of the file, if the server says it; also
  ///   now and then while nothing comes. Returns false to stop.
  /// - Returns: what came, and the hidden name. The caller gives it its own, or removes it.
  package func run(
    _ url: RemoteURL, in folder: borrowing Folder, watch: (Int64, Int64?) -> Bool
  ) throws(Fault) -> (loaded: Loaded, partial: FileName) {
    let (file, partial) = try open(url, folder)
    var state = State(file: file, path: folder.path(of: partial))
    do throws(Fault) {
      let loaded = try load(url, &state, watch)
      return (loaded, partial)
    } catch {
      if !state.mayContinue(after: error) { try? folder.removeFile(partial) }
      throw error
    }
  }

  /// Opens a hidden file that no other process fills.
  private func open(
    _ url: RemoteURL, _ folder: borrowing Folder
  ) throws(Fault) -> (FolderFile, FileName) {
    do throws(Errno) {
      for number in 1...64 {
        let name = RemoteDownload.partial(of: url, number)
        let file = try folder.open(name, RemoteDownload.opening)
        if try file.lock() { return (file, name) }
      }
    } catch {
      throw .target(error)
    }
    throw .target(.busy)
  }

  /// How far a file is.
  private struct State {
    let file: FolderFile
    let path: PlainPath
    var size: Int64 = 0
    var head: FetchHead?
    var kind: ImageKind?
    var start: [UInt8] = []

    init(file: FolderFile, path: PlainPath) {
      self.file = file
      self.path = path
    }

    var validator: String? {
      ExtendedAttribute.value(RemoteDownload.attribute, of: path).flatMap(FetchHead.validator)
    }

    /// True if a later process can go on.
    func mayContinue(after fault: Fault) -> Bool {
      if size == 0 || validator == nil { return false }
      switch fault {
      case .stopped: return true
      case .remote(let problem): return problem.mayPass
      case .noPicture, .target, .program, .library: return false
      }
    }
  }

  private func load(
    _ url: RemoteURL, _ state: inout State, _ watch: (Int64, Int64?) -> Bool
  ) throws(Fault) -> Loaded {
    do throws(Errno) { state.size = try state.file.size() } catch { throw .target(error) }
    var tries = DownloadTries(from: state.size)
    while true {
      let before = state.size
      do throws(Fault) {
        try attempt(url, &state, watch)
        return try finish(state)
      } catch {
        guard case .remote(let problem) = error else { throw error }
        if problem.fault == .noRest, before > 0 {
          try cut(&state)
        } else if !problem.mayPass {
          throw error
        }
        tries.count(problem.fault, at: state.size, of: state.head)
        if tries.areOver { throw error }
        try pause(tries.idle, state, watch)
      }
    }
  }

  /// Waits longer from attempt to attempt: up to 8 seconds.
  private func pause(
    _ idle: Int, _ state: State, _ watch: (Int64, Int64?) -> Bool
  ) throws(Fault) {
    for _ in 0..<(1 << min(idle, 3)) * 5 {
      if !watch(state.size, state.head?.total) { throw .stopped }
      SystemClock.sleep(milliseconds: 200)
    }
  }

  private func attempt(
    _ url: RemoteURL, _ state: inout State, _ watch: (Int64, Int64?) -> Bool
  ) throws(Fault) {
    let validator = state.validator
    if validator == nil, state.size > 0 { try cut(&state) }
    let request = FetchRequest(
      url: url, offset: state.size, validator: validator, limit: limit, isPublicOnly: isPublicOnly)
    var process: FetchProcess
    do throws(Errno) { process = try FetchProcess(program: program, request) } catch {
      throw .program(error)
    }
    var pace = Pace(atLeast: RemoteDownload.leastBytes, each: slowPatience)
    while true {
      let reply: FetchReply
      do throws(FetchProcess.Fault) {
        reply = try process.next { !watch(state.size, state.head?.total) || pace.isTooSlow }
      } catch {
        switch error {
        case .stopped: throw pace.isTooSlow ? .remote(FetchProblem(.slow)) : .stopped
        case .notLinked: throw .library
        case .broken: throw .remote(FetchProblem(.broken))
        }
      }
      switch reply {
      case .head(let head): try begin(head, &state)
      case .data(let bytes):
        if state.head == nil { throw .remote(FetchProblem(.failed)) }
        try add(bytes, &state)
        pace.add(bytes.count)
      case .end(let problem?): throw .remote(problem)
      case .end(nil):
        guard let head = state.head else { throw .remote(FetchProblem(.failed)) }
        if let total = head.total, total != state.size { throw .remote(FetchProblem(.broken)) }
        return
      }
    }
  }

  private func begin(_ head: FetchHead, _ state: inout State) throws(Fault) {
    if head.start != state.size {
      if head.start != 0 { throw .remote(FetchProblem(.failed)) }
      try cut(&state)
    }
    if head.total ?? 0 > limit { throw .remote(FetchProblem(.large)) }
    state.head = head
    do throws(Errno) {
      if let validator = head.validator {
        try ExtendedAttribute.set(
          RemoteDownload.attribute, to: Array(validator.utf8), of: state.path)
      } else {
        try ExtendedAttribute.remove(RemoteDownload.attribute, of: state.path)
      }
      state.start = try state.file.bytes(RemoteDownload.startBytes, at: 0)
    } catch {
      throw .target(error)
    }
  }

  /// Writes what came. Looks at the kind as soon as that can be told, so that nothing else is loaded.
  private func add(_ bytes: [UInt8], _ state: inout State) throws(Fault) {
    if state.size + Int64(bytes.count) > limit { throw .remote(FetchProblem(.large)) }
    do throws(Errno) { try state.file.write(bytes, at: state.size) } catch { throw .target(error) }
    state.size += Int64(bytes.count)
    let lack = RemoteDownload.startBytes - state.start.count
    if lack <= 0 { return }
    state.start += bytes.prefix(lack)
    if state.start.count >= RemoteDownload.startBytes { try requirePicture(&state) }
  }

  private func requirePicture(_ state: inout State) throws(Fault) {
    state.kind = ImageKind(sniffing: state.start)
    if state.kind != nil { return }
    let text = String(decoding: state.start, as: UTF8.self).lowercased()
    throw .noPicture(isPage: text.contains("<html") || text.contains("<!doctype"))
  }

  private func cut(_ state: inout State) throws(Fault) {
    do throws(Errno) { try state.file.cut(to: 0) } catch { throw .target(error) }
    (state.size, state.start, state.kind) = (0, [], nil)
  }

  private func finish(_ state: State) throws(Fault) -> Loaded {
    var state = state
    try requirePicture(&state)
    guard let head = state.head, let kind = state.kind else { throw .noPicture(isPage: false) }
    let modified = head.modified.map { Timestamp(seconds: $0, nanoseconds: 0) }
    do throws(Errno) {
      try ExtendedAttribute.remove(RemoteDownload.attribute, of: state.path)
      if let modified { try state.file.setModified(modified) }
    } catch {
      throw .target(error)
    }
    return Loaded(
      name: RemoteName.of(head, kind, start: state.start), size: state.size, modified: modified)
  }
}

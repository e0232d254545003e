import AlbumModel
import Fetching
import Posix

/// Loads pictures from the web into an album, one after the other. The page itself never loads anything from
/// elsewhere. Addresses that are not public are refused, so that nobody who is logged in can look through
/// this server into the network that it is in.
struct WebImport: Sendable {
  private let session: Session
  private let job: Job
  private let program: String
  /// Threads that wait for servers.
  private let web: BlockingBridge
  private let work: BlockingBridge

  /// The largest file, in bytes.
  private static let sizeLimit: Int64 = 8 << 30
  private static let slowPatience = TestHooks.delay(.slowServer, .seconds(60))

  init(
    _ session: Session, _ job: Job, program: String, web: BlockingBridge, work: BlockingBridge
  ) {
    self.session = session
    self.job = job
    self.program = program
    self.web = web
    self.work = work
  }

  func run(_ urls: [RemoteURL], to album: UInt64) {
    Task {
      for url in urls where !job.isCancelled {
        do {
          try await web.run { try load(url, album) }
          // It counts as imported when it is on disk.
          try await session.space.barriers.wait(work)
          job.advance()
        } catch RemoteDownload.Fault.stopped {
          break
        } catch {
          job.advance(Job.Fault(id: "", name: url.text, error: WebImport.code(of: error)))
        }
      }
      await work.runPlain { session.space.refresh(album) }
      job.end()
    }
  }

  private func load(_ url: RemoteURL, _ inode: UInt64) throws {
    let space = session.space
    guard let album = space.index.album(inode) else { throw GalleryError(.unknown) }
    let folder = try space.photoFolder(of: album)
    let download = RemoteDownload(
      program: program, isPublicOnly: !TestHooks.loadsLocally, limit: WebImport.sizeLimit,
      slowPatience: WebImport.slowPatience)
    let (loaded, partial) = try download.run(url, in: folder) { bytes, size in
      job.isAt(bytes, of: size)
      return !job.isCancelled
    }
    do {
      _ = try UploadFiles(space: space).settle(
        partial, as: loaded.name, modified: loaded.modified, in: album, folder)
    } catch {
      try? folder.removeFile(partial)
      throw error
    }
  }

  private static func code(of error: any Error) -> GalleryError.Code {
    guard let fault = error as? RemoteDownload.Fault else { return GalleryError(any: error).code }
    return switch fault {
    case .noPicture: .nopicture
    case .target(let error): GalleryError(errno: error).code
    case .stopped, .program, .library: .failed
    case .remote(let problem):
      switch problem.fault {
      case .address, .redirects: .address
      case .notPublic: .local
      case .unresolved, .unreachable, .certificate, .slow, .broken: .unreachable
      case .status: .missing
      case .large: .large
      case .noRest, .failed: .failed
      }
    }
  }
}

import AlbumFileSystem
import AlbumModel
import Posix
import ThumbnailProtocol
import Thumbnails

/// A source of photos that records when the queue begins with one, what becomes of it, and how long that
/// takes.
final class TracedSource: PhotoSource {
  private let source: any PhotoSource
  private let tracer: EventTracer
  /// The photos that the queue works on.
  private let begun = Mutex<[PhotoVersion: MonotonicTime]>([:], rank: .leaf)

  init(_ source: any PhotoSource, _ tracer: EventTracer) {
    self.source = source
    self.tracer = tracer
  }

  func nextPhoto() -> PhotoVersion? {
    guard let photo = source.nextPhoto() else { return nil }
    begun.withLock { $0[photo] = .now }
    tracer.record("begun node=\(photo.inode.rawValue)")
    return photo
  }

  func size(of photo: PhotoVersion) -> Int64? {
    let size = source.size(of: photo)
    if size == nil { end(photo, "given-up") }
    return size
  }

  func read(_ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
    -> Int?
  {
    let count = unsafe source.read(photo, into: buffer, at: offset)
    if count == nil { end(photo, "given-up") }
    return count
  }

  func finish(_ photo: PhotoVersion, thumbnail: [UInt8], facts: PictureFacts) {
    source.finish(photo, thumbnail: thumbnail, facts: facts)
    end(photo, "done", " size=\(thumbnail.count)")
  }

  func fail(_ photo: PhotoVersion, reason: ThumbnailFailure) {
    source.fail(photo, reason: reason)
    end(photo, "refused", " reason=\(reason)")
  }

  /// The queue is done with the photo. It may ask for the size of one again.
  private func end(_ photo: PhotoVersion, _ what: String, _ more: String = "") {
    guard let begin = begun.withLock({ $0.removeValue(forKey: photo) }) else { return }
    tracer.record("\(what) node=\(photo.inode.rawValue)\(more)", since: begin)
  }

  var arrivals: Int { source.arrivals }
  var copiesGoFirst: Bool { source.copiesGoFirst }
  func share(for photo: PhotoVersion) -> ProcessorShare { source.share(for: photo) }
  var thumbnailEdge: Int { source.thumbnailEdge }
  func edge(of photo: PhotoVersion) -> Int { source.edge(of: photo) }
}

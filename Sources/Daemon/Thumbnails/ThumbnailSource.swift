import AlbumFileSystem
import AlbumModel
import Logging
import ThumbnailProtocol
import Thumbnails

/// Adapts the file system for the thumbnail queue.
struct ThumbnailSource: PhotoSource {
  let fileSystem: FileSystem
  let thumbnailEdge: Int
  let logger: Logger

  func nextPhoto() -> PhotoVersion? { fileSystem.nextPhoto() }

  var arrivals: Int { fileSystem.photoArrivals }

  var copiesGoFirst: Bool { fileSystem.photosAreCopied }

  func share(for photo: PhotoVersion) -> ProcessorShare {
    switch fileSystem.urgency(of: photo) {
    case .whenIdle: .leftover
    case .later: .small
    case .now: .ordinary
    }
  }

  func size(of photo: PhotoVersion) -> Int64? {
    let size = fileSystem.photoSize(photo)
    if size == nil { fileSystem.abandon(photo) }
    return size
  }

  func read(_ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
    -> Int?
  {
    do throws(PhotoFault) {
      return try unsafe fileSystem.readPhoto(photo, into: buffer, at: offset)
    } catch {
      switch error {
      case .damaged: fail(photo, reason: .damaged)
      // The next mount tries again what cannot be read now.
      case .gone, .unreadable: fileSystem.abandon(photo)
      }
      return nil
    }
  }

  func finish(_ photo: PhotoVersion, thumbnail: [UInt8], facts: PictureFacts) {
    do throws(FSError) {
      try fileSystem.finish(photo, thumbnail: thumbnail, facts: facts)
    } catch {
      let when = error.code == .noSpace ? "when there is room" : "after the next mount"
      logger.warning("a thumbnail cannot be stored; its photo gets it \(when): \(error)")
    }
  }

  func fail(_ photo: PhotoVersion, reason: ThumbnailFailure) {
    fileSystem.fail(photo, reason: reason)
  }
}

extension ThumbnailFailure {
  /// For a person, after the photo's name.
  var explanation: String {
    switch self {
    case .notAPicture: "not a picture of a known kind"
    case .tooLarge: "too large to be decoded"
    case .damaged: "damaged"
    case .workerDied: "the decoder crashed on it"
    case .timedOut: "decoding took too long"
    case .internal: "the decoder failed"
    }
  }
}

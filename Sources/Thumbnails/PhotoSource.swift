package import AlbumModel
package import ThumbnailProtocol

/// The source of photos without a thumbnail, and the sink of thumbnails. The daemon implements it with its
/// file system.
///
/// The threads of a `ThumbnailQueue` call it concurrently. Calls may block on disk work.
package protocol PhotoSource: Sendable {
  /// A photo that lacks its thumbnail; nil if none waits now. It belongs to the caller until `finish`,
  /// `fail`, or a nil from `size` or `read`. After the queue's `stop` it waits again.
  func nextPhoto() -> PhotoVersion?

  /// A count that rises when photos begin to wait. So the queue notices that a program is copying photos.
  var arrivals: Int { get }

  /// True while a program copies photos one after the other, and nobody waits for a thumbnail.
  var copiesGoFirst: Bool { get }

  /// Bytes of this version's content; nil if it has changed or is gone, and then the caller is done with it.
  /// The queue calls this repeatedly while it decodes the photo.
  func size(of photo: PhotoVersion) -> Int64?

  /// Reads up to the buffer's size; returns 0 at the end. nil if this version has changed, is gone or cannot
  /// be read, and then the caller is done with it. May overwrite the `ReadHeadroom.byteCount` bytes before
  /// the buffer.
  func read(_ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
    -> Int?

  /// Stores the thumbnail, which is JPEG, PNG or WebP, and what is known of the picture.
  func finish(_ photo: PhotoVersion, thumbnail: [UInt8], facts: PictureFacts)

  /// Records that it gets no thumbnail. `nextPhoto` then does not return this version again by itself.
  func fail(_ photo: PhotoVersion, reason: ThumbnailFailure)

  /// The share of the processor that a worker may have for one photo now. The queue calls this repeatedly
  /// while it decodes the photo.
  func share(for photo: PhotoVersion) -> ProcessorShare

  /// The long edge of thumbnails in pixels.
  var thumbnailEdge: Int { get }

  /// The long edge of the picture to make of one photo.
  func edge(of photo: PhotoVersion) -> Int
}

extension PhotoSource {
  package func edge(of photo: PhotoVersion) -> Int { thumbnailEdge }
}

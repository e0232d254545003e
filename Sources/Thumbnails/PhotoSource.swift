package import AlbumModel

/// Where photos without a thumbnail come from, and where the thumbnails go. The daemon has one over
/// its file system.
///
/// Called from the threads of a `ThumbnailQueue`, several at once. Calls may block on disk work.
package protocol PhotoSource: Sendable {
  /// A photo that lacks its thumbnail, nil when none waits now. It belongs to the caller until
  /// `finish`, `fail`, or a nil from `size` or `read`; after the queue's `stop` it waits again.
  func nextPhoto() -> PhotoVersion?

  /// Bytes of this version's content; nil when it has changed or is gone, and the caller is done
  /// with it. Asked again and again while the photo is decoded.
  func size(of photo: PhotoVersion) -> Int64?

  /// Reads up to the buffer's size; 0 at the end. nil when this version has changed, is gone or
  /// cannot be read, and the caller is done with it. The `ReadHeadroom.byteCount` bytes before the
  /// buffer must be writable and are restored.
  func read(_ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
    -> Int?

  /// Here is its thumbnail: JPEG, PNG or WebP.
  func finish(_ photo: PhotoVersion, thumbnail: [UInt8])

  /// It gets none. To be remembered: this version is not handed out again by itself.
  func fail(_ photo: PhotoVersion, reason: ThumbnailFailure)

  /// The long edge of thumbnails in pixels.
  var thumbnailEdge: Int { get }
}

import AlbumFormat
import AlbumModel
import AlbumStore

extension InodeState {
  var needsThumbnail: Bool { thumbnailState == .pending && size > 0 && links > 0 }

  /// Why the thumbnail failed; nil in any other state.
  var thumbnailFailure: ThumbnailFailure? {
    if thumbnailState != .failed { return nil }
    return ThumbnailFailure(rawValue: thumbnailReason) ?? .internal
  }

  /// True for a file at a photo's place, until its content proves to be no picture.
  var isPhoto: Bool { thumbnailState != .none && thumbnailFailure != .notAPicture }

  /// Sets the state, and clears the mark that the thumbnail supersedes the user's entry.
  mutating func setThumbnail(_ new: ThumbnailState, _ reason: ThumbnailFailure? = nil) {
    thumbnailState = new
    thumbnailReason = reason?.rawValue ?? 0
    marks.remove(.thumbnailGoesFirst)
  }
}

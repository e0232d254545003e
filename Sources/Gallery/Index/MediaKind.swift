import FileKinds

/// The kind of a file in the gallery. Its name decides, because a listing reads no content.
enum MediaKind: UInt8, Sendable {
  case photo = 0
  case video = 1
  case other = 2

  var name: String {
    switch self {
    case .photo: "photo"
    case .video: "video"
    case .other: "other"
    }
  }

  init(named name: ArraySlice<UInt8>) {
    switch NamedKind(of: name) {
    case .picture: self = .photo
    case .film: self = .video
    case .other: self = .other
    }
  }
}

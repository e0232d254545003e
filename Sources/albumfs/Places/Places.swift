import AlbumModel
import PhotoSearch
import Posix

/// The names of places, read where the first photo states one.
enum Places {
  static let table = PlaceTable.usual { try? PlainFiles.head(of: $0, atMost: PlaceTable.fileLimit) }

  static func name(near place: GeographicPlace?) -> String? {
    place.flatMap { table?.name(near: $0) }
  }
}

import AlbumModel

/// What a client says of a file before it sends it.
struct UploadOrder: Decodable {
  var album: String
  var folders: [String]?
  var name: String
  var size: Int64
  var modified: Double

  private static let depthLimit = 32

  /// Returns the names of the file and of the albums that it goes into. Throws for what no upload can be.
  func checked() throws(GalleryError) -> (name: FileName, folders: [FileName]) {
    let name = try GalleryName.valid(name)
    var folders: [FileName] = []
    for folder in self.folders ?? [] { folders.append(try GalleryName.valid(folder)) }
    guard folders.count <= UploadOrder.depthLimit, size >= 0, modified.isFinite,
      abs(modified) < 9e9
    else { throw GalleryError(.invalid) }
    if size > Upload.maximumSize { throw GalleryError(.large) }
    return (name, folders)
  }
}

/// What the server says of an upload that has begun.
struct BegunUpload: Sendable {
  var id: String
  /// How many bytes an earlier upload left.
  var offset: Int64
  /// True if the album may have the content already.
  var isCandidate: Bool

  func write(to text: inout JSONText) {
    text.field("upload", id)
    text.field("offset", offset)
    if isCandidate { text.field("candidate", true) }
  }
}

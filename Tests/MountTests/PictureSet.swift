import AlbumTestSupport
import Foundation

/// Pictures of every kind for which albumfs makes thumbnails, and files that are no pictures. Made once a
/// run.
struct PictureSet: Sendable {
  /// One JPEG for each EXIF orientation, all of which show the same upright picture.
  let oriented: [String: Data]
  /// The same picture in the other formats.
  let formats: [String: Data]
  /// A JPEG that ends in the middle.
  let damaged: Data
  /// No picture, whatever its name says.
  let text = Data("This is no picture.\n".utf8)

  static let shared = Result { try PictureSet() }

  private init() throws {
    var oriented: [String: Data] = [:]
    for orientation in 1...8 {
      oriented["orientation \(orientation).jpg"] =
        Data(try TestPictures.jpeg(orientation: orientation))
    }
    self.oriented = oriented
    var formats: [String: Data] = [:]
    for name in ["heic", "avif", "webp", "png", "gif", "tif", "jxl"] {
      formats["picture.\(name)"] = Data(try TestPictures.encode(TestPictures.pixels(), as: name))
    }
    self.formats = formats
    let whole = oriented["orientation 1.jpg"]!
    damaged = whole.prefix(whole.count * 3 / 4)
  }

  /// All that have an upright thumbnail.
  var pictures: [String: Data] { oriented.merging(formats) { $1 } }

  /// A few pictures, for tests to which the kind does not matter.
  var some: [String: Data] {
    pictures.filter { ["orientation 1.jpg", "orientation 6.jpg", "picture.png"].contains($0.key) }
  }

  /// All of them, with the damaged one and the text.
  var everything: [String: Data] {
    pictures.merging(["damaged.jpg": damaged, "text.jpg": text, "notes.txt": text]) { $1 }
  }
}

extension MountedStore {
  /// Writes pictures into a folder of the directory to work in.
  func write(_ pictures: [String: Data], into folder: String) throws {
    for (name, content) in pictures { try write(content, "\(folder)/\(name)") }
  }

  /// A folder `pictures` in the directory to work in.
  func makePictures() throws { try write(PictureSet.shared.get().some, into: "pictures") }

  /// The bytes of a file, read as the person who mounted.
  func bytes(_ path: String) throws -> [UInt8] {
    guard let data = Data(base64Encoded: try sh("base64 -w0 \"\(path)\"")) else {
      throw Failed(description: "\(path) cannot be read")
    }
    return Array(data)
  }

  /// True if a thumbnail shows the pictures of `PictureSet` the right way up.
  func isUpright(_ path: String) throws -> Bool {
    try TestPictures.decode(bytes(path)).isUpright
  }
}

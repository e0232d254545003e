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
    let end = MediaKind.ending(of: name)
    self =
      MediaKind.photos.contains(end) ? .photo : MediaKind.videos.contains(end) ? .video : .other
  }

  /// The part after the last dot, in small letters; empty if there is none or it is long.
  private static func ending(of name: ArraySlice<UInt8>) -> String {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), name.endIndex - dot <= 6 else {
      return ""
    }
    return String(decoding: name[(dot + 1)...], as: UTF8.self).lowercased()
  }

  private static let photos: Set = [
    "jpg", "jpeg", "jpe", "png", "webp", "gif", "tif", "tiff", "heic", "heif", "hif", "avif", "jxl",
    "jp2", "j2k", "cr2", "cr3", "nef", "arw", "dng", "raf", "orf", "rw2", "pef", "bmp", "svg",
  ]
  private static let videos: Set = [
    "mp4", "m4v", "mov", "qt", "webm", "mkv", "avi", "3gp", "mpg", "mpeg", "mts", "m2ts", "ogv",
  ]
}

/// The kinds that a browser may show itself, recognised by the first bytes. Other files can only be saved.
enum BrowserType {
  static func of(_ start: [UInt8]) -> String? {
    func has(_ text: String, at offset: Int) -> Bool {
      start.count >= offset + text.utf8.count
        && start[offset..<offset + text.utf8.count].elementsEqual(text.utf8)
    }
    if start.starts(with: [0xff, 0xd8, 0xff]) { return "image/jpeg" }
    if start.starts(with: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) { return "image/png" }
    if has("GIF87a", at: 0) || has("GIF89a", at: 0) { return "image/gif" }
    if has("RIFF", at: 0), has("WEBP", at: 8) { return "image/webp" }
    if start.starts(with: [0x1a, 0x45, 0xdf, 0xa3]) { return webm(start) }
    guard has("ftyp", at: 4) else { return nil }
    if has("avif", at: 8) || has("avis", at: 8) { return "image/avif" }
    if has("qt  ", at: 8) { return "video/quicktime" }
    let pictures = ["heic", "heix", "hevc", "hevx", "mif1", "msf1", "heim", "heis", "crx "]
    return pictures.contains { has($0, at: 8) } ? nil : "video/mp4"
  }

  /// Matroska is WebM where it says so.
  private static func webm(_ start: [UInt8]) -> String? {
    let mark = Array("webm".utf8)
    return start.prefix(64).indices.contains { start[$0...].starts(with: mark) }
      ? "video/webm" : nil
  }
}

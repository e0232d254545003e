/// The kind of a file by its name: for listings, which read no content, and for names that albumfs gives.
package enum NamedKind: Sendable {
  case picture
  case film
  case other

  /// `name` may be a path. Small and capital letters are the same.
  package init(of name: some BidirectionalCollection<UInt8>) {
    let ending = FileEndings.ending(of: name)
    self =
      FileEndings.pictures.contains(ending)
      ? .picture : FileEndings.films.contains(ending) ? .film : .other
  }
}

/// The endings of file names, without the dot, in small letters.
enum FileEndings {
  /// The usual ending of each kind goes first.
  static let ofKinds: [ImageKind: [String]] = [
    .jpeg: ["jpg", "jpeg", "jpe", "jfif"], .png: ["png", "apng"], .webp: ["webp"], .gif: ["gif"],
    .heif: ["heic", "heif", "hif", "heics", "heifs"], .avif: ["avif", "avifs"],
    .jpegXL: ["jxl"], .jpeg2000: ["jp2", "j2k", "jpf", "jpx"], .bmp: ["bmp"], .tga: ["tga"],
    .pcx: ["pcx"], .ico: ["ico"], .psd: ["psd", "psb"],
    .mp4: ["mp4", "m4v", "mov", "qt", "3gp", "3g2", "insv", "lrv"], .avi: ["avi"],
    .matroska: ["mkv", "webm"],
    .tiff: ["tif", "tiff"] + rawInTIFF, .raw: rawBySignature,
  ]

  /// Raw pictures of many makers, which begin as any TIFF does.
  private static let rawInTIFF = [
    "dng", "nef", "nrw", "arw", "sr2", "pef", "srw", "3fr", "iiq", "erf", "kdc", "raw",
  ]
  private static let rawBySignature = ["cr2", "cr3", "raf", "orf", "rw2"]
  static let raw = Set(rawInTIFF + rawBySignature)

  /// Kinds that get no thumbnail.
  private static let otherPictures: Set = ["svg"]
  private static let otherFilms: Set = ["mpg", "mpeg", "mts", "m2ts", "ogv", "wmv", "flv"]

  static let pictures = endings(of: ImageKind.pictures).union(otherPictures)
  static let films = endings(of: ImageKind.videos).union(otherFilms)

  private static func endings(of kinds: Set<ImageKind>) -> Set<String> {
    Set(kinds.flatMap { ofKinds[$0] ?? [] })
  }

  /// The part after the last dot; empty if there is none or it is long.
  static func ending(of name: some BidirectionalCollection<UInt8>) -> String {
    let rest = name.suffix(6)
    guard let dot = rest.lastIndex(of: UInt8(ascii: ".")) else { return "" }
    return String(decoding: rest[rest.index(after: dot)...], as: UTF8.self).lowercased()
  }
}

extension ImageKind {
  /// True for an ending, in small letters and without the dot, that names of this kind have.
  package func accepts(ending: String) -> Bool {
    FileEndings.ofKinds[self]?.contains(ending) ?? false
  }

  /// True for an ending, in small letters and without the dot, of a camera's raw pictures.
  package static func isRaw(ending: String) -> Bool { FileEndings.raw.contains(ending) }

  /// The usual ending of names for a file of this kind that begins with these bytes.
  package func ending(start: [UInt8]) -> String {
    switch self {
    case .mp4 where FileBrands(start)?.isQuickTime ?? true: "mov"
    case .matroska: ImageKind.isWebM(start) ? "webm" : "mkv"
    case .raw: ImageKind.rawEnding(start)
    default: FileEndings.ofKinds[self]?.first ?? "jpg"
    }
  }

  private static func rawEnding(_ start: [UInt8]) -> String {
    if start.dropFirst(8).starts(with: "CR".utf8) { return "cr2" }
    if start.starts(with: "FUJI".utf8) { return "raf" }
    if start.dropFirst(4).starts(with: "ftyp".utf8) { return "cr3" }
    return start.dropFirst(2).starts(with: [0x55]) ? "rw2" : "orf"
  }

  /// The media type of a file that browsers may show by themselves, by its first bytes; nil for others.
  package static func browserType(of start: [UInt8]) -> String? {
    switch ImageKind(sniffing: start) {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .gif: "image/gif"
    case .webp: "image/webp"
    case .avif: "image/avif"
    case .mp4: FileBrands(start)?.isQuickTime ?? true ? "video/quicktime" : "video/mp4"
    case .matroska: isWebM(start) ? "video/webm" : nil
    default: nil
    }
  }

  /// Matroska is WebM where it says so.
  private static func isWebM(_ start: [UInt8]) -> Bool {
    let head = start.prefix(64)
    return head.indices.contains { head[$0...].starts(with: "webm".utf8) }
  }
}

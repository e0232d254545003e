/// The brands in the first box of a file of boxes (ISO 14496-12, section 4.3): which kinds of readers
/// understand it.
///
/// The main brand tells what the file is where it names a codec or a film. Any other brand, a general one or
/// a maker's own, says at most "pictures"; then the compatible brands tell.
struct FileBrands {
  private let main: [UInt8]
  private let compatible: [[UInt8]]

  /// nil if the file does not begin with a box of brands.
  init?(_ start: [UInt8]) {
    guard start.count >= 12, start[4..<8].elementsEqual("ftyp".utf8) else { return nil }
    let length = start.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    let end = min(length, start.count)
    main = Array(start[8..<12])
    compatible = stride(from: 16, to: end - 3, by: 4).map { Array(start[$0..<$0 + 4]) }
  }

  /// nil for sound.
  var kind: ImageKind? {
    if let kind = FileBrands.telling[main] { return kind }
    if FileBrands.sounds.contains(main) { return nil }
    if FileBrands.films.contains(main) { return .mp4 }
    if let kind = compatible.lazy.compactMap({ FileBrands.telling[$0] }).first { return kind }
    let isPicture = ([main] + compatible).contains { FileBrands.pictures.contains($0) }
    return isPicture ? .heif : .mp4
  }

  /// True for a film of Apple's QuickTime, which is no MP4.
  var isQuickTime: Bool { main.elementsEqual("qt  ".utf8) }

  /// Brands that name a codec of pictures, or a camera's raw format.
  fileprivate static let telling: [[UInt8]: ImageKind] = {
    let brands: [(ImageKind, [String])] = [
      (.raw, ["crx "]),
      (.avif, ["avif", "avis", "avio", "MA1A", "MA1B"]),
      (.heif, ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"]),
    ]
    return Dictionary(
      uniqueKeysWithValues: brands.flatMap { kind, names in
        names.map { (Array($0.utf8), kind) }
      })
  }()

  /// Brands of pictures of any codec (ISO 23008-12, ISO 23000-22).
  fileprivate static let pictures = set([
    "mif1", "mif2", "mif3", "msf1", "miaf", "MiHB", "MiHA", "MiHE", "MiPr", "1pic",
  ])

  /// Main brands of films. Other brands may be of films, too, if none of the compatible ones is of pictures.
  private static let films = set([
    "qt  ", "isom", "iso2", "iso3", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "M4V ", "M4VH",
    "M4VP", "MSNV", "XAVC", "dash", "f4v ", "F4V ", "3gp4", "3gp5", "3gp6", "3g2a", "3g2b", "3g2c",
  ])

  private static let sounds = set(["M4A ", "M4B ", "M4P ", "F4A ", "F4B "])

  private static func set(_ names: [String]) -> Set<[UInt8]> { Set(names.map { Array($0.utf8) }) }
}

extension ImageKind {
  /// All brands of HEIC and AVIF.
  package static var pictureBrands: [String] {
    let telling = FileBrands.telling.filter { $0.value != .raw }.map(\.key)
    return (telling + FileBrands.pictures).map { String(decoding: $0, as: UTF8.self) }.sorted()
  }
}

import AlbumTestSupport
import PictureDecoders

/// The decoders of BMP, TGA, PCX, ICO and PSD: the first byte chooses one, the rest is the picture.
enum PlainPictureTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      [0] + PlainSamples.bmpInRuns(), [0] + PlainSamples.bmpOfOS2(),
      // A mapped and a true-colour TGA, of 2 by 1 pixels.
      [1, 0, 1, 1, 0, 0, 1, 0, 24, 0, 0, 0, 0, 2, 0, 1, 0, 8, 0, 9, 9, 9, 0, 0],
      [1, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 32, 8, 0x81, 1, 2, 3, 4],
      // A PCX of 4 by 2 pixels.
      [2, 0x0a, 5, 1, 8, 0, 0, 0, 0, 3, 0, 1, 0] + [UInt8](repeating: 0, count: 53) + [3, 4, 0]
        + [UInt8](repeating: 0, count: 60) + [0xd8, 7],
      // An icon of 1 by 1.
      [3, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 32, 0, 48, 0, 0, 0, 22, 0, 0, 0]
        + [40, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 32, 0] + [UInt8](repeating: 0, count: 24)
        + [1, 2, 3, 255, 0, 0, 0, 0],
      // Small ones: the fuzzer runs thousands of times a second.
      [4] + PlainSamples.psd(.palette, width: 8, height: 6),
      [4] + PlainSamples.psd(.colour, width: 8, height: 6, depth: 16, isLarge: true),
    ]
  }

  static func run(_ bytes: [UInt8]) {
    let file = Array(bytes.dropFirst())
    let edge = 64
    let decoded: DecodedPicture? =
      switch bytes.first {
      case 0: try? Bitmap.decode(file.span, edge: edge)
      case 1: try? Targa.decode(file.span, edge: edge)
      case 2: try? Paintbrush.decode(file.span, edge: edge)
      case 3: icon(file, edge)
      case 4: try? Photoshop.decode(file.span, edge: edge)
      default: nil
      }
    guard let decoded else { return }
    require(
      decoded.bytes.count == decoded.width * decoded.height * decoded.bands.count,
      "as many bytes as pixels")
    require(max(decoded.width, decoded.height) < 4 * edge, "no larger than needed")
    if let profile = decoded.profile {
      require(profile.upperBound <= file.count, "a part of the file")
    }
  }

  private static func icon(_ file: [UInt8], _ edge: Int) -> DecodedPicture? {
    switch try? Icon.decode(file.span, edge: edge) {
    case .decoded(let picture): return picture
    case .png(let part):
      require(part.upperBound <= file.count, "a part of the file")
      return nil
    case nil: return nil
    }
  }
}

import AlbumTestSupport
import PictureMetadata

/// The preview and the orientation in a raw file.
enum EmbeddedPreviewTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let preview: [UInt8] = [
      0xFF, 0xD8, 0xFF, 0xDB, 0, 3, 0, 0xFF, 0xC0, 0, 11, 8, 0, 99, 0, 99, 1, 1, 0x11, 0, 0xFF,
      0xD9,
    ]
    return [
      RawSamples.tiff(preview: preview, orientation: 6),
      RawSamples.cr2(preview: preview, orientation: 3),
      RawSamples.cr3(preview: preview, orientation: 8), RawSamples.raf(preview: preview),
    ]
  }

  static func run(_ bytes: [UInt8]) {
    let file = bytes.span
    if let preview = EmbeddedPreview.largest(in: file) {
      require(preview.start >= 0 && preview.start < file.count, "it lies in the file")
      require(preview.pixels > 0, "it has pixels")
    }
    if let orientation = RawHead.orientation(of: file) {
      require(1...8 ~= orientation, "an orientation is one of eight")
    }
    _ = RawHead.isOfCamera(file)
  }
}

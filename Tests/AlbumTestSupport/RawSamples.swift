/// Raw files as cameras write them, around previews that the caller gives. They have no raw pixels.
package enum RawSamples {
  /// A TIFF like NEF, ARW, DNG and PEF: its first directory has a stamp of 2 by 2 grey pixels, and a later
  /// one the preview.
  package static func tiff(preview: [UInt8], orientation: Int, maker: String? = "Camera") -> [UInt8]
  {
    let name = Array((maker ?? "").utf8) + [0]
    var entries: [(tag: Int, type: Int, count: Int, value: Int)] = [
      (0x0100, 3, 1, 2), (0x0101, 3, 1, 2), (0x0102, 3, 1, 8), (0x0103, 3, 1, 1),
      (0x0106, 3, 1, 1), (0x0111, 4, 1, 8), (0x0112, 3, 1, orientation), (0x0115, 3, 1, 1),
      (0x0116, 3, 1, 2), (0x0117, 4, 1, 4),
    ]
    if maker != nil { entries.append((0x010F, 2, name.count, 12)) }
    let stamp: [UInt8] = [50, 50, 50, 50]
    let text = name + [UInt8](repeating: 0, count: 32 - name.count)
    var file = Array("II".utf8) + number(42, 2) + number(44, 4) + stamp + text
    let previewStart = file.count + 2 + 12 * entries.count + 4 + 2 + 24 + 4
    file += directory(entries.sorted { $0.tag < $1.tag }, next: file.count + 6 + 12 * entries.count)
    file += directory([(0x0201, 4, 1, previewStart), (0x0202, 4, 1, preview.count)], next: 0)
    return file + preview
  }

  /// A DNG whose raw picture is two tiles of JPEG, as lossy converters write it. `tile` is each of them.
  package static func dng(preview: [UInt8], tile: [UInt8], orientation: Int) -> [UInt8] {
    var file = Array("II".utf8) + number(42, 2) + number(8, 4)
    // A head and seven entries; a raw directory of five entries; the offsets of the tiles.
    let raw = 8 + 2 + 12 * 7 + 4
    let offsets = raw + 2 + 12 * 5 + 4
    let previewStart = offsets + 8
    let tileStart = previewStart + preview.count
    file += directory(
      [
        (0x0112, 3, 1, orientation), (0x014A, 4, 1, raw), (0x0201, 4, 1, previewStart),
        (0x0202, 4, 1, preview.count), (0xC612, 1, 4, 0x0401), (0xC613, 1, 4, 0x0401),
        (0xC614, 2, 2, 0x41),
      ], next: 0)
    file += directory(
      [
        (0x0100, 3, 1, 4000), (0x0101, 3, 1, 3000), (0x0103, 3, 1, 34892), (0x0106, 3, 1, 34892),
        (0x0144, 4, 2, offsets),
      ], next: 0)
    return file + number(tileStart, 4) + number(tileStart + tile.count, 4) + preview + tile + tile
  }

  /// Canon's CR2: a TIFF with the letters that mark it.
  package static func cr2(preview: [UInt8], orientation: Int) -> [UInt8] {
    var file = tiff(preview: preview, orientation: orientation)
    file.replaceSubrange(8..<12, with: Array("CR".utf8) + [2, 0])
    return file
  }

  /// Panasonic's RW2 and Olympus' ORF, which change the magic number of a TIFF.
  package static func rw2(preview: [UInt8], orientation: Int) -> [UInt8] {
    var file = tiff(preview: preview, orientation: orientation)
    file[2] = 0x55
    return file
  }

  package static func orf(preview: [UInt8], orientation: Int) -> [UInt8] {
    var file = tiff(preview: preview, orientation: orientation)
    file.replaceSubrange(2..<4, with: "RO".utf8)
    return file
  }

  /// Canon's CR3: boxes.
  package static func cr3(preview: [UInt8], orientation: Int) -> [UInt8] {
    let exif =
      Array("II".utf8) + number(42, 2) + number(8, 4)
      + directory([(0x0112, 3, 1, orientation)], next: 0)
    return box("ftyp", Array("crx ".utf8) + number(1, 4) + Array("crx isom".utf8))
      + box("moov", box("uuid", [UInt8](repeating: 7, count: 16) + box("CMT1", exif)))
      + box("mdat", preview)
  }

  /// Fujifilm's RAF: the preview has the EXIF data of the picture.
  package static func raf(preview: [UInt8]) -> [UInt8] {
    Array("FUJIFILMCCD-RAW 0201FF383501".utf8) + [UInt8](repeating: 0, count: 100) + preview
  }

  private static func number(_ value: Int, _ size: Int) -> [UInt8] {
    (0..<size).map { UInt8(value >> (8 * $0) & 0xFF) }
  }

  private static func directory(
    _ entries: [(tag: Int, type: Int, count: Int, value: Int)], next: Int
  ) -> [UInt8] {
    let table = entries.flatMap {
      number($0.tag, 2) + number($0.type, 2) + number($0.count, 4) + number($0.value, 4)
    }
    return number(entries.count, 2) + table + number(next, 4)
  }

  private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    number(content.count + 8, 4).reversed() + Array(type.utf8) + content
  }
}

import Inflating
import Posix

/// Reads the texts of a PNG (PNG specification, section 11.3.3): thumbnails name their picture in one.
enum PNGText {
  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  /// The reader gives up after so many chunks. Large pictures have some hundred.
  private static let chunkLimit = 4096
  /// Longer texts are no URI.
  private static let textLimit = 64 << 10

  enum Fault: Error, Equatable { case noPNG, unreadable(Errno) }

  /// The text of a keyword, wherever in the file it stands; nil if there is none within the limits. Reads
  /// only the heads of chunks and the texts.
  static func value(of keyword: String, in file: OwnedFile) throws(Fault) -> [UInt8]? {
    let keyword = Array(keyword.utf8)
    // The head and the texts of nearly all thumbnails lie in the first page.
    let first = try bytes(4096, at: 0, file, [])
    if !first.starts(with: signature) { throw .noPNG }
    var offset = Int64(signature.count)
    for _ in 0..<chunkLimit where offset < file.size {
      let head = try bytes(8, at: offset, file, first)
      if head.count < 8 { return nil }
      let length = head[..<4].reduce(0) { $0 << 8 | Int64($1) }
      let type = String(decoding: head[4...], as: UTF8.self)
      if type == "IEND" { return nil }
      if ["tEXt", "zTXt", "iTXt"].contains(type), length <= textLimit {
        let data = try bytes(Int(length), at: offset + 8, file, first)
        if let text = text(type, data, keyword) { return text }
      }
      offset += 12 + length
    }
    return nil
  }

  private static func bytes(
    _ count: Int, at offset: Int64, _ file: OwnedFile, _ first: [UInt8]
  ) throws(Fault) -> [UInt8] {
    let end = offset + Int64(count)
    if end <= first.count { return Array(first[Int(offset)..<Int(end)]) }
    do throws(Errno) { return try file.read(count, at: offset) } catch { throw .unreadable(error) }
  }

  /// The text of a chunk, if its keyword is the one that the caller wants.
  private static func text(_ type: String, _ data: [UInt8], _ keyword: [UInt8]) -> [UInt8]? {
    guard data.starts(with: keyword), data.count > keyword.count, data[keyword.count] == 0 else {
      return nil
    }
    var rest = data[(keyword.count + 1)...]
    switch type {
    case "tEXt": return Array(rest)
    case "zTXt":
      // Qt compresses texts of 40 characters and more.
      return rest.popFirst() == 0 ? Inflation.inflated(zlib: rest, atMost: textLimit) : nil
    default:
      let isCompressed = rest.popFirst() == 1
      let method = rest.popFirst()
      // Language and translated keyword.
      for _ in 0..<2 {
        guard let end = rest.firstIndex(of: 0) else { return nil }
        rest = rest[(end + 1)...]
      }
      if !isCompressed { return Array(rest) }
      return method == 0 ? Inflation.inflated(zlib: rest, atMost: textLimit) : nil
    }
  }
}

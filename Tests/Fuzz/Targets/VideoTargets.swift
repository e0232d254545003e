import AlbumTestSupport
import FileKinds
import ThumbnailProtocol
import VideoPosters

/// A video that lies in memory.
private final class VideoInMemory: VideoBytes {
  let bytes: [UInt8]
  private var budget: RangeBudget

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    budget = RangeBudget(videoByteCount: UInt64(bytes.count))
  }

  var byteCount: Int64 { Int64(bytes.count) }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, bytes.count - Int(offset), Int(ThumbnailLimits.rangeByteCount))
    guard count > 0, budget.charge(.init(offset: UInt64(offset), length: UInt32(count))) else {
      return 0
    }
    unsafe buffer.copyBytes(from: bytes[Int(offset)..<Int(offset) + count])
    return count
  }

  func bytes(_ count: Int, at offset: Int64) -> [UInt8] {
    offset < byteCount ? Array(bytes[Int(offset)...].prefix(count)) : []
  }
}

/// Videos as the cell decodes them, here outside it: containers by their content, FFmpeg, turning, the mark,
/// the JPEG. `VideoTests` does the same behind the seal.
enum VideoPosterTarget: FuzzTarget {
  private static let kinds = VideoPoster.prepare()

  static func seeds() -> [[UInt8]] {
    // A size that H.263 has.
    let small = ["-s", "128x96"]
    let fileType: [UInt8] = [0, 0, 0, 16] + Array("ftypisom".utf8) + [0, 0, 0, 0]
    let avi = Array("RIFF".utf8) + [64, 0, 0, 0] + Array("AVI LIST".utf8) + [40, 0, 0, 0]
    return [
      fileType + [0, 0, 0, 8] + Array("moov".utf8),
      avi + Array("hdrlavih".utf8) + [56, 0, 0, 0] + [UInt8](repeating: 0, count: 56),
      [0x1a, 0x45, 0xdf, 0xa3, 0x84, 0x42, 0x82, 0x81, 0x77],
    ] + TestVideos.kinds.compactMap { try? TestVideos.make($0.extension, $0.options + small) }
  }

  static func run(_ bytes: [UInt8]) {
    guard let kind = ImageKind(sniffing: Array(bytes.prefix(ImageKind.sniffByteCount))),
      kinds.contains(kind),
      let poster = try? VideoPoster.make(
        of: VideoInMemory(bytes), kind: kind, edge: 128, isMarked: true)
    else { return }
    require(
      (try? ThumbnailInspection.inspect(poster.jpeg, format: .jpeg, original: kind, edge: 128))
        != nil,
      "a poster passes the inspection")
  }
}

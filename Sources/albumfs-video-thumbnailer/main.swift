// albumfs-video-thumbnailer: makes thumbnails of videos, in a cell as that of albumfs-thumbnailer.
//
// A program of its own, because Debian's FFmpeg is under the GPL: albumfs works without it. Descriptor 3 is
// the socket; ThumbnailProtocol defines the messages. The bytes of a video come as this program asks for
// them.
import AlbumModel
import FileKinds
import Glibc
import ThumbnailCell
import ThumbnailProtocol
import VideoPosters

CellProgram.run(loading: VideoPoster.prepare, answering: answer)

/// Returns nil if the daemon is gone, or asks for what only the program for pictures can do.
func answer(_ request: ThumbnailRequest, _ context: CellContext) -> ThumbnailReply.Content? {
  guard case .poster(let edge, let byteCount, let rotation) = request.work else { return nil }
  let video = RequestedBytes(context.channel, id: request.id, byteCount: byteCount)
  guard let kind = ImageKind(sniffing: video.bytes(ImageKind.sniffByteCount, at: 0)),
    context.readable.contains(kind)
  else {
    return .failure(.notAPicture, reason: "unknown kind")
  }
  do throws(VideoFault) {
    let poster = try VideoPoster.make(
      of: video, kind: kind, edge: Int(edge), rotation: rotation,
      isMarked: context.arguments.marksVideos)
    return .thumbnail(.jpeg, poster.jpeg, poster.facts)
  } catch {
    return .failure(error.failure, reason: error.reason)
  }
}

/// The bytes of a video, requested from the daemon range by range.
final class RequestedBytes: VideoBytes {
  private let channel: Channel
  private let id: UInt64
  private var budget: RangeBudget
  let byteCount: Int64

  init(_ channel: Channel, id: UInt64, byteCount: UInt64) {
    self.channel = channel
    self.id = id
    self.byteCount = Int64(byteCount)
    budget = RangeBudget(videoByteCount: byteCount)
  }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let rest = min(Int64(buffer.count), byteCount - offset, Int64(ThumbnailLimits.rangeByteCount))
    guard offset >= 0, rest > 0 else { return 0 }
    let range = VideoRange(offset: UInt64(offset), length: UInt32(rest))
    guard budget.charge(range) else { return 0 }
    let target = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(rest)])
    // Without the daemon there is nothing left to do.
    guard channel.send(.init(id: id, content: .read(range))), unsafe channel.fill(target) else {
      exit(1)
    }
    return Int(rest)
  }

  func bytes(_ count: Int, at offset: Int64) -> [UInt8] {
    guard offset >= 0, offset < byteCount else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(min(Int64(count), byteCount - offset)))
    var filled = 0
    while filled < bytes.count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        return unsafe read(at: offset + Int64(filled), into: rest)
      }
      if got == 0 { break }
      filled += got
    }
    return Array(bytes.prefix(filled))
  }
}

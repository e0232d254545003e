// albumfs-thumbnailer: receives pictures over a socket and makes thumbnails, in a cell.
//
// Only albumfs starts it. It holds no keys and sees no names. Descriptor 3 is the socket; ThumbnailProtocol
// defines the messages. The order matters: it loads libraries, then enters the cell, then reads the first
// byte of a picture. No picture finds data of the one before, because all memory is zero when it is handed
// out (CFreshMemory).
import AlbumModel
import CFreshMemory
import CLinux
import Glibc
import PictureMetadata
import ThumbnailProtocol

let arguments = Arguments(CommandLine.arguments.dropFirst())
let channel = Channel()

cfreshmemory_begin()
_ = clearenv()
clinux_close_from(UInt32(Channel.descriptor) + 1)
clinux_limit_arenas(2)
guard Vips.start(program: "albumfs-thumbnailer") else { exit(1) }
let readable = Vips.readableKinds()
let protection = Cell.enter(arguments.bounds)
let hello = CellReport(
  hasLandlock: protection.hasLandlock, hasSeccomp: protection.hasSeccomp,
  boundsThreads: protection.boundsThreads, readable: readable)
guard channel.send(ThumbnailReply(id: 0, content: .hello(hello))), protection.hasSeccomp else {
  exit(1)
}

while let request = channel.receive() {
  guard let content = answer(request), channel.send(.init(id: request.id, content: content)) else {
    break
  }
}

/// Returns nil if the daemon is gone.
func answer(_ request: ThumbnailRequest) -> ThumbnailReply.Content? {
  switch request.work {
  case .probe: return .probe(Cell.probe())
  case .thumbnail(let edge, let byteCount, let rotation):
    Cell.beginPicture(arguments.bounds)
    cfreshmemory_clear_stack()
    guard let memory = PictureMemory(byteCount: Int(byteCount)) else {
      return channel.skip(Int(byteCount)) ? .failure(.tooLarge, reason: "memory") : nil
    }
    guard unsafe channel.fill(memory.bytes) else { return nil }
    let picture = memory.picture
    #if DEBUG
    if arguments.allowsMisbehaviour {
      unsafe Misbehaviour(askedForBy: picture.content)?.run(channel, id: request.id)
    }
    #endif
    return thumbnail(of: picture, edge: edge, rotation)
  }
}

func thumbnail(of picture: Picture, edge: UInt32, _ rotation: Rotation) -> ThumbnailReply.Content {
  let start = unsafe Array(picture.content.prefix(ImageKind.sniffByteCount))
  guard let kind = ImageKind(sniffing: start), readable.contains(kind) else {
    return .failure(.notAPicture, reason: "unknown kind")
  }
  do throws(Rejection) {
    let maker = ThumbnailMaker(edge: CInt(edge), rotation: rotation)
    let made = try maker.thumbnail(of: picture, kind: kind)
    let content = unsafe picture.content.assumingMemoryBound(to: UInt8.self).span
    let facts = PictureFacts(dimensions: made.dimensions, taken: CaptureDate.find(in: content))
    return .thumbnail(made.format, made.bytes, facts)
  } catch {
    return .failure(error.failure, reason: error.reason)
  }
}

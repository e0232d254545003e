// albumfs-thumbnailer: receives pictures over a socket and makes thumbnails, in a cell.
//
// Descriptor 3 is the socket; ThumbnailProtocol defines the messages, and ThumbnailCell what the cell is.
import AlbumModel
import FileKinds
import PictureMetadata
import ThumbnailCell
import ThumbnailProtocol

CellProgram.run(
  loading: { Vips.start(program: "albumfs-thumbnailer") ? Vips.readableKinds() : nil },
  answering: answer)

/// Returns nil if the daemon is gone, or asks for what only the program for videos can do.
func answer(_ request: ThumbnailRequest, _ context: CellContext) -> ThumbnailReply.Content? {
  guard case .thumbnail(let edge, let byteCount, let rotation) = request.work else { return nil }
  guard let memory = PictureMemory(byteCount: Int(byteCount)) else {
    return context.channel.skip(Int(byteCount)) ? .failure(.tooLarge, reason: "memory") : nil
  }
  guard unsafe context.channel.fill(memory.bytes) else { return nil }
  let picture = memory.picture
  #if DEBUG
  if context.arguments.allowsMisbehaviour {
    unsafe Misbehaviour(askedForBy: picture.content)?.run(context.channel, id: request.id)
  }
  #endif
  let start = unsafe Array(picture.content.prefix(ImageKind.sniffByteCount))
  guard let kind = ImageKind(sniffing: start), context.readable.contains(kind) else {
    return .failure(.notAPicture, reason: "unknown kind")
  }
  memory.nameUsually(kind)
  return thumbnail(of: picture, kind, edge: edge, rotation)
}

func thumbnail(
  of picture: Picture, _ kind: ImageKind, edge: UInt32, _ rotation: Rotation
) -> ThumbnailReply.Content {
  do throws(Rejection) {
    let maker = ThumbnailMaker(edge: CInt(edge), rotation: rotation)
    let made = try maker.thumbnail(of: picture, kind: kind)
    let content = unsafe picture.content.assumingMemoryBound(to: UInt8.self).span
    let camera = CameraFacts.find(in: content)
    let facts = PictureFacts(
      dimensions: made.dimensions, taken: CaptureDate.find(in: content),
      camera: camera.camera.flatMap { CameraName($0) },
      lens: camera.lens.flatMap { CameraName($0) },
      hash: made.hash, place: camera.place)
    return .thumbnail(made.format, made.bytes, facts)
  } catch {
    return .failure(error.failure, reason: error.reason)
  }
}

import AlbumModel
import FileKinds
import ThumbnailProtocol

/// The requests of the daemon, as the cell reads them.
enum ThumbnailRequestTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      ThumbnailRequest(id: 7, work: .thumbnail(edge: 512, pictureByteCount: 1 << 20)).encode(),
      ThumbnailRequest(
        id: 9, work: .thumbnail(edge: 512, pictureByteCount: 9, rotation: .quarter)
      ).encode(),
      ThumbnailRequest(id: 8, work: .probe).encode(),
      ThumbnailRequest(id: 6, work: .poster(edge: 512, videoByteCount: 1 << 32)).encode(),
    ]
  }

  static func run(_ bytes: [UInt8]) {
    guard let request = try? ThumbnailRequest.decode(bytes) else { return }
    require(request.encode() == bytes, "a request has one spelling")
  }
}

/// The replies of the cell, as the daemon reads them: at once, and header before body.
enum ThumbnailReplyTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let report = CellReport(
      hasLandlock: true, hasSeccomp: true, boundsThreads: true, readable: [.jpeg, .png])
    let probe = ProbeReport(
      ownSignal: 0, threads: 9, oldBytes: 1, tries: [.init(name: "open", error: 1)])
    let facts = PictureFacts(
      dimensions: PictureDimensions(width: 4000, height: 3000),
      taken: CaptureTime(year: 2023, month: 5, dayOfMonth: 4, hour: 12, offset: 120),
      camera: CameraName("NIKON D850"), hash: PictureHash(rows: 5, columns: 1 << 63),
      place: GeographicPlace(latitude: 48.137154, longitude: 11.576124))
    let contents: [ThumbnailReply.Content] = [
      .hello(report), .thumbnail(.jpeg, [1, 2, 3]), .thumbnail(.png, [1], facts),
      .failure(.damaged, reason: "no end"),
      .probe(probe), .read(VideoRange(offset: 1 << 33, length: 4096)),
    ]
    return contents.enumerated().map { number, content in
      ThumbnailReply(id: number == 0 ? 0 : UInt64(number), content: content).encode()
    }
  }

  static func run(_ bytes: [UInt8]) {
    if let reply = try? ThumbnailReply.decode(bytes) {
      require(reply.encode() == bytes, "a reply has one spelling")
      if case .failure(_, let reason) = reply.content {
        require(reason.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "a reason is printable")
      }
    }
    let start = Array(bytes.prefix(ThumbnailReply.Header.byteCount))
    guard let header = try? ThumbnailReply.Header.decode(start) else { return }
    require(
      header.bodyByteCount <= Int(ThumbnailLimits.thumbnailByteCount) + 48 + 240,
      "a body is bounded")
    _ = try? ThumbnailReply.decode(header, body: Array(bytes.dropFirst(start.count)))
  }
}

/// The detection of the kind of a picture, which comes before all other code.
enum ImageKindTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      [0xff, 0xd8, 0xff, 0xe0], Array("RIFF\0\0\0\0WEBPVP8 ".utf8), Array("GIF89a".utf8),
      Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0],
      [0, 0, 1, 0, 1, 0] + [UInt8](repeating: 0, count: 18), [0x1a, 0x45, 0xdf, 0xa3],
      [0, 0, 0, 24] + Array("ftypmif1\0\0\0\0mif1avif".utf8),
      [0, 0, 0, 12] + Array("JXL \r\n".utf8) + [0x87, 0x0a], [0x49, 0x49, 0x2a, 0],
    ]
  }

  static func run(_ bytes: [UInt8]) { _ = ImageKind(sniffing: bytes) }
}

/// A thumbnail from the cell, which the daemon inspects before it keeps it: the first byte selects the
/// claimed format and size, the rest is the thumbnail.
enum ThumbnailInspectionTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let jpeg: [UInt8] =
      [0xff, 0xd8, 0xff, 0xe0, 0, 16] + Array("JFIF".utf8) + [0, 1, 1, 0, 0, 1, 0, 1, 0, 0]
      + [0xff, 0xc0, 0, 11, 8, 0, 16, 0, 16, 1, 1, 0x11, 0]
      + [0xff, 0xda, 0, 8, 1, 1, 0, 0, 0x3f, 0, 0x55, 0xff, 0, 0xff, 0xd0, 0x55, 0xff, 0xd9]
    let png: [UInt8] =
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8)
      + [0, 0, 0, 16, 0, 0, 0, 16, 8, 6, 0, 0, 0, 0, 0, 0, 0]
      + [0, 0, 0, 2] + Array("IDAT".utf8) + [1, 2, 0, 0, 0, 0]
      + [0, 0, 0, 0] + Array("IEND".utf8) + [0, 0, 0, 0]
    let simple: [UInt8] =
      Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBPVP8 ".utf8)
      + [10, 0, 0, 0, 0, 0, 0, 0x9d, 0x01, 0x2a, 16, 0, 16, 0]
    let extended: [UInt8] =
      Array("RIFF".utf8) + [46, 0, 0, 0] + Array("WEBPVP8X".utf8)
      + [10, 0, 0, 0, 0x10, 0, 0, 0, 15, 0, 0, 15, 0, 0] + Array("ALPH".utf8)
      + [2, 0, 0, 0, 0, 0] + Array("VP8L".utf8) + [5, 0, 0, 0, 0x2f, 15, 0xc0, 3, 0, 0]
    return [[1] + jpeg, [2] + png, [3] + simple, [3] + extended]
  }

  static func run(_ bytes: [UInt8]) {
    guard let first = bytes.first, let format = ImageKind(rawValue: first & 7) else { return }
    let thumbnail = Array(bytes.dropFirst())
    guard
      let size = try? ThumbnailInspection.inspect(
        thumbnail, format: format, original: format == .webp ? .webp : .png, edge: 512)
    else { return }
    require((1...512).contains(size.width) && (1...512).contains(size.height), "edges are bounded")
    require(ImageKind(sniffing: thumbnail) == format, "it is what it says")
    require(
      (try? ThumbnailInspection.inspect(thumbnail + [0], format: format, original: .png, edge: 512))
        == nil, "nothing follows its end")
  }
}

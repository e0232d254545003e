import ThumbnailProtocol

/// What the daemon asks of the cell, as the cell reads it.
enum ThumbnailRequestTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      ThumbnailRequest(id: 7, work: .thumbnail(edge: 512, pictureByteCount: 1 << 20)).encode(),
      ThumbnailRequest(id: 8, work: .probe).encode(),
    ]
  }

  static func run(_ bytes: [UInt8]) {
    guard let request = try? ThumbnailRequest.decode(bytes) else { return }
    require(request.encode() == bytes, "a request has one spelling")
  }
}

/// What the cell answers, as the daemon reads it: at once, and header before body.
enum ThumbnailReplyTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let report = CellReport(hasLandlock: true, hasSeccomp: true, readable: [.jpeg, .png])
    let probe = ProbeReport(open: 13, socket: 13, fork: 1, execute: 13, executableMemory: 13)
    let contents: [ThumbnailReply.Content] = [
      .hello(report), .thumbnail(.jpeg, [1, 2, 3]), .failure(.damaged, reason: "no end"),
      .probe(probe),
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
      header.bodyByteCount <= Int(ThumbnailLimits.thumbnailByteCount), "a body is bounded")
    _ = try? ThumbnailReply.decode(header, body: Array(bytes.dropFirst(start.count)))
  }
}

/// What kind of picture bytes are, before anything else looks at them.
enum ImageKindTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      [0xff, 0xd8, 0xff, 0xe0], Array("RIFF\0\0\0\0WEBPVP8 ".utf8), Array("GIF89a".utf8),
      [0, 0, 0, 24] + Array("ftypmif1\0\0\0\0mif1avif".utf8),
      [0, 0, 0, 12] + Array("JXL \r\n".utf8) + [0x87, 0x0a], [0x49, 0x49, 0x2a, 0],
    ]
  }

  static func run(_ bytes: [UInt8]) { _ = ImageKind(sniffing: bytes) }
}

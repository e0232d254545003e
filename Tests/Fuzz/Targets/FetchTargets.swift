import AlbumModel
import Fetching
import FileKinds
import ThumbnailProtocol

/// What albumfs-fetch writes, after a server has taken it over: frames, and the name that follows from a
/// head.
enum FetchReplyTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    var head = FetchHead()
    (head.start, head.total, head.modified, head.validator) = (5, 100, 1_720_010_096, "\"abc\"")
    head.disposition = Array("attachment; filename=\"a.jpg\"; filename*=UTF-8''%C3%A4%20b.jpg".utf8)
    head.place = Array("https://example.org/%C3%A4/x.jpg?y".utf8)
    let replies: [FetchReply] = [
      .head(head), .data([1, 2, 3]), .end(FetchProblem(.status, status: 404)),
    ]
    return [
      replies.flatMap { $0.encode() }, FetchReply.end(nil).encode(), head.disposition, head.place,
    ]
  }

  static func run(_ bytes: [UInt8]) {
    var parser = FetchReplyParser()
    parser.add(bytes[...])
    var frames = 0
    while let reply = try? parser.next() {
      frames += 1
      require(frames <= bytes.count, "each frame takes bytes")
      switch reply {
      case .head(let head): name(head)
      case .data(let data): require(data.count <= FetchReply.dataLimit, "pieces are bounded")
      case .end: break
      }
    }
    var head = FetchHead()
    (head.disposition, head.place) = (bytes, bytes)
    name(head)
    _ = FetchRequest(bytes)
    for url in RemoteURLList.read(String(decoding: bytes, as: UTF8.self)).urls {
      require(url.text.utf8.allSatisfy { $0 >= 0x20 }, "an address is one line")
      require(RemoteURL(url.text) == url, "an address has one spelling")
    }
  }

  private static func name(_ head: FetchHead) {
    for kind in [ImageKind.jpeg, .tiff, .mp4] {
      let name = RemoteName.of(head, kind, start: [])
      require((try? FileName(name.bytes)) == name, "a name is one")
      require(!name.isHidden, "a name is not hidden")
    }
  }
}

import AlbumModel
import AlbumTestSupport
import FileKinds
import Testing
import ThumbnailProtocol

/// Goal: only exact messages over the socket are accepted. Method: each message is encoded and decoded, cut
/// at every byte, extended, and changed at random bytes.
struct ProtocolTests {
  private static let requests: [ThumbnailRequest] = [
    ThumbnailRequest(id: 1, work: .thumbnail(edge: 512, pictureByteCount: 1)),
    ThumbnailRequest(id: .max, work: .thumbnail(edge: 2048, pictureByteCount: 512 << 20)),
    ThumbnailRequest(
      id: 2, work: .thumbnail(edge: 512, pictureByteCount: 1, rotation: .threeQuarters)),
    ThumbnailRequest(id: 0, work: .probe),
  ]

  private static let replies: [ThumbnailReply] = [
    ThumbnailReply(
      id: 0,
      content: .hello(
        CellReport(
          hasLandlock: true, hasSeccomp: true, boundsThreads: true, readable: [.jpeg, .jpegXL]))),
    ThumbnailReply(id: 7, content: .thumbnail(.webp, [1, 2, 3])),
    ThumbnailReply(
      id: 8,
      content: .thumbnail(
        .jpeg, [1],
        PictureFacts(
          dimensions: PictureDimensions(width: 4000, height: 3000),
          taken: CaptureTime(Array("2023-05-04T12:33:10-02:30".utf8)),
          camera: CameraName("NIKON D850"), lens: CameraName("50 mm"),
          hash: PictureHash(rows: 1 << 63, columns: 2),
          place: GeographicPlace(latitude: -33.856784, longitude: 151.215297)))),
    ThumbnailReply(
      id: 9,
      content: .thumbnail(
        .jpeg, [1], PictureFacts(taken: CaptureTime(Array("1999-12-31T23:59:59".utf8))))),
    ThumbnailReply(id: 8, content: .failure(.damaged, reason: "header: cut short")),
    ThumbnailReply(id: .max, content: .failure(.notAPicture, reason: "")),
    ThumbnailReply(
      id: 9,
      content: .probe(
        ProbeReport(
          ownSignal: 0, threads: 127, oldBytes: 5,
          tries: [.init(name: "open", error: 1), .init(name: "clone3", error: 38)]))),
  ]

  @Test("The bytes of a request are those of the description")
  func goldenRequest() {
    let request = ThumbnailRequest(
      id: 0x0102, work: .thumbnail(edge: 512, pictureByteCount: 0x030405))
    #expect(
      request.encode() == [
        0x41, 0x54, 0x72, 0x31, 1, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0,
        0, 2, 0, 0, 0, 0, 0, 0, 5, 4, 3, 0, 0, 0, 0, 0,
      ])
  }

  @Test("The bytes of a reply are those of the description")
  func goldenReply() {
    let reply = ThumbnailReply(id: 3, content: .failure(.tooLarge, reason: "no"))
    #expect(
      reply.encode() == [
        0x41, 0x54, 0x61, 0x31, 2, 2, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
        2, 0, 0, 0, 0, 0, 0, 0, 0x6e, 0x6f,
      ])
  }

  @Test("Encoded messages decode to the same", arguments: requests)
  func requestTwins(_ request: ThumbnailRequest) throws {
    #expect(try ThumbnailRequest.decode(request.encode()) == request)
  }

  @Test("Encoded messages decode to the same", arguments: replies)
  func replyTwins(_ reply: ThumbnailReply) throws {
    #expect(try ThumbnailReply.decode(reply.encode()) == reply)
  }

  @Test("A message cut at any byte, or one byte too long, is refused")
  func lengths() {
    for request in Self.requests {
      let bytes = request.encode()
      for length in 0..<bytes.count {
        #expect(throws: MalformedMessage.truncated) {
          try ThumbnailRequest.decode(Array(bytes.prefix(length)))
        }
      }
      #expect(throws: MalformedMessage.trailingBytes) {
        try ThumbnailRequest.decode(bytes + [0])
      }
    }
    for reply in Self.replies {
      let bytes = reply.encode()
      for length in 0..<bytes.count {
        #expect(throws: MalformedMessage.truncated) {
          try ThumbnailReply.decode(Array(bytes.prefix(length)))
        }
      }
      #expect(throws: MalformedMessage.trailingBytes) { try ThumbnailReply.decode(bytes + [0]) }
    }
  }

  @Test("Numbers outside the limits are refused")
  func limits() {
    for (edge, count): (UInt32, UInt64) in [
      (15, 1), (2049, 1), (512, 0), (512, (512 << 20) + 1), (0, 0), (.max, .max),
    ] {
      let request = ThumbnailRequest(
        id: 1, work: .thumbnail(edge: edge, pictureByteCount: count))
      #expect(throws: MalformedMessage.outOfRange) {
        try ThumbnailRequest.decode(request.encode())
      }
    }
    let empty = ThumbnailReply(id: 1, content: .thumbnail(.jpeg, []))
    #expect(throws: MalformedMessage.outOfRange) { try ThumbnailReply.decode(empty.encode()) }
    let heif = ThumbnailReply(id: 1, content: .thumbnail(.heif, [1]))
    #expect(throws: MalformedMessage.unknownKind) { try ThumbnailReply.decode(heif.encode()) }
    var huge = ThumbnailReply(id: 1, content: .thumbnail(.jpeg, [1])).encode()
    huge.replaceSubrange(16..<20, with: [0xff, 0xff, 0xff, 0xff])
    #expect(throws: MalformedMessage.outOfRange) { try ThumbnailReply.decode(huge) }
  }

  @Test("A cell that a picture has taken over can send no date and no size that there cannot be")
  func impossibleFacts() throws {
    let facts = PictureFacts(
      dimensions: PictureDimensions(width: 4000, height: 3000),
      taken: CaptureTime(Array("2023-05-04T12:33:10+02:00".utf8)))
    let good = ThumbnailReply(id: 1, content: .thumbnail(.jpeg, [1], facts)).encode()
    let start = ThumbnailReply.Header.byteCount
    // Width 0 or 2^32 - 1, years and months that no calendar has, hours, an unknown mark, bytes that must
    // be zero.
    let changes: [(Int, [UInt8])] = [
      (0, [0, 0, 0, 0]), (0, [255, 255, 255, 255]), (8, [0, 0]), (8, [255, 255]), (8, [7, 7]),
      (10, [0]), (10, [13]), (11, [0]), (11, [32]), (10, [2, 30]), (12, [24]), (13, [60]),
      (14, [60]), (15, [0]), (15, [2]), (16, [255, 255]), (16, [0, 0]), (18, [1]), (19, [1]),
      (18, [121]), (19, [255]), (40, [1, 0, 0, 255]), (40, [0, 0, 0, 0, 1]),
      (40, [1, 0, 0, 0, 255, 255, 255, 255]),
    ]
    for (place, bytes) in changes {
      var reply = good
      reply.replaceSubrange(start + place..<start + place + bytes.count, with: bytes)
      #expect(throws: MalformedMessage.self, "\(place): \(bytes)") {
        try ThumbnailReply.decode(reply)
      }
    }
  }

  @Test("A cell that a picture has taken over can send no name that a terminal would obey")
  func impossibleNames() throws {
    let facts = PictureFacts(camera: CameraName("NIKON D850"), lens: CameraName("50 mm"))
    let good = ThumbnailReply(id: 1, content: .thumbnail(.jpeg, [1], facts)).encode()
    let start = ThumbnailReply.Header.byteCount + 48
    for (place, byte): (Int, UInt8) in [(0, 0x1B), (2, 0x0A), (5, 0xFF), (0, 0x20), (10, 0x00)] {
      var reply = good
      reply[start + place] = byte
      #expect(throws: MalformedMessage.outOfRange, "\(place)") { try ThumbnailReply.decode(reply) }
    }
  }

  @Test("A reason cannot bring control characters or long texts into a log")
  func reasons() throws {
    let long = String(repeating: "x", count: 500) + "\u{1b}[2J"
    let sent = ThumbnailReply(id: 1, content: .failure(.damaged, reason: "a\n\u{7}é" + long))
    guard case .failure(_, let reason) = try ThumbnailReply.decode(sent.encode()).content else {
      Issue.record("no failure")
      return
    }
    #expect(reason.utf8.count == 120)
    #expect(reason.hasPrefix("a    x"))
    var forged = ThumbnailReply(id: 1, content: .failure(.damaged, reason: "ab")).encode()
    forged[24] = 0x1b
    #expect(throws: MalformedMessage.outOfRange) { try ThumbnailReply.decode(forged) }
  }

  @Test("Random bytes, and messages with random bytes in them, are refused or mean themselves")
  func random() {
    let seed = SeededRandom().seed
    var random = Seeded(state: seed)
    for _ in 0..<4_000 {
      var request = Self.requests.randomElement(using: &random)!.encode()
      var reply = Self.replies.randomElement(using: &random)!.encode()
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        request[Int.random(in: request.indices, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
        reply[Int.random(in: reply.indices, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      if let decoded = try? ThumbnailRequest.decode(request) {
        #expect(decoded.encode() == request, "seed \(seed)")
      }
      if let decoded = try? ThumbnailReply.decode(reply) {
        #expect(decoded.encode() == reply, "seed \(seed)")
      }
      let noise = (0..<Int.random(in: 0...80, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      #expect(throws: MalformedMessage.self, "seed \(seed)") { try ThumbnailRequest.decode(noise) }
      #expect(throws: MalformedMessage.self, "seed \(seed)") { try ThumbnailReply.decode(noise) }
    }
    print("protocol: seed \(seed)")
  }
}

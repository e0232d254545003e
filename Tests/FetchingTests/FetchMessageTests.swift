import AlbumTestSupport
import Testing

@testable import Fetching

/// What albumfs-fetch and its caller write is what the other side reads; anything else ends the conversation.
@Suite struct FetchMessageTests {
  private let url = RemoteURL("https://example.org/a.jpg")!

  @Test func requestsAreReadAsTheyWereWritten() {
    for request in [
      FetchRequest(url: url, limit: 1, isPublicOnly: false),
      FetchRequest(url: url, offset: 7, validator: "\"a b\"", limit: 1 << 40, isPublicOnly: true),
    ] {
      #expect(FetchRequest(request.encode()) == request)
    }
    for text in [
      "", "url https://a/", "url https://a/\n", "url ftp://a/\nlimit 1\n",
      "url https://a/\nlimit 0\n",
      "url https://a/\nurl https://b/\nlimit 1\n", "url https://a/\nlimit 1\noffset 5\n",
      "url https://a/\nlimit 1\noffset -5\nvalidator x\n",
    ] {
      #expect(FetchRequest(Array(text.utf8)) == nil, "\(text)")
    }
  }

  private func replies(_ bytes: [UInt8], chunk: Int) throws -> [FetchReply] {
    var parser = FetchReplyParser()
    var found: [FetchReply] = []
    for start in stride(from: 0, to: bytes.count, by: chunk) {
      parser.add(bytes[start..<min(bytes.count, start + chunk)])
      while let reply = try parser.next() { found.append(reply) }
    }
    return found
  }

  @Test(arguments: [1, 3, 7, 100_000])
  func repliesAreReadAsTheyWereWritten(chunk: Int) throws {
    var head = FetchHead()
    (head.start, head.total, head.modified) = (5, 100, 1_720_010_096)
    head.validator = "\"abc\""
    head.disposition = Array("attachment; filename=\"\u{e4}\"".utf8)
    head.place = Array("https://example.org/x".utf8)
    let all: [FetchReply] = [
      .head(head), .data([1, 2, 3]), .data([]), .end(FetchProblem(.status, status: 404)),
      .end(FetchProblem(.broken)), .end(nil),
    ]
    #expect(try replies(all.flatMap { $0.encode() }, chunk: chunk) == all)
  }

  @Test func whatIsNoReplyIsRefused() {
    for bytes: [UInt8] in [
      [0, 0, 0, 0, 0], [4, 0, 0, 0, 0], [2, 255, 255, 255, 255], [2, 1, 0, 4, 0],
      [1, 3, 0, 0, 0, 97, 98, 99], [3, 1, 0, 0, 0, 97], [3, 100, 0, 0, 0],
      [1, 8, 0, 0, 0] + Array("start -1".utf8), [1, 9, 0, 0, 0] + Array("total 1e9".utf8),
      [3, 9, 0, 0, 0] + Array("nothing 1".utf8), [3, 11, 0, 0, 0] + Array("status 1000".utf8),
    ] {
      #expect(throws: FetchReplyParser.Malformed.self, "\(bytes)") {
        try replies(bytes, chunk: 100)
      }
    }
  }
}

import ObjectStores

/// What albumfs-remote writes after a server has taken it over, and what it reads.
enum RemoteMessagesTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    var reply = RemoteReply()
    (reply.status, reply.size, reply.date) = (206, 1234, 1_720_010_096)
    (reply.version, reply.digest) = (ObjectVersion("\"abc\""), [0x0A, 0xFF])
    var listing = RemoteReply()
    listing.status = 200
    listing.page = ObjectPage(
      objects: [ListedObject(name: "album/keys", size: 8192, version: ObjectVersion("\"1\""))],
      next: "token")
    let requests: [RemoteCommand] = [
      .save(key: "album/keys", .absent, digest: [1, 2]), .list(prefix: "album/", part: "token"),
      .load(key: "album/keys", 0..<10, unless: ObjectVersion("\"1\"")), .remove(key: "album/a"),
    ]
    return [reply.encode(), listing.encode()]
      + requests.map { RemoteRequest($0, time: 1_720_010_096).encode() }
  }

  static func run(_ bytes: [UInt8]) {
    if let reply = RemoteReply(bytes) {
      require(reply.size ?? 0 >= 0, "no size is negative")
      for object in reply.page?.objects ?? [] {
        require(object.size >= 0, "no listed size is negative")
      }
    }
    if let request = RemoteRequest(bytes), case .load(_, let range?, _) = request.command {
      require(range.lowerBound >= 0 && !range.isEmpty, "a range has bytes")
    }
  }
}

/// The head and the body of a server's response.
enum S3ResponseTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [
      "HTTP/1.1 206 Partial Content\nETag: \"a\"\nContent-Range: bytes 0-9/1234\nContent-Length: 10\n",
      "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
        + "<Contents><Key>a&#x41;&amp;</Key><Size>5</Size></Contents>",
      "<Error><Code>NoSuchKey</Code></Error>",
    ].map { Array($0.utf8) }
  }

  static func run(_ bytes: [UInt8]) {
    var reply = RemoteReply()
    for line in bytes.split(separator: 10) { reply.take(line: Array(line)) { Int64($0) } }
    require(reply.size ?? 0 >= 0, "no size is negative")
    if let page = S3Response.page(bytes) {
      for object in page.objects {
        require(object.size >= 0, "no listed size is negative")
        require(object.name.utf8.allSatisfy { $0 >= 0x20 }, "a listed name is one line")
      }
      require(page.objects.count <= bytes.count, "each object takes bytes")
    }
    require(S3Response.errorCode(bytes)?.utf8.count ?? 1 <= 64, "an error's word is short")
  }
}

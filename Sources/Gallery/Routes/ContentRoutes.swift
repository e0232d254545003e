import AlbumModel
import FileKinds
import HTTPTypes
import Hummingbird
import NIOCore
import PhotoGroups
import PictureMetadata
import Posix

extension GalleryRoutes {
  /// How many thumbnails one reply has at most.
  private static let thumbnailLimit = 200
  /// The bytes that one step reads and sends.
  private static let piece = 1 << 18

  func addContent(to router: Router<Context>) {
    router.get("/api/thumb/:id") { request, context in
      let session = try sessions.session(request)
      let photo = try session.photo(try Self.parameter("id", context))
      return try await files.run { try thumbnail(of: photo.face, session) }
    }
    router.get("/api/thumbs") { request, _ in
      let session = try sessions.session(request)
      let ids = (request.query("ids") ?? "").split(separator: ",").map(String.init)
      if ids.count > Self.thumbnailLimit { throw GalleryError(.large) }
      return try await files.run { thumbnails(ids, session) }
    }
    router.get("/api/preview/:id") { request, context in
      let session = try sessions.session(request)
      let photo = try session.photo(try Self.parameter("id", context))
      guard let edge = Int(request.query("edge") ?? ""), (256...4096).contains(edge) else {
        throw GalleryError(.invalid)
      }
      return try await previews.run { try preview(of: photo, edge, session) }
    }
    router.get("/api/original/:id") { request, context in
      try await original(request, context)
    }
    router.get("/api/video/:id") { request, context in
      try await original(request, context)
    }
    router.get("/api/live/:id") { request, context in
      try await live(request, context)
    }
    router.post("/api/downloads") { request, _ in
      let session = try sessions.session(request)
      let order = try await RequestBodies.json(request, DownloadOrder.self, atMost: 8 << 20)
      let id = session.downloads.add(try order.download(session))
      var text = JSONText()
      text.object { $0.field("download", id) }
      return text.response()
    }
    router.get("/api/downloads/:id") { request, context in
      let session = try sessions.session(request)
      let download = try session.downloads.download(try Self.parameter("id", context))
      return try await reply(download, session, context.channel)
    }
  }

  // MARK: Thumbnails

  private func thumbnail(of photo: SpaceIndex.Photo, _ session: Session) throws -> Response {
    let path = photo.album.found.path + [.thumb]
    guard photo.row.thumbnail != 0,
      let file = try? session.space.mount.open(photo.row.name, in: path)
    else { throw GalleryError(.unknown) }
    return try GalleryRoutes.picture(GalleryRoutes.thumbnail(in: file))
  }

  static func picture(_ bytes: [UInt8]) throws(GalleryError) -> Response {
    guard let type = ImageKind.browserType(of: bytes) else { throw GalleryError(.unknown) }
    return Response(
      status: .ok, headers: [.contentType: type],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  /// Lengths and thumbnails. What is not there has the length 0.
  private func thumbnails(_ ids: [String], _ session: Session) -> Response {
    var buffer = ByteBuffer()
    var folder: Folder?
    var album: UInt64?
    for id in ids {
      let photo = try? session.photo(id).face
      if let photo, photo.album.found.inode != album {
        folder = try? session.space.mount.folder(photo.album.found.path + [.thumb])
        album = photo.album.found.inode
      }
      let bytes = GalleryRoutes.thumbnail(of: photo, in: folder)
      buffer.writeInteger(UInt32(bytes.count))
      buffer.writeBytes(bytes)
    }
    return Response(
      status: .ok, headers: [.contentType: "application/octet-stream"],
      body: ResponseBody(byteBuffer: buffer))
  }

  private static func thumbnail(of photo: SpaceIndex.Photo?, in folder: borrowing Folder?)
    -> [UInt8]
  {
    guard let photo, photo.row.thumbnail != 0 else { return [] }
    switch folder {
    case .some(let folder):
      guard let file = try? folder.open(photo.row.name) else { return [] }
      return thumbnail(in: file)
    case .none: return []
    }
  }

  /// Empty if the file cannot be read, or is too long for a thumbnail: it may be any file of the user's own.
  private static func thumbnail(in file: FolderFile) -> [UInt8] {
    if file.entry.size > 16 << 20 { return [] }
    return (try? file.bytes(Int(file.entry.size), at: 0)) ?? []
  }

  private func preview(of photo: SpaceIndex.Photo, _ edge: Int, _ session: Session) throws
    -> Response
  {
    let bytes = try preview(of: photo, or: photo.face, edge, session.space.mount)
    guard let type = ImageKind.browserType(of: bytes) else { throw GalleryError(.failed) }
    return Response(
      status: .ok, headers: [.contentType: type],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  /// The preview of the photo that shows another one where nothing decodes that.
  private func preview(
    of photo: SpaceIndex.Photo, or face: SpaceIndex.Photo, _ edge: Int, _ mount: MountedSpace
  ) throws -> [UInt8] {
    do {
      return try mount.preview(photo, edge: edge)
    } catch {
      let isUnknown = GalleryError(any: error).code == .unknown
      if !isUnknown || face.row.inode == photo.row.inode { throw error }
      return try mount.preview(face, edge: edge)
    }
  }

  // MARK: Originals

  private func original(_ request: Request, _ context: Context) async throws -> Response {
    let session = try sessions.session(request)
    let photo = try session.photo(try Self.parameter("id", context))
    var response = try await file(
      photo, session, context.channel, range: request.headers[.range],
      ofVersion: request.headers[.ifRange], isToBeSaved: request.query("download") == "1")
    response.headers[.acceptRanges] = "bytes"
    return response
  }

  /// The film of a photo's moment: the one beside it, or the one inside it.
  private func live(_ request: Request, _ context: Context) async throws -> Response {
    let session = try sessions.session(request)
    let photo = try session.photo(try Self.parameter("id", context))
    let (film, part) = try await files.run { () throws -> (SpaceIndex.Photo, Range<Int64>?) in
      let film = session.space.files(with: photo).files.first { $0.part == .film }
      if let film = film.flatMap({ session.space.index.photo($0.row.inode) }) { return (film, nil) }
      let file = try session.space.mount.open(photo)
      let inside = MotionPhoto.film(size: file.entry.size) { try? file.bytes($0, at: $1) }
      guard let inside else { throw GalleryError(.unknown) }
      return (photo, inside)
    }
    var response = try await file(
      film, session, context.channel, range: request.headers[.range],
      ofVersion: request.headers[.ifRange], isToBeSaved: false, part: part)
    response.headers[.acceptRanges] = "bytes"
    return response
  }

  /// The content of a photo, or a part of it. For a part of another version it is the whole.
  private func file(
    _ photo: SpaceIndex.Photo, _ session: Session, _ channel: any Channel, range: String? = nil,
    ofVersion version: String? = nil, isToBeSaved: Bool = true, part: Range<Int64>? = nil
  ) async throws -> Response {
    let first = part?.lowerBound ?? 0
    let (file, start) = try await files.run {
      let file = try session.space.mount.open(photo)
      return (file, try file.bytes(128, at: first))
    }
    var headers: HTTPFields = [
      .contentType: ImageKind.browserType(of: start) ?? "application/octet-stream"
    ]
    if isToBeSaved { headers[.contentDisposition] = Disposition.attachment(photo.row.name) }
    let size = part.map { $0.upperBound - first } ?? file.entry.size
    let tag = Self.tag(file.entry)
    headers[.eTag] = tag
    switch ByteRange(version == nil || version == tag ? range : nil, size: size) {
    case .whole:
      return Response(
        status: .ok, headers: headers,
        body: body(of: file, first..<first + size, session, channel))
    case .part(let range):
      headers[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
      return Response(
        status: .partialContent, headers: headers,
        body: body(
          of: file, first + range.lowerBound..<first + range.upperBound, session, channel))
    case .unsatisfiable:
      var response = GalleryError(.range).response
      response.headers[.contentRange] = "bytes */\(size)"
      return response
    }
  }

  /// Tells versions of a file apart.
  private static func tag(_ entry: PlainEntry) -> String {
    let parts = [Int64(bitPattern: entry.file.inode), entry.modified.nanoseconds, entry.size]
    return "\"" + parts.map { String($0, radix: 36) }.joined(separator: "-") + "\""
  }

  /// Reads the next piece when the client has taken the one before. A lock ends it.
  private func body(
    of file: FolderFile, _ range: Range<Int64>, _ session: Session, _ channel: any Channel
  ) -> ResponseBody {
    ResponseBody(contentLength: Int(range.upperBound - range.lowerBound)) { writer in
      let stream = try session.streams.begin(channel)
      defer { session.streams.end(stream) }
      var offset = range.lowerBound
      while offset < range.upperBound {
        let (from, count) = (offset, Int(min(Int64(Self.piece), range.upperBound - offset)))
        let bytes = try await files.run { try file.bytes(count, at: from) }
        // The file has become shorter: the client sees that the reply is incomplete.
        if bytes.count < count { throw GalleryError(.damaged) }
        try await writer.write(ByteBuffer(bytes: bytes))
        offset += Int64(count)
        session.streams.moved(stream)
        session.wasUsed()
      }
      try await writer.finish(nil)
    }
  }

  // MARK: Zip files

  private func reply(_ download: Download, _ session: Session, _ channel: any Channel) async throws
    -> Response
  {
    let index = session.space.index
    let items: [ZipStream.Item]
    switch download {
    case .photo(let photo):
      guard let photo = index.photo(photo) else { throw GalleryError(.unknown) }
      return try await file(photo, session, channel)
    case .photos(let groups):
      items = await files.runPlain {
        let found = groups.compactMap { group in
          index.photo(group[0]).map { photo in
            let isAlone = group.count == 1
            return isAlone
              ? PhotoFiles(alone: photo) : session.space.files(with: photo).only(Set(group))
          }
        }
        return ZipStream.items(found, below: nil)
      }
    case .album(let album):
      guard let album = index.album(album) else { throw GalleryError(.unknown) }
      items = await files.runPlain {
        let hidden = index.hidden
        let groups = index.tree(under: album.found.inode).reversed().flatMap { inner in
          var shown: [UInt64] = []
          let content = inner.found.content
          content.eachShown(without: hidden) { shown.append(content.inodes[$0]) }
          return shown.compactMap { index.photo($0) }.map { session.space.files(with: $0) }
        }
        return ZipStream.items(groups, below: album.found.path)
      }
    }
    let stream = try ZipStream(session.space, items)
    return Response(
      status: .ok,
      headers: [
        .contentType: "application/zip",
        .contentDisposition: "attachment; filename=\"Album.zip\"",
      ],
      body: ResponseBody { writer in
        let reply = try session.streams.begin(channel)
        defer { session.streams.end(reply) }
        while let bytes = try await work.run({ try stream.next() }) {
          try await writer.write(ByteBuffer(bytes: bytes))
          session.streams.moved(reply)
          session.wasUsed()
        }
        try await writer.finish(nil)
      })
  }
}

/// Writes the name of a file to save into a header (RFC 6266).
enum Disposition {
  /// The bytes of a name, with `_` for characters that nobody sees, such as U+202E, which makes the end of a
  /// name read as its middle. Joiners stay, which scripts and emoji need.
  private static func readable(_ name: FileName) -> [UInt8] {
    guard let text = String(validating: name.bytes, as: UTF8.self) else { return name.bytes }
    let joiners: [Unicode.Scalar] = ["\u{200C}", "\u{200D}"]
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      let isUnseen = [.control, .format].contains(scalar.properties.generalCategory)
      return isUnseen && !joiners.contains(scalar) ? "_" : scalar
    }
    return scalars.flatMap { Array(UTF8.encode($0)!) }
  }

  static func attachment(_ name: FileName) -> String {
    let bytes = readable(name)
    let plain = bytes.map { byte -> Character in
      let isPlain = (0x20...0x7e).contains(byte) && byte != 0x22 && byte != 0x5c && byte != 0x25
      return isPlain ? Character(UnicodeScalar(byte)) : "_"
    }
    let marks = Array("-._~".utf8)
    let coded = bytes.map { byte -> String in
      let isPlain =
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
        || marks.contains(byte)
      return isPlain ? String(UnicodeScalar(byte)) : "%\(Hexadecimal.text(byte).uppercased())"
    }
    return "attachment; filename=\"\(String(plain))\"; filename*=UTF-8''\(coded.joined())"
  }
}

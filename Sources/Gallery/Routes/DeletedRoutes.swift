import AlbumModel
import ControlProtocol
import HTTPTypes
import Hummingbird
import Posix

// What was deleted and can come back: a list with pictures, the return, and the removal for good, for which
// the person gives the password again. Also what a photo was before it was overwritten.

extension GalleryRoutes {
  private struct Choice: Decodable {
    var ids: [String]
  }

  private struct Purge: Decodable {
    var ids: [String]
    var password: String
  }

  /// Room for the ids of 200,000 files.
  private static let choiceLimit = 8 << 20

  func addDeleted(to router: Router<Context>) {
    router.get("/api/deleted") { request, _ in
      let session = try sessions.session(request)
      return try await files.run {
        reply(DeletedGroups.groups(try session.space.mount.deletedFiles()), session)
      }
    }
    router.get("/api/deleted/:id/thumb") { request, context in
      let session = try sessions.session(request)
      let number = try session.inode(try Self.parameter("id", context))
      return try await files.run {
        try Self.picture(try session.space.mount.deletedThumbnail(number))
      }
    }
    router.get("/api/photo/:id/earlier") { request, context in
      let session = try sessions.session(request)
      let photo = try session.photo(try Self.parameter("id", context))
      return try await files.run { try earlier(photo, session) }
    }
    router.post("/api/deleted/restore") { request, _ in
      let session = try sessions.session(request)
      try session.space.requireWritable()
      let choice = try await RequestBodies.json(request, Choice.self, atMost: Self.choiceLimit)
      let numbers = try choice.ids.map { try session.inode($0) }
      return try await work.run { try restore(numbers, session) }
    }
    router.post("/api/deleted/purge") { request, context in
      let session = try sessions.session(request)
      try session.space.requireWritable()
      let purge = try await RequestBodies.json(request, Purge.self, atMost: Self.choiceLimit)
      let numbers = try purge.ids.map { try session.inode($0) }
      let count = try await context.whileConnected {
        try await sessions.purge(numbers, in: session, purge.password, from: context.client)
      }
      var text = JSONText()
      text.object { $0.field("count", Int64(count)) }
      return text.response()
    }
  }

  private func reply(_ groups: [[DeletedFileEntry]], _ session: Session) -> Response {
    var text = JSONText()
    text.object { text in
      text.field("files", each: groups) { text, group in
        text.object { text in describe(group, session, &text) }
      }
    }
    return text.response()
  }

  private func describe(
    _ group: [DeletedFileEntry], _ session: Session, _ text: inout JSONText
  ) {
    let file = group[0]
    text.field("id", session.id(file.number))
    text.field("ids", each: group) { $0.value(session.id($1.number)) }
    text.field("path", each: file.path.split(separator: "/")) { $0.value(String($1)) }
    text.field("size", group.reduce(0) { $0 + $1.size })
    text.field("deleted", file.deleted)
    text.field("secondsLeft", file.secondsLeft)
    text.field("cause", file.cause)
  }

  /// The newest first.
  private func earlier(_ photo: SpaceIndex.Photo, _ session: Session) throws -> Response {
    let folder = photo.folder.map(\.text) + [photo.row.name.text]
    let path = folder.joined(separator: "/")
    let found = try session.space.mount.deletedFiles().filter {
      $0.cause == "overwritten" && $0.path == path
    }
    return reply(found.reversed().map { [$0] }, session)
  }

  private func restore(_ numbers: [UInt64], _ session: Session) throws -> Response {
    let summary = try session.space.mount.restoreDeleted(numbers)
    var text = JSONText()
    text.object { text in
      text.field("count", Int64(summary.count))
      text.field("renamed", Int64(summary.notes.count))
    }
    return text.response()
  }
}

extension MountedSpace {
  /// All deleted files, the newest first.
  func deletedFiles() throws -> [DeletedFileEntry] {
    let client = try ControlClient(entry)
    var files: [DeletedFileEntry] = []
    var place: UInt32? = 0
    while let start = place {
      guard
        case .deletedFiles(let page) = try MountedSpace.found(
          client.ask(.deletedFiles(from: start)))
      else { throw GalleryError(.failed) }
      files += page.files
      place = page.next
    }
    return files.sorted { ($1.deleted, $1.number) < ($0.deleted, $0.number) }
  }

  func restoreDeleted(_ numbers: [UInt64]) throws -> ControlSummary {
    let selection = DeletedSelection(numbers: numbers)
    let reply = try ControlClient(entry).ask(.restoreDeleted(selection))
    guard case .done(let summary) = try MountedSpace.found(reply) else {
      throw GalleryError(.failed)
    }
    return summary
  }

  func deletedThumbnail(_ number: UInt64) throws -> [UInt8] {
    guard
      case .picture(let text) = try MountedSpace.found(
        ControlClient(entry).ask(.deletedThumbnail(number: number)))
    else { throw GalleryError(.failed) }
    return try MountedSpace.bytes(ofPicture: text)
  }

  private static func found(_ reply: ControlReply) throws(GalleryError) -> ControlReply {
    guard case .failed(let failure) = reply else { return reply }
    switch failure.kind {
    case .usage: throw GalleryError(.unknown)
    case .diskFull: throw GalleryError(.room)
    default: throw GalleryError(.failed)
    }
  }
}
